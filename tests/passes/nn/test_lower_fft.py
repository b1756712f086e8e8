"""Tests of the pass in passes/nn/lower_fft.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.passes.documented import pair
from ttc.dialects.core.machines.targets import load_target
from ttc.passes.manager import run_pass
from ttc.passes.nn.lower_fft import LowerFft

if TYPE_CHECKING:
    from tests.passes.conftest import Harness
    from ttc.passes.base import Report


def lowered(harness: Harness, text: str, tolerance: float = 1e-5) -> Report:
    """On a target with tiles; what it computes stays."""
    unit = harness.parse(text)
    unit.target = load_target("n150")
    report = run_pass(LowerFft(), unit)
    harness.check_numbers(harness.parse(text), unit, tolerance=tolerance)
    return report


def fragment(op: str, shape: tuple[int, ...], axis: int, size: int, count: int, imaginary: bool) -> str:
    """count: elements of the result along the axis."""
    wanted = list(shape)
    wanted[axis] = count
    old, new = (f"tensor<{'x'.join(map(str, s))}xf32>" for s in (shape, wanted))
    results, returned = ("%0", new) if op == "irfft" else ("%0, %1", f"{new}, {new}")
    name, _, flags = op.partition(" ")
    return f"""(%x: {old}, %c: {old})
    {results} = nn.{name}(%x, {"%c" if imaginary else "_"}) {{axis = {axis}, {flags} size = {size}}}
        : ({old}{f", {old}" if imaginary else ""}) -> {new if op == "irfft" else f"({returned})"}
    return {results} : {returned}"""


@pytest.mark.parametrize("imaginary", [False, True])
@pytest.mark.parametrize(("shape", "axis"), [((3, 6), 1), ((6, 3), -2), ((2, 6, 2), 1), ((6,), 0)])
@pytest.mark.parametrize("size", [5, 6, 8])
def test_products(harness: Harness, shape: tuple[int, ...], axis: int, size: int, imaginary: bool) -> None:
    half = size // 2 + 1
    ops = (("true", "true", half), ("true", "false", size), ("false", "true", half), ("false", "false", size))
    cases = [(f"fft inverse = {inverse}, onesided = {onesided},", count) for inverse, onesided, count in ops]
    for op, count in (*cases, ("irfft", size)):
        report = lowered(harness, fragment(op, shape, axis, size, count, imaginary))
        assert report.rewrites == {"lower-fft": 1}


def check_pair(pass_: LowerFft, harness: Harness) -> None:
    """The IR of its docstring, on a target with tiles."""
    before, after = pair(type(pass_))
    unit = harness.parse(before)
    unit.target = load_target("n150")
    run_pass(pass_, unit)
    assert harness.text_of(unit.module) == harness.text_of(harness.parse(after).module)


def test_docstring(harness: Harness) -> None:
    check_pair(LowerFft(), harness)


def test_missed(harness: Harness) -> None:
    """Long ones stay, and on targets in row layout all do."""
    long = fragment("irfft", (1, 8), 1, 4096, 4096, False)
    assert [r.message for r in lowered(harness, long).remarks] == ["the transform stays: its size is above 2048"]
    assert harness.unchanged(LowerFft(), fragment("irfft", (1, 8), 1, 8, 8, False)).missed() == []

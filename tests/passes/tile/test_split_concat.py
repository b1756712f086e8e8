"""Concatenations of many tensors as trees."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

import ttc
from tests.passes.tiles import Outcome, apply, docstring
from tests.ttc.importers.onnx.cases import model_of
from ttc.dialects.core.machines.targets import target_names
from ttc.passes.tile.split_concat import SplitConcat


def test_docstring() -> None:
    (remark,) = docstring(SplitConcat(2)).report.remarks
    assert (remark.kind, remark.message) == ("applied", "3 tensors are joined by 2 ops: a core reads at most 2")


def split(count: int, most: int, axis: int) -> Outcome:
    """A concatenation of matrices of 1, 2, ... rows and 32 columns, or the other way round, after the pass."""
    shapes = [(32, i + 1) if axis == 1 else (i + 1, 32) for i in range(count)]
    total = sum(i + 1 for i in range(count))
    result = f"Float32[{'32, ' if axis == 1 else ''}{total}{', 32' if axis == 0 else ''}]"
    names = ", ".join(f"%x{i}" for i in range(count))
    types = ", ".join(f"Float32[{a}, {b}]" for a, b in shapes)
    arguments = ", ".join(f"%x{i}: Float32[{a}, {b}]" for i, (a, b) in enumerate(shapes))
    fragment = f"({arguments})\n%y = tile.concat({names}) {{axis = {axis}}} : ({types}) -> {result}\nreturn %y : {result}"
    return apply(SplitConcat(most), fragment)


@pytest.mark.parametrize(("count", "most", "ops"), [(4, 4, 1), (5, 4, 3), (9, 3, 4), (10, 3, 7), (17, 4, 8), (5, 0, 1)])
@pytest.mark.parametrize("axis", [0, 1])
def test_every_op_reads_few_enough(count: int, most: int, ops: int, axis: int) -> None:
    made = split(count, most, axis).ops("tile.concat")
    assert len(made) == ops
    assert max(len(op.operands) for op in made) <= (most or count)


@pytest.mark.parametrize("target", [name for name in target_names() if name != "host"])
@pytest.mark.parametrize(("count", "shape"), [(45, (1, 8, 16)), (80, (1, 3, 32))])
def test_models_that_join_more_than_a_core_reads(count: int, shape: tuple[int, ...], target: str, tmp_path: Path) -> None:
    values = np.random.default_rng(count).normal(size=(count, *shape)).astype(np.float32)
    inputs = {f"x{i}": value for i, value in enumerate(values)}
    for kernels in ("fused", "buda"):
        onnx.save(model_of([helper.make_node("Concat", list(inputs), ["y"], axis=2)], inputs, ["y"], {}), tmp_path / "m.onnx")
        with ttc.Executor(ttc.compile(tmp_path / "m.onnx", target=target, kernels=kernels, effort=0)) as executor:
            found = executor.run(inputs)["y"]
        np.testing.assert_array_equal(found, np.concatenate(values, axis=2))

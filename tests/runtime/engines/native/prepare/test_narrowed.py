"""Entries that jobs round as they read them are given as the user has them, with the same results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.runtime.engines.native.programs import Step, program, tensor
from ttc.runtime.engines.native.codegen.features import host_cpu
from ttc.runtime.engines.native.execution.plan import NativePlan
from ttc.runtime.executor import Executor
from ttc.runtime.program import Program

pytestmark = pytest.mark.skipif(host_cpu().arch != "x86-64", reason="runs code")

NARROW = tensor(40, 30, format="Float16_b")
TURNED = Step("t", "tile.transpose", ("x",), tensor(30, 40, format="Float16_b"), {"perm": (1, 0)})
SUM = Step("s", "tile.map", ("x", "x"), NARROW, {"fn": "add"})
IN_PYTHON = Step("n", "nn.neg", ("t",), tensor(30, 40, format="Float16_b"))


def given() -> NDArray[np.float32]:
    """Numbers that rounding changes, among them those that rounding makes infinite, denormal ones, ties, and NaN."""
    x = np.random.default_rng(6).standard_normal((40, 30)).astype(np.float32)
    x[0, :8] = np.inf, -np.inf, np.nan, 3.4e38, 1e-40, -1.00390625, 1.01171875, 9.2e-41
    return x


def made(steps: Sequence[Step], outputs: dict[str, str], engine: str = "native") -> Program:
    return program({"x": NARROW}, {}, steps, outputs, engine)


def plan(of: Program) -> NativePlan:
    found = of.plans["g"]
    assert isinstance(found, NativePlan)
    return found


def test_an_entry_that_is_copied_to_its_format_is_not_rounded_before() -> None:
    native, reference = (made([TURNED], {"out": "t"}, engine) for engine in ("native", "reference"))
    assert dict(plan(native).prepared.layout.narrowed) == {"x": "Float16_b"}
    x = given()
    found, expected = (Executor(of).run({"x": x})["out"] for of in (native, reference))
    np.testing.assert_array_equal(found, expected)
    assert not np.array_equal(found, x.T, equal_nan=True)


@pytest.mark.parametrize(
    ("steps", "outputs"),
    [([SUM], {"out": "s"}), ([TURNED, SUM], {"out": "t", "sum": "s"}), ([TURNED, IN_PYTHON], {"out": "n"})],
    ids=["computed", "copied and computed", "a step in Python beside"],
)
def test_an_entry_that_others_read_is_rounded_before(steps: Sequence[Step], outputs: dict[str, str]) -> None:
    native, reference = (made(steps, outputs, engine) for engine in ("native", "reference"))
    assert not plan(native).narrowed
    x = given()
    found, expected = (Executor(of).run({"x": x}) for of in (native, reference))
    for name in outputs:
        np.testing.assert_array_equal(found[name], expected[name])


def test_the_reference_engine_gets_rounded_entries() -> None:
    """A plan that its data fail asks the other engine for the results of entries that nobody has rounded yet."""
    native = plan(made([TURNED], {"out": "t"}))
    x = given()
    expected = native.run({"x": x})["out"]
    found = native._leased({"x": x}, lambda lease, memory: False)["out"]
    np.testing.assert_array_equal(found, expected)

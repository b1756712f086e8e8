"""Places of buffers in the arena."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtime.engines.native.programs import Step, tensor
from tests.runtime.engines.stateful import Stateful
from ttc.runtime.engines.native.engine import NativeEngine
from ttc.runtime.engines.native.execution.plan import NativePlan

MAP = "tile.map"
ENGINE = NativeEngine(2)


@pytest.mark.parametrize(("last", "places"), [("m", 1), ("s", 2)], ids=["dies", "is read later"])
def test_what_is_computed_over_what_dies(last: str, places: int, rng: np.random.Generator) -> None:
    """A product of what a softmax gives takes its place, if no later step reads it."""
    type_, softmax = tensor(64, 300), {"axis": 1}
    steps = [
        Step("s", "tile.softmax", ("x",), type_, softmax),
        Step("m", MAP, ("s", "x"), type_, {"fn": "mul"}),
        Step("t", "tile.softmax", ("m",), type_, softmax),
        Step("u", "tile.softmax", (last,), type_, {"axis": 0}),
    ]
    graph = Stateful({"x": type_}, steps, {}, {"t": "t", "u": "u"})
    plan = graph.plan(ENGINE)
    assert isinstance(plan, NativePlan)
    assert plan.prepared.layout.arena.size_bytes == places * 64 * 300 * 4
    graph.is_right(ENGINE, {"x": rng.standard_normal(type_.shape, np.float32)})


def test_products_are_not_computed_over_what_they_multiply(rng: np.random.Generator) -> None:
    type_ = tensor(64, 64)
    steps = [
        Step("s", "tile.softmax", ("x",), type_, {"axis": 1}),
        Step("m", "tile.matmul", ("s", "y"), type_, {"transpose_a": False, "transpose_b": False}),
        Step("t", "tile.softmax", ("m",), type_, {"axis": 1}),
    ]
    graph = Stateful({"x": type_, "y": type_}, steps, {}, {"t": "t"})
    plan = graph.plan(ENGINE)
    assert isinstance(plan, NativePlan)
    assert plan.prepared.layout.arena.size_bytes >= 2 * 64 * 64 * 4
    graph.is_right(ENGINE, {name: rng.standard_normal(type_.shape, np.float32) for name in "xy"})

"""Results that runs write into memory of the caller's."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.runtime.engines.native.programs import Step, tensor
from tests.runtime.engines.stateful import ENGINES, Stateful
from ttc.dialects.core.errors import Error
from ttc.runtime.engines.into import write_into

MAP = "tile.map"
NAMES = tuple(ENGINES)
SIZES = (3, 5000)
"""Elements of entries that plans copy, and of entries that they read where they lie."""


def pair(size: int) -> Stateful:
    """a' = b, b' = a + b, y = a."""
    type_ = tensor(size)
    steps = [
        Step("swapped", "tile.reshape", ("b",), type_, {"shape": (size,)}),
        Step("sum", MAP, ("a", "b"), type_, {"fn": "add"}),
        Step("shown", "tile.reshape", ("a",), type_, {"shape": (size,)}),
    ]
    return Stateful({"a": type_, "b": type_}, steps, {"a": "swapped", "b": "sum"}, {"y": "shown"})


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("engine", NAMES)
def test_states_that_read_each_other(engine: str, size: int, rng: np.random.Generator) -> None:
    pair(size).is_right(ENGINES[engine], {name: rng.standard_normal(size, np.float32) for name in "ab"})


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("engine", NAMES)
def test_memory_that_is_no_entry(engine: str, size: int, rng: np.random.Generator) -> None:
    graph = pair(size)
    entries = {name: rng.standard_normal(size, np.float32) for name in "ab"}
    before = {name: value.copy() for name, value in entries.items()}
    memory = np.full(size, np.nan, np.float32)
    found = graph.plan(ENGINES[engine]).run(entries, {"b.next": memory})
    assert found["b.next"] is memory
    assert np.array_equal(memory, before["a"] + before["b"])
    assert np.array_equal(found["a.next"], before["b"])
    assert all(np.array_equal(entries[name], before[name]) for name in "ab")


@pytest.mark.parametrize("engine", NAMES)
def test_memory_that_does_not_fit(engine: str) -> None:
    plan = pair(8).plan(ENGINES[engine])
    entries = {name: np.zeros(8, np.float32) for name in "ab"}
    frozen = np.zeros(8, np.float32)
    frozen.flags.writeable = False
    both = np.zeros(12, np.float32)
    wrong: list[tuple[str, dict[str, NDArray]]] = [
        ("E0601", {"c.next": np.zeros(8, np.float32)}),
        ("E0602", {"a.next": np.zeros(7, np.float32)}),
        ("E0602", {"a.next": np.zeros(8)}),
        ("E0602", {"a.next": np.zeros(16, np.float32)[::2]}),
        ("E0602", {"a.next": frozen}),
        ("E0602", {"a.next": both[:8], "b.next": both[4:]}),
    ]
    for code, into in wrong:
        with pytest.raises(Error) as failure:
            plan.run(entries, into)
        assert failure.value.code == code
        assert not any(memory.any() for memory in into.values())


@pytest.mark.parametrize("engine", NAMES)
def test_a_run_that_fails_changes_nothing(engine: str, rng: np.random.Generator) -> None:
    """Also where the failure is the last that happens: an index that is out of range, found after the sum was computed."""
    size = 5000
    table, index = tensor(4, size), tensor(1, format="Int64")
    steps = [
        Step("sum", MAP, ("a", "x"), table, {"fn": "add"}),
        Step("row", "tile.gather", ("sum", "i"), tensor(1, size), {"axis": 0}),
    ]
    graph = Stateful({"a": table, "x": table, "i": index}, steps, {"a": "sum"}, {"y": "row"})
    plan = graph.plan(ENGINES[engine])
    entries = {name: rng.standard_normal((4, size), np.float32) for name in "ax"}
    before = entries["a"].copy()
    with pytest.raises(Error, match="E0802"):
        graph.updated(plan, {**entries, "i": np.array([4])})
    assert np.array_equal(entries["a"], before)
    graph.updated(plan, {**entries, "i": np.array([2])})
    assert np.array_equal(entries["a"], before + entries["x"])


def test_results_that_show_memory_that_is_written() -> None:
    """Parts, turned views and repeated elements of memory that another result goes to keep what they showed."""
    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones(3, np.float32)
    found = {"a": b[::-1] + np.zeros((2, 3), np.float32), "b": a[1], "turned": a.T, "one": np.broadcast_to(a[:1, 1], (4,)), "same": b}
    given = write_into(found, {"a": a, "b": b})
    assert given["a"] is a
    assert given["b"] is b
    assert a.tolist() == [[1, 1, 1], [1, 1, 1]]
    assert b.tolist() == [3, 4, 5]
    assert given["turned"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert given["one"].tolist() == [1] * 4
    assert given["same"].tolist() == [1, 1, 1]


def test_a_result_that_is_there_already() -> None:
    a = np.arange(4.0)
    given = write_into({"a": a, "empty": np.zeros((0, 3))}, {"a": a, "empty": np.zeros((0, 3))})
    assert given["a"] is a
    assert given["a"].tolist() == [0, 1, 2, 3]
    assert given["empty"].shape == (0, 3)

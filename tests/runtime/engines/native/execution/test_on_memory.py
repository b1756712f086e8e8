"""Runs on a caller's memory give what runs on arrays give, and leave nothing of it behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.runtime.conftest import VECTOR, Builder
from tests.runtime.engines.native.execution.test_short import is_short, negated_and_doubled, rounding_program, summing_program
from tests.runtime.engines.native.programs import Step, typed_ops
from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.model import Argument
from ttc.runtime.executor import Executor
from ttc.runtime.machine.session import Session
from ttc.runtime.manifest import Description
from ttc.runtime.pages import aligned_bytes
from ttc.runtime.program import build_program


def on_memory(session: Session, inputs: Sequence[NDArray], like: Sequence[NDArray]) -> list[NDArray] | None:
    """What a run of `forward` on the memory of arrays gives; None if there is none."""
    results = [aligned_bytes(max(array.nbytes, 1))[: array.nbytes].view(array.dtype).reshape(array.shape) for array in like]
    done = session.call_at("forward", [array.ctypes.data for array in inputs], [array.ctypes.data for array in results])
    return results if done else None


def test_runs_on_addresses_give_what_runs_on_arrays_give(rng: np.random.Generator):
    x = rng.standard_normal(4, np.float32)
    at, by_name = (Executor(summing_program(engine)).session for engine in ("native", "reference"))
    for _ in range(4):
        found = on_memory(at, [x], [x])
        assert found is not None
        assert [value.tolist() for value in found] == [value.tolist() for value in by_name.call("forward", {"x": x}).values()]
    assert at.states()["a"].tolist() == by_name.states()["a"].tolist()
    ours, reference = negated_and_doubled()
    for large in rng.standard_normal((3, 200, 300), np.float32):
        wanted = [*reference.run({"x": large}).values()]
        found = on_memory(ours.session, [large], wanted)
        assert found is not None
        assert all(np.array_equal(a, b) for a, b in zip(found, wanted, strict=True))


def test_runs_on_addresses_and_on_arrays_take_turns(rng: np.random.Generator):
    """One lease serves both: neither reads or writes where the other had its arrays."""
    b = Builder()
    b.queue("x", "input", VECTOR)
    b.queue("y", "output", VECTOR, source="y_op")
    step = Step("y_op", "tile.map", ("x", "x"), VECTOR, {"fn": "add"})
    b.graph("forward_0", typed_ops([step], {"x": VECTOR}), [("y_op", "y")])
    x = Argument("x", "input", "x", (4,), "float32")
    b.program("forward", [x], [replace(x, name="y", queue="y", kind="output")], ["forward_0"])
    program = build_program(b.netlist(), Description("double", "0.1.0", {"format": "Float32"}), {}, engine="native", threads=2)
    session = Executor(program).session
    kept: list[tuple[NDArray, NDArray]] = []
    for given in rng.standard_normal((6, 4), np.float32):
        found = on_memory(session, [given], [given])
        assert found is not None
        kept.append((found[0], given.copy() * 2))
        given[:] = 0
        other = rng.standard_normal(4, np.float32)
        kept.append((session.call("forward", {"x": other})["y"], other * 2))
    assert all(np.array_equal(found, wanted) for found, wanted in kept)


def test_an_input_that_nothing_reads_is_checked_and_left_alone(rng: np.random.Generator):
    b = Builder()
    for name in ("x", "unread"):
        b.queue(name, "input", VECTOR)
    b.queue("y", "output", VECTOR, source="y_op")
    step = Step("y_op", "tile.map", ("x", "x"), VECTOR, {"fn": "add"})
    b.graph("forward_0", typed_ops([step], {"x": VECTOR}), [("y_op", "y")])
    x = Argument("x", "input", "x", (4,), "float32")
    unread = replace(x, name="unread", queue="unread")
    b.program("forward", [x, unread], [replace(x, name="y", queue="y", kind="output")], ["forward_0"])
    program = build_program(b.netlist(), Description("double", "0.1.0", {"format": "Float32"}), {}, engine="native", threads=2)
    executor = Executor(program)
    given, other = rng.standard_normal((2, 4), np.float32)
    assert is_short(executor, {"x": given, "unread": other})
    for first, second in ((given, other), (other, given)):
        found = on_memory(executor.session, [first, second], [first])
        assert found is not None
        assert np.array_equal(found[0], first * 2)
        assert np.array_equal(executor.run({"x": first, "unread": second})["y"], first * 2)
    assert not is_short(executor, {"x": given, "unread": other[:3]})
    with pytest.raises(Error) as caught:
        executor.run({"x": given, "unread": other[:3]})
    assert caught.value.code == "E0801"


def test_runs_on_addresses_are_refused_where_arrays_must_be_converted_or_looked_at():
    session = Executor(summing_program("native")).session
    x = np.ones(4, np.float32)
    assert on_memory(session, [], [x]) is None
    assert on_memory(session, [x, x], [x]) is None
    assert on_memory(session, [x], []) is None
    assert not session.call_at("none", [x.ctypes.data], [x.ctypes.data])
    assert on_memory(session, [x], [x]) is not None
    narrow = Executor(rounding_program("native", "Float16_b")).session
    assert on_memory(narrow, [x], [x]) is None
    assert on_memory(Executor(summing_program("reference")).session, [x], [x]) is None
    session.close()
    assert on_memory(session, [x], [x]) is None

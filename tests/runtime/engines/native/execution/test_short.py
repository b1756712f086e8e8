"""Runs by one prepared call give what runs as usual give, on states too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from weakref import ref

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.runtime.conftest import VECTOR, Builder, op
from tests.runtime.engines.native.programs import Step, executors, tensor, typed_ops
from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.model import Argument
from ttc.runtime.engines.result_memory import ResultMemory
from ttc.runtime.executor import Executor
from ttc.runtime.manifest import Description, ManifestVariable
from ttc.runtime.program import Program, build_program
from ttc.runtime.tensors import TensorSource


def states_program(engine: str) -> Program:
    """Program `forward` on states a and b: y = x + a, (a, b) = (b, x)."""
    b = Builder()
    b.queue("x", "input", VECTOR)
    for name in "ab":
        b.queue(name, "state", VECTOR, key=name)
    for name in ("y", "a_next", "b_next"):
        b.queue(name, "output", VECTOR, source=f"{name}_op")
    steps = [
        Step("y_op", "tile.map", ("x", "a"), VECTOR, {"fn": "add"}),
        Step("a_next_op", "tile.map", ("b",), VECTOR, {"fn": "identity"}),
        Step("b_next_op", "tile.map", ("x",), VECTOR, {"fn": "identity"}),
    ]
    types = dict.fromkeys(("x", "a", "b"), VECTOR)
    b.graph("forward_0", typed_ops(steps, types), [("y_op", "y"), ("a_next_op", "a_next"), ("b_next_op", "b_next")])
    x = Argument("x", "input", "x", (4,), "float32")
    updates = [Argument(name, "state", f"{name}_next", (4,), "float32", updates=name) for name in "ab"]
    b.program("forward", [x], [replace(x, name="y", queue="y", kind="output"), *updates], ["forward_0"])
    tensors = {name: TensorSource.of_array(np.full(4, value, np.float32), "Float32") for name, value in (("a", 1), ("b", 2))}
    states = {name: ManifestVariable(name, (4,), "float32") for name in "ab"}
    return build_program(b.netlist(), Description("states", "0.1.0", {"format": "Float32"}, {}, states), tensors, engine=engine, threads=2)


def is_short(executor: Executor, inputs: Mapping[str, NDArray]) -> bool:
    """Whether a run of `forward` goes by one prepared call."""
    return executor.session._by_short("forward", lambda run: run(inputs)) is not None


def test_states_move_on_as_on_the_reference_engine(rng: np.random.Generator):
    ours, reference = (Executor(states_program(engine)) for engine in ("native", "reference"))
    for _ in range(5):
        x = {"x": rng.standard_normal(4, np.float32)}
        assert np.array_equal(ours.run(x)["y"], reference.run(x)["y"])
    assert all(np.array_equal(value, reference.states()[name]) for name, value in ours.states().items())


def summing_program(engine: str) -> Program:
    """Program `forward` on a state a: y = x + a, a = x * x."""
    b = Builder()
    b.queue("x", "input", VECTOR)
    b.queue("a", "state", VECTOR, key="a")
    for name in ("y", "a_next"):
        b.queue(name, "output", VECTOR, source=f"{name}_op")
    steps = [Step("y_op", "tile.map", ("x", "a"), VECTOR, {"fn": "add"}), Step("a_next_op", "tile.map", ("x", "x"), VECTOR, {"fn": "mul"})]
    b.graph("forward_0", typed_ops(steps, {"x": VECTOR, "a": VECTOR}), [("y_op", "y"), ("a_next_op", "a_next")])
    x = Argument("x", "input", "x", (4,), "float32")
    update = Argument("a", "state", "a_next", (4,), "float32", updates="a")
    b.program("forward", [x], [replace(x, name="y", queue="y", kind="output"), update], ["forward_0"])
    tensors = {"a": TensorSource.of_array(np.full(4, 1, np.float32), "Float32")}
    states = {"a": ManifestVariable("a", (4,), "float32")}
    return build_program(b.netlist(), Description("sums", "0.1.0", {"format": "Float32"}, {}, states), tensors, engine=engine, threads=2)


def rounding_program(engine: str, format: str) -> Program:
    """Program `forward`: y = x + x, in queues of a format."""
    narrow = replace(VECTOR, format=format)
    b = Builder()
    b.queue("x", "input", narrow)
    b.queue("y", "output", narrow, source="y_op")
    b.graph("forward_0", [op("y_op", "add", ["x", "x"], narrow)], [("y_op", "y")])
    x = Argument("x", "input", "x", (4,), "float32")
    b.program("forward", [x], [replace(x, name="y", queue="y", kind="output")], ["forward_0"])
    return build_program(b.netlist(), Description("rounded", "0.1.0", {}), {}, engine=engine, threads=2)


@pytest.mark.parametrize(("format", "short"), [("Float16_b", True), ("Float16", False), ("Tf32", False)])
def test_arrays_are_rounded_to_the_format_of_their_queue(format: str, short: bool, rng: np.random.Generator):
    ours, reference = (Executor(rounding_program(engine, format)) for engine in ("native", "reference"))
    for x in (rng.standard_normal(4, np.float32), np.array([3.4e38, -3.4e38, 1e-40, -0.0], np.float32)):
        assert is_short(ours, {"x": x}) == short
        assert np.array_equal(ours.run({"x": x})["y"], reference.run({"x": x})["y"])


def test_states_that_are_given_reset_or_updated_by_queues_are_those_of_the_next_run():
    session = Executor(states_program("native")).session
    x = {"x": np.zeros(4, np.float32)}
    assert session.call("forward", x)["y"][0] == 1
    session.assign({}, {"a": np.full(4, 7, np.float32)})
    assert session.call("forward", x)["y"][0] == 7
    session.reset()
    assert session.call("forward", x)["y"][0] == 1
    session.push("forward", {"x": np.full(4, 5, np.float32)})
    session.run("forward")
    assert session.pop("forward")["y"][0] == 7
    assert [float(session.call("forward", x)["y"][0]) for _ in range(3)] == [0, 5, 0]


def test_what_does_not_fit_is_an_error_and_changes_no_state():
    executor = Executor(states_program("native"))
    good = np.zeros(4, np.float32)
    executor.run({"x": good})
    before = executor.states()
    for wrong in ({"x": good.astype(np.float64)}, {"x": good[:3]}, {"z": good}, {"x": good, "z": good}, {}):
        with pytest.raises(Error) as failure:
            executor.run(wrong)
        assert failure.value.code == "E0801"
    assert all(np.array_equal(before[name], value) for name, value in executor.states().items())
    executor.close()
    with pytest.raises(Error) as failure:
        executor.run({"x": good})
    assert failure.value.code == "E0803"


def test_results_are_the_callers_own_and_inputs_may_be_strided(rng: np.random.Generator):
    type_ = tensor(3, 5)
    ours, _ = executors({"x": type_}, {}, [Step("y", "tile.map", ("x",), type_, {"fn": "neg"})], {"y.out": "y"})
    whole = rng.standard_normal((3, 10)).astype(np.float32)
    first = ours.run({"x": whole[:, ::2]})["y.out"]
    second = ours.run({"x": whole[:, 1::2]})["y.out"]
    assert np.array_equal(first, -whole[:, ::2])
    assert np.array_equal(second, -whole[:, 1::2])
    assert first.flags.owndata
    assert is_short(ours, {"x": whole[:, ::2]})


LARGE = tensor(200, 300)
"""A type whose arrays have more bytes than those that a prepared run copies."""


def negated_and_doubled() -> tuple[Executor, Executor]:
    """Programs of both engines: a large input, and two large results and a small one of it."""
    small = tensor(1, 300)
    steps = [
        Step("y", "tile.map", ("x",), LARGE, {"fn": "neg"}),
        Step("z", "tile.map", ("x", "x"), LARGE, {"fn": "add"}),
        Step("s", "tile.slice", ("x",), small, {"starts": (7, 0), "sizes": (1, 300), "steps": (1, 1)}),
        Step("t", "tile.map", ("s",), small, {"fn": "neg"}),
    ]
    return executors({"x": LARGE}, {}, steps, {"y.out": "y", "z.out": "z", "t.out": "t"})


def test_large_arrays_are_read_and_written_where_they_lie(rng: np.random.Generator):
    ours, reference = negated_and_doubled()
    given = [rng.standard_normal((200, 300), np.float32) for _ in range(3)]
    assert is_short(ours, {"x": given[0]})
    found = [ours.run({"x": x}) for x in given]
    for x, made in zip(given, found, strict=True):
        expected = reference.run({"x": x})
        assert all(np.array_equal(made[name], expected[name]) for name in expected)
        assert not any(np.shares_memory(made[name], x) for name in made)
    for name in ("y.out", "z.out", "t.out"):
        assert not any(np.shares_memory(a[name], b[name]) for a, b in zip(found, found[1:], strict=False))


def test_large_arrays_that_do_not_lie_as_they_are_read_run_as_usual(rng: np.random.Generator):
    ours, _ = negated_and_doubled()
    whole = rng.standard_normal((300, 200), np.float32)
    assert not is_short(ours, {"x": whole.T})
    assert np.array_equal(ours.run({"x": whole.T})["y.out"], -whole.T)
    frozen = whole.reshape(200, 300)
    frozen.flags.writeable = False
    assert is_short(ours, {"x": frozen})
    assert np.array_equal(ours.run({"x": frozen})["y.out"], -frozen)


def test_a_result_that_shows_a_large_input_is_copied(rng: np.random.Generator):
    steps = [
        Step("y", "tile.map", ("x",), LARGE, {"fn": "neg"}),
        Step("z", "tile.transpose", ("x",), tensor(300, 200), {"perm": (1, 0)}),
    ]
    ours, _ = executors({"x": LARGE}, {}, steps, {"y.out": "y", "z.out": "z"})
    for _ in range(2):
        x = rng.standard_normal((200, 300), np.float32)
        found = ours.run({"x": x})
        assert np.array_equal(found["z.out"], x.T)
        assert np.array_equal(found["y.out"], -x)
        assert not np.shares_memory(found["z.out"], x)


def test_results_that_show_the_same_large_memory_are_each_their_own(rng: np.random.Generator):
    turned = tensor(300, 200)
    steps = [
        Step("y", "tile.map", ("x",), LARGE, {"fn": "neg"}),
        Step("z", "tile.transpose", ("y",), turned, {"perm": (1, 0)}),
    ]
    ours, _ = executors({"x": LARGE}, {}, steps, {"y.out": "y", "z.out": "z"})
    for _ in range(2):
        x = rng.standard_normal((200, 300), np.float32)
        found = ours.run({"x": x})
        assert np.array_equal(found["y.out"], -x)
        assert np.array_equal(found["z.out"], -x.T)
        assert not np.shares_memory(found["y.out"], found["z.out"])


def test_no_memory_of_large_results_is_kept_between_runs(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch):
    lent: list[ref[NDArray]] = []
    array = ResultMemory.array

    def noted(memory: ResultMemory, shape: Sequence[int], dtype: np.dtype) -> NDArray:
        found = array(memory, shape, dtype)
        lent.append(ref(found))
        return found

    monkeypatch.setattr(ResultMemory, "array", noted)
    ours, _ = negated_and_doubled()
    x = {"x": rng.standard_normal((200, 300), np.float32)}
    assert is_short(ours, x)
    found = ours.run(x)
    assert {id(one) for one in found.values()} >= {id(one) for reference in lent if (one := reference()) is not None}
    assert len(lent) >= 6


def test_without_memory_for_large_results_a_run_goes_another_way(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch):
    ours, reference = negated_and_doubled()
    x = {"x": rng.standard_normal((200, 300), np.float32)}
    assert is_short(ours, x)

    def exhausted(memory: ResultMemory, shape: Sequence[int], dtype: np.dtype) -> NDArray:
        raise MemoryError

    monkeypatch.setattr(ResultMemory, "array", exhausted)
    assert not is_short(ours, x)
    found, expected = ours.run(x), reference.run(x)
    assert all(np.array_equal(found[name], expected[name]) for name in expected)


def test_threads_read_large_arrays_of_their_own():
    ours, _ = negated_and_doubled()

    def ran(number: int) -> set[float]:
        return {float(v) for _ in range(30) for v in np.unique(ours.run({"x": np.full((200, 300), number, np.float32)})["y.out"])}

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(ran, (1, 2, 3))) == [{-1.0}, {-2.0}, {-3.0}]


def test_threads_do_not_see_each_others_values():
    executor = Executor(states_program("native"))

    def ran(number: int) -> set[float]:
        return {float(v) for _ in range(100) for v in set(executor.run({"x": np.full(4, 1000.0 * number, np.float32)})["y"])}

    with ThreadPoolExecutor(4) as pool:
        found = set().union(*pool.map(ran, range(1, 5)))
    assert {v % 1000 for v in found} <= {0.0, 1.0, 2.0}
    assert max(found) <= 8000


def test_what_can_fail_runs_before_states_are_written_in_the_prepared_call_too():
    b, rows, table = Builder(), tensor(2, format="Int32"), tensor(4, 3)
    types = {"x": VECTOR, "i": rows, "table": table}
    for name, kind in (("x", "input"), ("i", "input"), ("table", "constant")):
        b.queue(name, kind, types[name], key=name if kind == "constant" else None)
    b.queue("a", "state", types.setdefault("a", VECTOR), key="a")
    steps = [Step("row", "tile.embedding", ("table", "i"), tensor(2, 3)), Step("sum", "tile.map", ("a", "x"), VECTOR, {"fn": "add"})]
    for name, type_, source in (("y", tensor(2, 3), "row"), ("a_next", VECTOR, "sum")):
        b.queue(name, "output", type_, source=source)
    b.graph("forward_0", typed_ops(steps, types), [("row", "y"), ("sum", "a_next")])
    inputs = [Argument("x", "input", "x", (4,), "float32"), Argument("i", "input", "i", (2,), "int32")]
    results = [Argument("y", "output", "y", (2, 3), "float32"), Argument("a", "state", "a_next", (4,), "float32", updates="a")]
    b.program("forward", inputs, results, ["forward_0"])
    held = {"table": np.arange(12, dtype=np.float32).reshape(4, 3), "a": np.zeros(4, np.float32)}
    tensors = {name: TensorSource.of_array(value, "Float32") for name, value in held.items()}
    states = {"a": ManifestVariable("a", (4,), "float32")}
    executor = Executor(build_program(b.netlist(), Description("checked", "0.1.0", {}, {}, states), tensors, engine="native", threads=2))
    good, wrong = ({"x": np.ones(4, np.float32), "i": np.array(i, np.int32)} for i in ((3, 1), (4, 1)))
    assert len(executor.session._plan("forward", "forward_0").prepared.layout.segments) == 2  # pyright: ignore[reportAttributeAccessIssue]
    assert is_short(executor, good)
    executor.session.reset()
    with pytest.raises(Error) as failure:
        executor.run(wrong)
    assert failure.value.code == "E0802"
    assert executor.states()["a"].tolist() == [0, 0, 0, 0]
    assert executor.run(good)["y"].tolist() == [[9, 10, 11], [3, 4, 5]]
    assert executor.states()["a"].tolist() == [1, 1, 1, 1]


WORDS = ("a", "b", "größe")
LOOKUP = [
    Step("place", "nn.string_index", ("t",), tensor(3, format="Int64"), {"words": WORDS}),
    Step("row", "tile.embedding", ("table", "place"), tensor(3, 2)),
    Step("y", "tile.map", ("row", "x"), tensor(3, 2), {"fn": "add"}),
]


@pytest.fixture
def looked_up() -> tuple[Executor, Executor]:
    """y = table[place of t] + x, on both engines: the first op runs in Python."""
    table = np.arange(8, dtype=np.float32).reshape(4, 2)
    inputs = {"t": tensor(3, format="String"), "x": tensor(3, 2)}
    return executors(inputs, {"table": (table, "Float32")}, LOOKUP, {"y.out": "y"})


def test_steps_in_python_run_by_one_prepared_call(looked_up: tuple[Executor, Executor], rng: np.random.Generator):
    own, reference = looked_up
    for texts in (["a", "größe", "zzz"], ["b", "", "a"]):
        for t in (np.array(texts), np.array(texts, object)):
            given = {"t": t, "x": rng.standard_normal((3, 2), np.float32)}
            assert is_short(own, given)
            np.testing.assert_array_equal(own.run(given)["y.out"], reference.run(given)["y.out"])


def test_text_that_is_none_is_refused_by_a_prepared_call_as_by_others(looked_up: tuple[Executor, Executor]):
    own, reference = looked_up
    x = np.zeros((3, 2), np.float32)
    wrong = [np.array([1, 2, 3]), np.array(["a", 2, "b"], object), np.array(["a", "b"]), ["a", 2, "b"], None]
    for t in wrong:
        messages: list[str] = []
        for executor in (own, reference):
            with pytest.raises(Error) as caught:
                executor.run({"t": t, "x": x})
            messages.append(str(caught.value))
        assert messages[0] == messages[1]
        assert "E0801" in messages[0]
    assert own.run({"t": ["a", "b", "a"], "x": x})["y.out"].tolist() == [[0, 1], [2, 3], [0, 1]]


def test_prepared_calls_with_steps_beside_each_other(looked_up: tuple[Executor, Executor]):
    own, reference = looked_up
    given = [{"t": np.array(list(texts)), "x": np.full((3, 2), n, np.float32)} for n, texts in enumerate(["aba", "bbb", "xab", "aaa"] * 20)]
    with ThreadPoolExecutor(4) as pool:
        for found, one in zip(pool.map(own.run, given), given, strict=True):
            np.testing.assert_array_equal(found["y.out"], reference.run(one)["y.out"])


def test_data_out_of_range_ends_a_prepared_call_as_it_ends_others(looked_up: tuple[Executor, Executor]):
    """A table of as many rows as there are words has none for other texts."""
    inputs = {"t": tensor(3, format="String"), "x": tensor(3, 2)}
    own, _ = executors(inputs, {"table": (np.ones((3, 2), np.float32), "Float32")}, LOOKUP, {"y.out": "y"})
    given = {"t": np.array(["a", "b", "none"]), "x": np.zeros((3, 2), np.float32)}
    for _ in range(2):
        with pytest.raises(Error) as caught:
            own.run(given)
        assert (caught.value.code, caught.value.where) == ("E0802", "row")
        assert own.run({**given, "t": np.array(["a", "b", "b"])})["y.out"].tolist() == [[1, 1]] * 3

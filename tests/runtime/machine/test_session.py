"""Sessions: memory between programs, three steps of a run, failures, threads, devices."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Thread
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.runtime.conftest import VECTOR, Builder, op
from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.model import Argument, Instruction
from ttc.runtime.engines.reference import ReferenceEngine
from ttc.runtime.machine.device import MachineDevice
from ttc.runtime.machine.session import Session
from ttc.runtime.manifest import Description, ManifestVariable
from ttc.runtime.program import Program, build_program
from ttc.runtime.tensors import TensorSource

X = np.arange(4, dtype=np.float32)


@pytest.fixture(params=["native", "reference"])
def engine(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def counting(counter, engine: str) -> Session:
    netlist, tensors, description = counter
    return Session(build_program(netlist, description, tensors, engine=engine))


def looping(engine: str, rounds: int = 3) -> Program:
    """`step`: reads state s, `rounds` times s = s + s[index] through the state's own queue, y = s; indices that are too large fail."""
    index = replace(VECTOR, shape=(1,), format="Int32")
    b = Builder()
    b.queue("i", "input", index, entries=rounds)
    b.queue("s", "state", VECTOR, key="s")
    b.queue("y", "output", VECTOR, entries=rounds, source="copy")
    picked = replace(VECTOR, shape=(1,))
    gather = op("pick", "gather", ["s", "i"], picked, axis=0)
    gather = replace(gather, work=replace(gather.work, inputs=(VECTOR, index)))
    add = op("add", "add", ["s", "pick"], VECTOR)
    add = replace(add, work=replace(add.work, inputs=(VECTOR, picked)))
    b.graph("g", [gather, add, op("copy", "identity", ["add"], VECTOR)], [("add", "s"), ("copy", "y")])
    netlist = b.netlist()
    i = Argument("i", "input", "i", (rounds, 1), "int32", streamed=True)
    y = Argument("y", "output", "y", (rounds, 4), "float32", streamed=True)
    b.program("step", [i], [y], [])
    steps = (Instruction("loop", (rounds,)), Instruction("execute", ("g",)), Instruction("endloop", ()))
    netlist.programs["step"] = replace(netlist.programs["step"], instructions=steps)
    tensors = {"s": TensorSource.of_array(np.arange(1, 5, dtype=np.float32), "Float32")}
    return build_program(netlist, Description("t", "0.1.0", {}, {}, {"s": ManifestVariable("s", (4,), "float32")}), tensors, engine=engine)


def looped(indices: list[int]) -> list[NDArray]:
    states = [np.arange(1, 5, dtype=np.float32)]
    for i in indices:
        states.append(states[-1] + states[-1][i])
    return states


def test_a_state_is_written_again_and_again_in_one_run(engine: str):
    session = Session(looping(engine))
    expected = looped([2, 0, 1])
    assert np.array_equal(session.call("step", {"i": np.array([[2], [0], [1]], np.int32)})["y"], np.stack(expected[1:]))
    assert np.array_equal(session.states()["s"], expected[-1])


@pytest.mark.parametrize("place", range(3))
def test_a_run_that_fails_changes_nothing(engine: str, place: int):
    session = Session(looping(engine))
    good = np.array([[2], [0], [1]], np.int32)
    session.call("step", {"i": good})
    before = session.states()["s"]
    bad = good.copy()
    bad[place] = 9
    with pytest.raises(Error) as failure:
        session.call("step", {"i": bad})
    assert failure.value.code == "E0802"
    assert np.array_equal(session.states()["s"], before)
    session.push("step", {"i": bad})
    with pytest.raises(Error):
        session.run("step")
    assert np.array_equal(session.states()["s"], before)
    session.call("step", {"i": good})
    assert np.array_equal(session.states()["s"], looped([2, 0, 1, 2, 0, 1])[-1])


def test_the_three_steps_of_a_run(counting: Session):
    counting.push("step", {"x": X})
    assert counting.states()["counter"].tolist() == [0] * 4
    with pytest.raises(Error, match="queue 'x' is full") as failure:
        counting.push("step", {"x": X})
    assert failure.value.code == "E0804"
    with pytest.raises(Error, match="has no results") as failure:
        counting.pop("step")
    assert failure.value.code == "E0804"
    counting.run("step")
    counting.call("step", {"x": X})  # beside what waits
    assert counting.states()["counter"].tolist() == [2] * 4
    with pytest.raises(Error, match="a run reads 1 entries of queue 'x', which holds 0"):
        counting.run("step")
    counting.push("step", {"x": X})
    with pytest.raises(Error, match="queue 'y', which has no room"):
        counting.run("step")
    assert counting.pop("step")["y"].tolist() == X.tolist()
    counting.run("step")
    assert counting.pop("step")["y"].tolist() == (X + 2).tolist()


def test_threads_wait_for_each_other(counting: Session):
    def feed() -> None:
        for number in range(20):
            counting.push("step", {"x": X + number}, timeout=30)

    def compute() -> None:
        for _ in range(20):
            counting.run("step", timeout=30)

    found: list[list[float]] = []
    threads = [Thread(target=feed), Thread(target=compute)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        found.append(counting.pop("step", timeout=30)["y"].tolist())
    for thread in threads:
        thread.join()
    assert found == [(X + number + number).tolist() for number in range(20)]


def test_a_wait_ends_in_an_error(counting: Session):
    with pytest.raises(Error, match=r"still after 0\.01 s") as failure:
        counting.run("step", timeout=0.01)
    assert failure.value.code == "E0804"


def test_closing_ends_waiting(counting: Session):
    found: list[str] = []

    def wait() -> None:
        try:
            counting.run("step", timeout=60)
        except Error as error:
            found.append(error.code)

    thread = Thread(target=wait)
    thread.start()
    counting.close()
    thread.join(timeout=30)
    assert found == ["E0803"]


def test_closing_while_running_is_an_error_and_no_crash(counter, engine: str):
    netlist, tensors, description = counter
    for _ in range(10):
        session = Session(build_program(netlist, description, tensors, engine=engine))

        def many(name: str, session: Session = session) -> str:
            try:
                for _ in range(10_000):
                    session.call(name, {"x": X})
            except Error as error:
                return error.code
            return "never closed"

        with ThreadPoolExecutor(4) as pool:
            runs = [pool.submit(many, name) for name in ("step", "double", "step", "double")]
            session.close()
        assert {run.result() for run in runs} == {"E0803"}


def handing_over(engine: str, entries: int = 2) -> Program:
    """`forward`: y = x + x, and stash = x; `backward`: z = stash * g."""
    b = Builder()
    for name, kind, source in (("x", "input", "HOST"), ("g", "input", "HOST"), ("y", "output", "twice"), ("z", "output", "product")):
        b.queue(name, kind, VECTOR, source=source)
    b.queue("stash", "stash", VECTOR, entries=entries, source="keep")
    b.graph("f", [op("twice", "add", ["x", "x"], VECTOR), op("keep", "identity", ["x"], VECTOR)], [("twice", "y"), ("keep", "stash")])
    b.graph("b", [op("product", "mul", ["stash", "g"], VECTOR)], [("product", "z")])
    x = Argument("x", "input", "x", (4,), "float32")
    g, y, z = (replace(x, name=n, queue=n, kind=k) for n, k in (("g", "input"), ("y", "output"), ("z", "output")))
    b.program("forward", [x], [y], ["f"])
    b.program("backward", [g], [z], ["b"])
    return build_program(b.netlist(), Description("t", "0.1.0", {}), {}, engine=engine)


def test_one_program_reads_what_another_wrote(engine: str):
    session = Session(handing_over(engine))
    for k in (1, 2):
        assert session.call("forward", {"x": X + k})["y"].tolist() == (2 * (X + k)).tolist()
    with pytest.raises(Error) as failure:
        session.call("forward", {"x": X})
    assert failure.value.code == "E0804"
    for k in (1, 2):
        assert session.call("backward", {"g": X})["z"].tolist() == (X * (X + k)).tolist()
    with pytest.raises(Error) as failure:
        session.call("backward", {"g": X})
    assert failure.value.code == "E0804"


def test_devices_run_the_graphs_of_their_chips(counter):
    netlist, tensors, description = counter
    program = build_program(netlist, description, tensors, engine="native")
    session = Session(program, [MachineDevice.of(program, ReferenceEngine(), chip=0)])
    assert session.call("step", {"x": X})["y"].tolist() == X.tolist()
    lacking = Session(program, [MachineDevice.of(program, ReferenceEngine(), chip=1)])
    with pytest.raises(Error, match="no device for chip 0") as failure:
        lacking.call("step", {"x": X})
    assert failure.value.code == "E0803"


def test_parameters_are_read_and_set(affine, engine: str):
    netlist, tensors, description = affine
    session = Session(build_program(netlist, description, tensors, engine=engine))
    assert {name: value.tolist() for name, value in session.parameters().items()} == {"w": [2] * 4}
    x = np.zeros((3, 4), np.float32)
    new: dict[str, Any] = {"w": np.full(4, 3, np.float32), "b": np.ones(4, np.float32)}
    session.assign(new)
    assert session.call("forward", {"x": x})["y"].tolist() == [[(3 * 1 + 3) * 3] * 4] * 3
    assert {name: value.tolist() for name, value in session.parameters().items()} == {"w": [3] * 4, "b": [1] * 4}
    for wrong in ({"w": np.zeros(4, np.float32), "q": X}, {"w": np.zeros(5, np.float32)}, {"w": np.zeros(4, np.int8)}):
        with pytest.raises(Error) as failure:
            session.assign(wrong)
        assert failure.value.code == "E0801"
    assert session.parameters()["w"].tolist() == [3] * 4
    session.reset()
    assert session.call("forward", {"x": x})["y"].tolist() == [[5 * 2] * 4] * 3


def test_a_parameter_that_programs_update_is_not_prepared_again(affine, engine: str):
    netlist, tensors, description = affine
    program = build_program(netlist, replace(description, derived=()), tensors, engine=engine)
    assert program.netlists.updated == {"w"}
    program.prepare()
    session = Session(program)
    x = np.zeros((3, 4), np.float32)
    plan = session.program.plans["forward_0"]
    for count in range(1, 4):
        session.call("grow", {})
        assert session.call("forward", {"x": x})["y"].tolist() == [[5 * 2 * 2**count] * 4] * 3
    assert session.program.plans["forward_0"] is plan
    assert session.program.parameters["w"].tolist() == [16] * 4
    session.assign({"w": X})
    assert session.call("forward", {"x": x})["y"].tolist() == [(5 * X).tolist()] * 3

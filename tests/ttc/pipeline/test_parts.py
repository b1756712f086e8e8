"""Parts of a program in sessions of their own: states, derived tensors, stashes, and what joins the parts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.runtime.conftest import VECTOR, Builder, op
from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Function, Work
from ttc.dialects.netlist.model import Argument
from ttc.dialects.netlist.split import Joint
from ttc.pipeline.parts import Joints, parts_of
from ttc.runtime.engines.table import engine_named
from ttc.runtime.machine.session import Session
from ttc.runtime.manifest import Derived, Description, ManifestVariable
from ttc.runtime.program import Program, build_program
from ttc.runtime.tensors import TensorSource

X = np.arange(4, dtype=np.float32)
JOINT = Joint("e", "e", 0, 1)


@pytest.fixture(params=["native", "reference"])
def engine(request: pytest.FixtureRequest) -> str:
    return request.param


def on_two_chips(engine: str, counts_on: int = 0) -> Program:
    """`forward`: chip 0: stash e = x + count, and count += 1; `backward`: chip 1: z = e * scaled, where scaled = w + w.

    counts_on: chip that updates the count.
    """
    b = Builder()
    b.queue("x", "input", VECTOR)
    b.queue("count", "state", VECTOR, key="count.initial")
    b.queue("one", "constant", VECTOR, key="one")
    b.queue("e", "stash", VECTOR, entries=4, source="add")
    b.queue("next", "output", VECTOR, source="inc")
    b.queue("scaled", "constant", VECTOR, key="scaled")
    b.queue("z", "output", VECTOR, source="mul")
    b.graph("f", [op("add", "add", ["x", "count"], VECTOR)], [("add", "e")])
    b.graph("c", [op("inc", "add", ["count", "one"], VECTOR)], [("inc", "next")])
    b.graph("b", [op("mul", "mul", ["e", "scaled"], VECTOR)], [("mul", "z")])
    x = Argument("x", "input", "x", (4,), "float32")
    b.program("forward", [x], [Argument("count", "state", "next", (4,), "float32", updates="count")], ["f", "c"])
    b.program("backward", [], [replace(x, name="z", queue="z", kind="output")], ["b"])
    plain = b.netlist()
    chips = {"f": 0, "c": counts_on, "b": 1}
    graphs = {name: replace(graph, chip=chips[name]) for name, graph in plain.graphs.items()}
    queues = {name: replace(queue, lifetime=None) for name, queue in plain.queues.items()}
    netlist = replace(plain, chip=replace(plain.chip, chips=2), queues=queues, graphs=graphs)
    doubled = Function((), (Work("ttc.param", (), {"sym": "w", "key": "w"}, (VECTOR,)), Work("nn.add", (0, 0), {}, (VECTOR,))), (1,))
    values = {"count.initial": np.zeros(4), "one": np.ones(4), "scaled": np.full(4, 6.0), "w": np.full(4, 3.0)}
    tensors = {key: TensorSource.of_array(value.astype(np.float32), "Float32") for key, value in values.items()}
    vector = (4,), "float32"
    description = Description(
        "t",
        "0.1.0",
        {},
        {"w": ManifestVariable("w", *vector)},
        {"count": ManifestVariable("count.initial", *vector)},
        (Derived("scaled", doubled),),
    )
    return build_program(netlist, description, tensors, engine=engine)


def test_each_part_has_its_variables_and_tensors(engine: str) -> None:
    parts, joints = parts_of(on_two_chips(engine), engine_named(engine, 1))
    assert joints == (JOINT,)
    assert [list(part.description.states) for part in parts.values()] == [["count"], []]
    assert [sorted(part.constants.sources) for part in parts.values()] == [["count.initial", "one"], ["scaled", "w"]]


def test_parts_compute_what_the_whole_does(engine: str) -> None:
    """Forwards run ahead of backwards; a new value of a parameter reaches the part that holds what derives from it."""
    whole = on_two_chips(engine)
    parts, found = parts_of(whole, engine_named(engine, 1))
    one, sessions, joints = Session(whole), {chip: Session(part) for chip, part in parts.items()}, Joints(found, room=3)
    sessions[1].assign({"w": X})
    one.assign({"w": X})
    for k in range(3):
        one.call("forward", {"x": X + k})
        assert joints.give(0, sessions[0].call("forward", {"x": X + k}), timeout=1) == {}
    for k in range(3):
        entry = sessions[1].entry("backward")
        got = joints.give(1, sessions[1].call("backward", joints.take(1, entry, timeout=1)), timeout=1)["z"]
        assert got.tolist() == one.call("backward", {})["z"].tolist() == ((X + 2 * k) * 2 * X).tolist()
    assert sessions[0].states()["count"].tolist() == one.states()["count"].tolist() == [3] * 4
    assert sessions[1].states() == {}


def test_a_state_of_two_chips_is_an_error(engine: str) -> None:
    with pytest.raises(Error, match="state 'count' is used by graphs of chips 0 and 1") as failure:
        parts_of(on_two_chips(engine, counts_on=1), engine_named(engine, 1))
    assert failure.value.code == "E0503"


def test_what_does_not_come_or_go_is_an_error() -> None:
    joints = Joints([JOINT], room=1)
    entry = on_two_chips("reference").netlist.programs["backward"]
    entry = replace(entry, arguments=(Argument("e", "input", "e", (4,), "float32"),))
    with pytest.raises(Error, match=r"chip 0 has not given 'e', still after 0\.01 s") as failure:
        joints.take(1, entry, timeout=0.01)
    assert failure.value.code == "E0804"
    assert joints.give(0, {"e": X, "mine": X}, timeout=0.01).keys() == {"mine"}
    with pytest.raises(Error, match=r"chip 1 has not taken 'e', still after 0\.01 s") as failure:
        joints.give(0, {"e": X}, timeout=0.01)
    assert failure.value.code == "E0804"
    assert joints.take(0, entry, timeout=0.01) == {}
    assert joints.take(1, entry, timeout=0.01)["e"] is X

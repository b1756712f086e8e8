"""Memory of dynamic queues."""

from __future__ import annotations

import pytest

from tests.dialects.netlist.buda.test_epochs import CHIP, op_of
from tests.runtime.golden.netlists import queue_of
from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.model import Graph, Instruction, Netlist, Program, Queue
from ttc.runtime.golden.addresses import Allocation


def allocation(*queues: Queue, dynamic: tuple[str, ...] = ("a", "b")) -> Allocation:
    netlist = Netlist(CHIP, {queue.name: queue for queue in queues})
    return Allocation(netlist, [Program("p", (), (), tuple(Instruction("allocate", (name,)) for name in dynamic))])


def at(name: str, address: int, *, channel: int = 0, chip: int = 0, alias: str | None = None) -> Queue:
    """32 bytes of header and 4096 of entries."""
    return queue_of(name, buffers=((channel, address),), buffer_bytes=32 + 4096, chip=chip, alias=alias)


@pytest.mark.parametrize(
    ("other", "collides"),
    [
        (at("b", 4095), True),
        (at("b", 4096), False),
        (at("b", 0, channel=1), False),
        (at("b", 0, chip=1), False),
        (at("b", 0, alias="a"), False),
    ],
)
def test_ranges_of_entries_may_not_meet(other: Queue, collides: bool):
    found = allocation(at("a", 0), other)
    found.allocate("b")
    if not collides:
        found.allocate("a")
        assert found.is_live("a")
        return
    with pytest.raises(Error, match="0x0 to 0x1000 and 0xfff to 0x1fff of channel 0") as failure:
        found.allocate("a")
    assert failure.value.code == "E0804"
    found.deallocate("b")
    found.allocate("a")
    assert not found.is_live("b")


def test_static_queues_are_always_there():
    found = allocation(at("a", 0), at("s", 0), dynamic=("a",))
    assert found.is_live("s")
    with pytest.raises(Error, match="over queue 's'"):
        found.allocate("a")


@pytest.mark.parametrize(("steps", "code"), [(("+a", "+a"), "E0804"), (("-a",), "E0804"), (("+x",), "E0601"), (("-x",), "E0601")])
def test_steps_that_cannot_be(steps: tuple[str, ...], code: str):
    found = allocation(at("a", 0))
    *before, last = [(found.allocate if step[0] == "+" else found.deallocate, step[1:]) for step in steps]
    for act, name in before:
        act(name)
    with pytest.raises(Error) as failure:
        last[0](last[1])
    assert failure.value.code == code


def test_graphs_use_what_is_there():
    found = allocation(at("a", 0))
    with pytest.raises(Error, match="E0804"):
        found.check_use(Graph("g", 0, 1, (op_of("o", "a"),), ()))
    found.allocate("a")
    found.check_use(Graph("g", 0, 1, (op_of("o", "a"),), (("o", "a"),)))

"""Memory of parts: lifetimes in epochs of their own, and queues that would share bytes."""

from __future__ import annotations

from dataclasses import replace

from tests.dialects.netlist.conftest import spread
from ttc.dialects.netlist.checks import check
from ttc.dialects.netlist.model import Netlist
from ttc.dialects.netlist.part_memory import arranged
from ttc.dialects.netlist.split import walked


def remade(netlist: Netlist, *joints: str) -> Netlist:
    return arranged(netlist, [walked(program, netlist) for program in netlist.programs.values()], joints)


def test_what_still_serves_stays(netlist: Netlist) -> None:
    assert remade(netlist) == netlist


def test_lifetimes_are_those_of_the_parts_epochs(netlist: Netlist) -> None:
    late = {name: replace(netlist.queues[name], lifetime=span) for name, span in {"x": (0, 4), "e": (4, 6), "y": (6, 9)}.items()}
    found = remade(replace(netlist, queues={**netlist.queues, **late}))
    assert {name: found.queues[name].lifetime for name in "xeyws"} == {"x": (0, 0), "e": (0, 1), "y": (1, 1), "w": None, "s": None}


def test_a_joint_gives_way_to_those_that_share_its_bytes(netlist: Netlist) -> None:
    """`x` and `y` share theirs; as a joint, `y` holds its value always."""
    found = remade(netlist, "y")
    assert found.queues["y"].lifetime is None
    assert found.queues["x"] == netlist.queues["x"]
    assert [channel for channel, _ in found.queues["y"].buffers] == [0, 1, 0, 1]
    assert check(found) == []


def test_others_give_way_to_each_other(netlist: Netlist) -> None:
    """The edge has come to live in the epoch of the output that had its place before."""
    crowded = replace(netlist, queues={**netlist.queues, "y": replace(netlist.queues["y"], buffers=spread(3))})
    found = remade(crowded)
    moved = [name for name, queue in found.queues.items() if queue.buffers != crowded.queues[name].buffers]
    assert len(moved) == 1
    assert moved[0] in ("e", "y")
    assert check(found) == []

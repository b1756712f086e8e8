"""Who fills which queue."""

from __future__ import annotations

import pytest

from tests.dialects.netlist.buda.test_epochs import CHIP, op_of
from tests.runtime.golden.netlists import queue_of
from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.buda.roles import host_owned, is_host_fed, shared_memories
from ttc.dialects.netlist.model import Graph, Netlist, Queue


def netlist_of(*queues: Queue, gradient: bool = False) -> Netlist:
    op = op_of("o", "x")
    settings = (("gradient_op", True),) if gradient else ()
    graph = Graph("g", 0, 1, (type(op)(**{**{n: getattr(op, n) for n in op.__slots__}, "settings": settings}),), (("o", "acc"),))
    return Netlist(CHIP, {queue.name: queue for queue in queues}, {"g": graph})


def test_the_base_of_views_is_filled_unless_only_another_is_the_hosts():
    base, view = queue_of("base", type="ram", source="o"), queue_of("view", type="ram", alias="base")
    (shared,) = shared_memories(netlist_of(base, view))
    assert (shared.owner.name, [v.name for v in shared.views]) == ("view", ["base", "view"])
    (shared,) = shared_memories(netlist_of(queue_of("base", type="ram"), view))
    assert shared.owner.name == "base"


def test_gradients_start_from_zero():
    queues = (queue_of("acc", type="ram", source="o"), queue_of("x"), queue_of("y", source="o"))
    assert [q.name for q in host_owned(netlist_of(*queues))] == ["acc", "x"]
    assert [q.name for q in host_owned(netlist_of(*queues, gradient=True))] == ["x"]


def test_queues_from_other_netlists_are_the_hosts():
    assert is_host_fed(queue_of(source="net2net_other"))
    assert not is_host_fed(queue_of(source="op"))


def test_an_alias_of_nothing():
    with pytest.raises(Error, match="E0601"):
        shared_memories(netlist_of(queue_of("view", type="ram", alias="base")))

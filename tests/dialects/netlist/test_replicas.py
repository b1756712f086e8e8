"""Replicas of a netlist: their graphs and queues, what they share, and the way back to one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.checks import check
from ttc.dialects.netlist.model import Graph, Netlist
from ttc.dialects.netlist.replicas import first_replica, merged, replica_count, replicated
from ttc.dialects.netlist.split import split

LINKS = ((0, 1, 4), (1, 2, 4), (2, 3, 4))
Mutation = Callable[[Netlist], Netlist]


@pytest.fixture
def streamed(netlist: Netlist) -> Netlist:
    """A program whose graphs run on chip 0, for the batch of three replicas: without the state that the sample has."""
    forward = netlist.programs["forward"]

    def grown(ports: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(replace(p, shape=(3 * p.shape[0], *p.shape[1:]), streamed=True) for p in ports if p.updates is None)

    program = replace(forward, arguments=grown(forward.arguments), results=grown(forward.results))
    used = {str(step.args[0]) for step in program.instructions if step.opcode == "execute"}
    graphs = {name: graph for name, graph in netlist.graphs.items() if name in used}
    names = {name for g in graphs.values() for op in g.ops for name in op.inputs} | {q for g in graphs.values() for _, q in g.writes}
    queues = {name: queue for name, queue in netlist.queues.items() if name in names and queue.kind != "state"}
    assert names.isdisjoint(name for name, queue in netlist.queues.items() if queue.kind == "state")
    return replace(netlist, chip=replace(netlist.chip, chips=4, links=LINKS), queues=queues, graphs=graphs, programs={"forward": program})


def test_each_replica_has_its_own_graphs_and_queues(streamed: Netlist) -> None:
    found = replicated(streamed, 3, (0, 2, 3))
    assert check(found) == []
    assert replica_count(found) == 3
    assert [graph.chip for graph in found.graphs.values()] == [0, 2, 3] * len(streamed.graphs)
    assert len(found.queues) == 3 * len(streamed.queues)
    for name, queue in streamed.queues.items():
        copy = found.queues[f"{name}_r2"]
        assert (copy.chip, copy.buffers, copy.key, copy.entries) == (3, queue.buffers, queue.key, queue.entries)
    order = [str(step.args[0]) for step in found.programs["forward"].instructions if step.opcode == "execute"]
    assert order == [f"{name}{end}" for name in streamed.graphs for end in ("", "_r1", "_r2")]


def test_memory_of_the_host_is_divided(streamed: Netlist) -> None:
    """Queues of replicas lie behind one another, constants are there once; more than the host has is an error."""
    name = next(n for n, q in streamed.queues.items() if q.kind == "input")
    chip = replace(streamed.chip, host_channels=1, host_channel_bytes=3 * streamed.queues[name].buffer_bytes)
    moved = replace(streamed.queues[name], location="host", buffers=((0, 0),) * len(streamed.queues[name].buffers), grid=(1, 1))
    hosted = replace(streamed, chip=chip, queues={**streamed.queues, name: replace(moved, buffers=((0, 0),))})
    found = replicated(hosted, 3, (0, 1, 2))
    size = moved.buffer_bytes
    assert [found.queues[n].buffers for n in (name, f"{name}_r1", f"{name}_r2")] == [((0, k * size),) for k in range(3)]
    with pytest.raises(Error, match="no room for the queues of 4 replicas") as caught:
        replicated(hosted, 4, (0, 1, 2, 3))
    assert caught.value.code == "E0503"


def test_groups_divide_chips(streamed: Netlist) -> None:
    with pytest.raises(Error, match="3 chips are not 2 groups of equal size") as caught:
        replicated(streamed, 2, (0, 1, 2))
    assert caught.value.code == "E0608"


def test_back_to_one(streamed: Netlist) -> None:
    found = replicated(streamed, 3, (0, 1, 2))
    first = first_replica(found)
    share = first.programs["forward"].arguments[0].shape
    assert share[0] * 3 == streamed.programs["forward"].arguments[0].shape[0]
    assert (first.graphs, first.queues) == (streamed.graphs, streamed.queues)
    whole = merged(found)
    assert whole.programs["forward"] == streamed.programs["forward"]
    assert {n: g.input_count for n, g in whole.graphs.items()} == {n: 3 * g.input_count for n, g in streamed.graphs.items()}
    assert first_replica(streamed) is streamed
    assert merged(streamed) is streamed


def in_graph(name: str, change: Callable[[Graph], Graph]) -> Mutation:
    return lambda n: replace(n, graphs={**n.graphs, name: change(n.graphs[name])})


def other_op(**fields: Any) -> Callable[[Graph], Graph]:
    return lambda graph: replace(graph, ops=(replace(graph.ops[0], **fields), *graph.ops[1:]))


@pytest.mark.parametrize("case", ["another op", "other microbatches", "another weight", "a queue of another replica"])
def test_replicas_that_differ_stay_apart(case: str, streamed: Netlist) -> None:
    found = replicated(streamed, 2, (0, 1))
    first = next(iter(streamed.graphs))
    graph = found.graphs[f"{first}_r1"]
    inputs = graph.ops[0].inputs
    changes: dict[str, Mutation] = {
        "another op": in_graph(graph.name, other_op(type="other")),
        "other microbatches": in_graph(graph.name, lambda g: replace(g, input_count=g.input_count + 1)),
        "another weight": lambda n: replace(
            n, queues={k: replace(q, key=f"{q.key}2") if q.key and k.endswith("_r1") else q for k, q in n.queues.items()}
        ),
        "a queue of another replica": in_graph(graph.name, other_op(inputs=(inputs[0].removesuffix("_r1"), *inputs[1:]))),
    }
    changed = changes[case](found)
    assert changed != found
    assert first_replica(changed) is changed
    assert merged(changed) is changed


def test_replicas_are_not_split_by_chip(streamed: Netlist) -> None:
    with pytest.raises(Error, match="have replicas") as caught:
        split(replicated(streamed, 2, (0, 1)), {})
    assert caught.value.code == "E0503"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: replace(p, replicas=("x",)), "two of its replicas share a queue"),
        (lambda p: replace(p, replicas=("nothing",)), "'nothing' is no queue"),
        (lambda p: replace(p, shape=(p.shape[0] + 1, *p.shape[1:])), "does not fill entries of 3 replicas of shape"),
    ],
)
def test_arguments_of_replicas_are_checked(change: Callable[[Any], Any], message: str, streamed: Netlist) -> None:
    found = replicated(streamed, 3, (0, 1, 2))
    program = found.programs["forward"]
    broken = replace(program, arguments=(change(program.arguments[0]), *program.arguments[1:]))
    violations = check(replace(found, programs={"forward": broken}))
    assert any(message in v.message for v in violations)

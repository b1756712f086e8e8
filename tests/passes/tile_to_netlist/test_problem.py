"""What passes between ops and queues, and the time of an epoch by the quick estimate."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.passes.tile_to_netlist.made import candidate, found, small
from ttc.dialects.core.machines.targets import load_target
from ttc.passes.tile_to_netlist.problem import Problem, ProblemNode, QueueTraffic

ONE = found(candidate(1, 1, 100))


def diamond() -> Problem:
    """0 feeds 1 and 3, 1 feeds 2, 2 feeds 3, whose result is stored; results of 10, 20, 30 and 40 bytes."""
    reads = [(), (0,), (1,), (0, 2)]
    nodes = [ProblemNode(ONE, 0, r, 5 if i == 0 else 0, 10 * (i + 1), stored=i == 3) for i, r in enumerate(reads)]
    return Problem(nodes, small(), 8)


def test_traffic_of_epochs() -> None:
    problem = diamond()
    assert problem.last_reader == [3, 2, 3, 3]
    assert problem.traffic(0, 4) == [QueueTraffic(5, 10), QueueTraffic(5, 30), QueueTraffic(5, 40), QueueTraffic(5, 40)]
    assert problem.traffic(2, 9) == [QueueTraffic(20, 30), QueueTraffic(30, 40)]


def test_dram_may_be_slower_than_any_op() -> None:
    problem = diamond()
    *others, last = problem.nodes
    reader = replace(problem, nodes=[*others, replace(last, queue_bytes=1 << 20)])
    light, heavy = (which.time(3, [candidate(1, 1, 100)]) for which in (problem, reader))
    switch = problem.rates.switch_of(1)
    assert light == switch + 100 + 7 * (100 + problem.rates.microbatch_cycles)
    assert heavy - switch == pytest.approx(8 * ((1 << 20) + 80) * problem.cycles_per_byte)  # what others made and its result are 80 bytes


def test_weights_that_are_held_are_read_once() -> None:
    problem = diamond()
    held, streamed = (problem.time(1, [c]) for c in (candidate(1, 1, 1, held=1 << 20), candidate(1, 1, 1, streamed=1 << 20)))
    assert streamed - held > 6 * (1 << 20) * problem.cycles_per_byte


def test_one_microbatch_does_not_wait_for_weights() -> None:
    """They come beside what is computed: the longer of both counts, and not their sum as for several microbatches."""
    nodes = diamond().nodes[:1]
    weights = candidate(1, 1, 30_000, held=1 << 20)
    load = (1 << 20) * Problem(nodes, small(), 1).cycles_per_byte
    assert load < 30_000
    one, two = (Problem(nodes, small(), count).time(0, [weights] * len(nodes)) for count in (1, 2))
    switch, step = diamond().rates.switch_of(1), 30_000 + diamond().rates.microbatch_cycles
    assert one == switch + 30_000
    rates = diamond().rates
    assert (
        two
        == rates.start_cycles
        + max(load + rates.program_cycles(1) * rates.own_part, rates.program_bytes / rates.absorb_core)
        + 30_000
        + step
    )


def test_weights_that_are_held_come_at_the_rate_of_dram_where_ports_are_chosen() -> None:
    """p150: 370 bytes a cycle instead of 256; not with kernels `buda`, nor for one microbatch unless it is loaded for."""
    p150 = load_target("p150")
    nodes = diamond().nodes
    assert Problem(nodes, p150, 8).load_cycles_per_byte == pytest.approx(1 / 370.4, rel=0.001)
    assert Problem(nodes, p150, 1, loads=True).load_cycles_per_byte == Problem(nodes, p150, 8).load_cycles_per_byte
    for other in (
        Problem(nodes, p150, 1),
        Problem(nodes, replace(p150, kernels="buda"), 8),
        Problem(nodes, replace(p150, dram_nodes=()), 8),
    ):
        assert other.load_cycles_per_byte == other.cycles_per_byte == pytest.approx(1 / 256)

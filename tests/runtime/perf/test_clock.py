"""When epochs of a run begin: cores go on by themselves, entries are read as they are written."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.runtime.perf.conftest import netlist_of, queue, relu, tensor, with_kernels
from ttc.dialects.core.machines.targets import load_target
from ttc.dialects.netlist.model import Graph, Grid, Instruction, Netlist, Program
from ttc.runtime.perf.clock import Clock, ends_of, paced_ends, share_of, taken_of
from ttc.runtime.perf.rates import rates_of
from ttc.runtime.perf.run import RunCost, run_cost
from ttc.runtime.perf.traffic import Traffic

N150 = rates_of(load_target("n150"))
BUDA = rates_of(replace(load_target("n150"), kernels="buda"))
COUNT = 16


def two_epochs(first: tuple[Grid, Grid], second: Grid) -> Netlist:
    """x -> a -> b -> y, and y -> c -> z in an epoch of its own."""
    x = tensor(8, 8)
    ops = (relu("a", "x", x, first[0]), relu("b", "a", x, first[1]))
    made = netlist_of((queue("x", x, (0, 1)), queue("y", x, (2,), "edge"), queue("z", x, (3,), "output")), ops, (("b", "y"),), COUNT)
    queues = {name: replace(q, entries=COUNT, buffer_bytes=1 << 20) for name, q in made.queues.items()}
    follower = Graph("h", 0, COUNT, (relu("c", "y", x, second),), (("c", "z"),))
    steps = (Instruction("execute", ("g",)), Instruction("execute", ("h",)))
    graphs = {**made.graphs, "h": follower}
    return replace(made, queues=queues, graphs=graphs, programs={"forward": Program("forward", (), (), steps)})


def last_part(cost: RunCost) -> float:
    """Return what the second epoch adds to the run."""
    return cost.executions[1].cycles


PAIR = (Grid(0, 0, 2, 1), Grid(0, 1, 2, 1))


def test_an_epoch_on_cores_that_are_free_reads_entries_as_they_are_written() -> None:
    apart, same = (run_cost(with_kernels(two_epochs(PAIR, place), "buda")) for place in (Grid(0, 2, 2, 1), PAIR[1]))
    follower = same.epochs[1]
    assert last_part(same) == pytest.approx(follower.cycles + BUDA.switch_of(2), rel=5e-3)
    assert last_part(apart) < 2 * follower.cycles / COUNT
    assert apart.device_cycles > apart.epochs[0].cycles + N150.switch_of(4)


def test_cores_of_the_first_op_go_on_before_those_of_the_last() -> None:
    early, late = (last_part(run_cost(two_epochs(PAIR, place))) for place in PAIR)
    assert early < late


def test_ops_that_take_a_microbatch_with_every_interval_end_later_and_the_epoch_does_not() -> None:
    x = tensor(8, 8)
    ops = (relu("a", "x", x, Grid(0, 0, 4, 2), copies=40), relu("b", "a", x, Grid(0, 2, 1, 1), copies=40))  # b is slower, and has room
    net = netlist_of((queue("x", x, (0, 1)), queue("y", x, (2,), "output")), ops, (("b", "y"),), COUNT)
    (epoch,) = run_cost(net).epochs
    soon, paced = ends_of(epoch), paced_ends(epoch)
    others = (COUNT - 1) * epoch.interval
    assert paced[0] == pytest.approx(epoch.begins[0] - epoch.prologue + others + epoch.ops[0].total)
    assert soon[0] < paced[0] < epoch.cycles - epoch.prologue
    assert paced[1] == pytest.approx(epoch.cycles - epoch.prologue, rel=0.01)


def test_an_epoch_takes_of_dram_what_it_moves_while_it_runs() -> None:
    """One microbatch takes the ways for a part of its run, many for a part of each interval."""
    (one,), (many,) = (run_cost(of_count(count)).epochs for count in (1, 64))
    assert share_of(one) == pytest.approx(max(one.channel, one.links) / (one.cycles - one.prologue))
    assert share_of(one) < share_of(many) <= max(many.channel, many.links) / many.interval


def of_count(count: int) -> Netlist:
    """x -> a -> y, so many microbatches."""
    x = tensor(8, 8)
    return netlist_of((queue("x", x, (0, 1)), queue("y", x, (2,), "output")), (relu("a", "x", x, PAIR[0]),), (("a", "y"),), count)


def test_memory_that_others_read_is_not_written_over() -> None:
    """z in the memory of x, which is read until the first op is through."""
    net = two_epochs(PAIR, Grid(0, 2, 2, 1))
    free, shared = net, replace(net, queues={**net.queues, "z": replace(net.queues["z"], buffers=net.queues["y"].buffers)})
    assert Clock(Traffic(shared), N150).overlaps == {"y": ["y", "z"], "z": ["y", "z"]}
    assert Clock(Traffic(free), N150).overlaps == {"y": ["y"], "z": ["z"]}
    assert run_cost(shared).device_cycles > run_cost(free).device_cycles


def test_waiting_moves_all_that_is_known() -> None:
    net = two_epochs(PAIR, PAIR[0])
    cost = run_cost(net)
    clock = Clock(Traffic(net), N150)
    clock.run([net.graphs["g"]], cost.epochs[0])
    before, written = clock.end, clock.written["y"]
    clock.wait(500.0)
    assert clock.end == before + 500.0
    assert (clock.written["y"].first, clock.written["y"].entries) == (written.first + 500.0, COUNT)
    assert min(core.free for core in clock.cores.values()) > 500.0


def test_cores_load_their_next_op_while_one_runs() -> None:
    """On the same cores an epoch begins without waiting for its program, unless firmware loads it later or L1 is full."""
    net = two_epochs(PAIR, PAIR[1])
    full = replace(net, chip=replace(net.chip, l1_usable_bytes=N150.program_bytes))  # beside buffers of the op that runs
    cost, later, none = (run_cost(n) for n in (net, with_kernels(net, "buda"), full))
    assert last_part(cost) == pytest.approx(cost.epochs[1].cycles + N150.start_cycles, rel=5e-3)
    for waiting, rates in ((later, BUDA), (none, N150)):
        assert last_part(waiting) == pytest.approx(last_part(cost) + rates.program_bytes / rates.absorb_core)


def test_epochs_beside_each_other_share_the_ways_from_dram() -> None:
    """Two epochs on cores of their own read more than DRAM sends in the time of either."""
    net = two_epochs(PAIR, Grid(0, 2, 2, 1))
    clock = Clock(Traffic(net), N150)
    cost = run_cost(net)
    busy = [replace(epoch, channel=epoch.interval, links=0.0) for epoch in cost.epochs]
    runs = [clock.run([net.graphs[name]], epoch) for name, epoch in zip(net.graphs, busy, strict=True)]
    assert clock.moved[0] > sum(taken_of(epoch) for epoch in busy) > 0
    assert runs[-1].end == clock.end >= clock.moved[0]
    alone = Clock(Traffic(net), N150)
    free = [alone.run([net.graphs[name]], epoch) for name, epoch in zip(net.graphs, cost.epochs, strict=True)]
    assert alone.end < clock.moved[0]
    assert free[0].end == pytest.approx(runs[0].end)

"""Epochs: pipelines, what ops share, forks and joins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest

from tests.runtime.perf.conftest import matmul, netlist_of, queue, relu, tensor
from ttc.dialects.core.machines.targets import load_target
from ttc.dialects.core.plain.functions import Function, Work
from ttc.dialects.netlist.model import Blocking, Buffer, Graph, Grid, Netlist, Op, Queue
from ttc.runtime.perf.epoch import WIDE_EPOCH, EpochCost, epoch_cost
from ttc.runtime.perf.rates import Rates, rates_of
from ttc.runtime.perf.traffic import Traffic

N150 = rates_of(load_target("n150"))


def cost_of(net: Netlist, rates: Rates = N150) -> EpochCost:
    return epoch_cost(list(net.graphs.values()), Traffic(net), rates, "wormhole_b0")


def test_the_slowest_op_sets_the_pace(pipeline: Callable[[int], Netlist]) -> None:
    one, ten, more = (cost_of(pipeline(count)) for count in (1, 10, 1000))
    a, b = one.ops
    assert (one.slowest, one.limit) == ("b", b.limit)
    assert b.total > 2 * a.total  # one core against four
    assert ten.interval == pytest.approx(b.total)
    assert b.total < one.fill < a.total + b.total + 1000  # blocks of a microbatch follow each other through the pipeline
    assert ten.cycles == pytest.approx(one.cycles + 9 * b.total, rel=1e-6)
    assert more.cycles == pytest.approx(one.cycles + 999 * b.total, rel=1e-6)
    assert more.simulated < 40
    assert more.steady
    assert ten.stall == 0


def test_ops_share_a_channel() -> None:
    x = tensor(64, 8)
    places = [Grid(0, 0, 4, 8), Grid(4, 0, 4, 8)]
    ops = [relu(name, name + "x", x, place) for name, place in zip("ab", places, strict=True)]
    queues = [queue("ax", x, (0,)), queue("bx", x, (0,)), queue("ay", x, range(4), "output"), queue("by", x, range(4), "output")]
    net = netlist_of(queues, ops, (("a", "ay"), ("b", "by")), 8)
    found = cost_of(net)
    bytes_ = 64 * 8 * 2080
    assert found.limit == "dram"
    assert found.channel == pytest.approx((2 * bytes_ + 2 * bytes_ / 4) / 44.5)
    assert found.interval == pytest.approx(found.channel)
    apart = cost_of(replace(net, queues=net.queues | {"bx": queue("bx", x, (1,))}))
    assert apart.interval < found.interval


def fork(short_tiles: int) -> Netlist:
    """x -> a; a and the product of a with itself meet in j.  The way around the product holds so many tiles."""
    x = tensor(4, 4)
    a = relu("a", "x", x, Grid(0, 0, 1, 1))
    a = replace(a, buffers=(a.buffers[0], Buffer("out", 2, 2080, 1)))
    w = matmul("m", ("a", "w"), (x, x, x), Grid(1, 0, 1, 1), 4)
    work = Function((x, x), (Work("tile.map", (0, 1), {"fn": "add"}, (x,)),), (2,))
    buffers = (Buffer("in0", 16, 2080), Buffer("in1", short_tiles, 2080), Buffer("out", 16, 2080))
    join = Op("j", "map", ("m", "a"), Grid(2, 0, 1, 1), Blocking(1, (4, 4), (1, 1)), work, buffers)
    queues = [queue("x", x), queue("w", x, kind="parameter", ram=True), queue("y", x, kind="output")]
    return netlist_of(queues, (a, w, join), (("j", "y"),), 8)


def test_a_join_whose_short_way_is_too_short_stands_still() -> None:
    found = cost_of(fork(2))
    assert found.jam is not None
    assert found.jam.pipe == ("'a'", "'j'")
    assert (found.jam.tiles, found.jam.needed_tiles) == (4, 14)  # the last two wait in the buffer of 'a'
    assert found.jam.circle == (
        "'a' waits for room in the buffers to 'j'",
        "'j' waits for data from 'm'",
        "'m' waits for data from 'a'",
    )
    assert found.jam.text().endswith("the buffers between 'a' and 'j' hold 4 tiles on a core and need 14")
    assert cost_of(fork(14)).jam is None


@pytest.mark.parametrize("field", ["clock_hz", "dram_channel", "link", "pipe"])
def test_a_better_machine_is_never_slower(field: str, pipeline: Callable[[int], Netlist]) -> None:
    net = pipeline(16)
    assert cost_of(net, replace(N150, **{field: 2 * getattr(N150, field)})).cycles <= cost_of(net).cycles + 1e-6


def test_more_microbatches_and_bytes_never_cost_less(pipeline: Callable[[int], Netlist]) -> None:
    cycles = [cost_of(pipeline(count)).cycles for count in (1, 2, 3, 5, 8, 40, 400)]
    assert cycles == sorted(cycles)

    def wide(format_: str) -> float:
        x = tensor(64, 8, format_)
        return cost_of(
            netlist_of((queue("x", x), queue("y", x, kind="output")), (relu("a", "x", x, Grid(0, 0, 8, 8)),), (("a", "y"),))
        ).cycles

    assert wide("Bfp8_b") < wide("Float16_b") < wide("Float32")


def on_a_row(chips: int, readers: int) -> tuple[Netlist, EpochCost]:
    """An op on the first chip of a row, joined by two links each, whose result so many of the others read, all in one epoch."""
    x = tensor(8, 8)
    graphs = [Graph("g0", 0, 1, (relu("a", "x", x, Grid(0, 0, 4, 4)),), (), epoch=0)]
    graphs += [Graph(f"g{c}", c, 1, (relu(f"b{c}", "a", x, Grid(0, 0, 4, 4)),), (), epoch=0) for c in range(1, chips)[-readers:]]
    net = netlist_of((queue("x", x),), (), ())
    machine = replace(net.chip, chips=chips, links=tuple((c, c + 1, 2) for c in range(chips - 1)))
    net = replace(net, chip=machine, graphs={graph.name: graph for graph in graphs})
    return net, epoch_cost(graphs, Traffic(net), N150, "wormhole_b0")


def test_each_step_between_chips_takes_its_time() -> None:
    fills = [on_a_row(chips, 1)[1].fill for chips in (2, 3, 4)]
    steps = [b - a for a, b in pairwise(fills)]
    assert steps == [pytest.approx(N150.eth_hop, rel=0.01)] * 2


def test_links_are_shared_by_what_passes_over_them() -> None:
    """Three chips read the same over the first link, which carries it three times; the last link carries it once."""
    one, three = (on_a_row(4, readers)[1] for readers in (1, 3))
    single = 64 * 2080 / (2 * N150.eth)
    assert (one.limit, three.limit) == ("eth", "eth")
    assert three.fill >= 3 * single > one.ops[1].eth >= single


def test_chips_beside_each_other_take_as_long_as_one() -> None:
    """A chain of 30 ops is one of as many steps where three other chips compute the same, which makes more than `WIDE_EPOCH` stages."""
    x = tensor(8, 4)
    names = [f"op{i}" for i in range(30)]
    ops = [relu(name, source, x, Grid(i // 8, i % 8, 1, 1)) for i, (name, source) in enumerate(zip(names, ["x", *names], strict=False))]
    net = netlist_of((queue("x", x), queue("y", x, kind="output")), ops, ((names[-1], "y"),))
    (graph,) = net.graphs.values()
    graphs: dict[str, Graph] = {}
    queues: dict[str, Queue] = {}
    for chip in range(4):
        new = {name: f"{name}_{chip}" for name in ("x", "y", *names)}
        own = tuple(replace(op, name=new[op.name], inputs=tuple(new[name] for name in op.inputs)) for op in graph.ops)
        writes = tuple((new[source], new[name]) for source, name in graph.writes)
        graphs[f"g{chip}"] = replace(graph, name=f"g{chip}", ops=own, chip=chip, writes=writes)
        queues |= {new[name]: replace(found, name=new[name], chip=chip) for name, found in net.queues.items()}
    several = cost_of(replace(net, graphs=graphs, queues=queues))
    assert len(several.ops) > WIDE_EPOCH > len(ops) + 2
    assert several.fill == cost_of(net).fill

"""Ways of weights from DRAM: routes, measured bandwidths that follow from them, and ports that keep ways apart."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.runtime.perf.conftest import matmul, netlist_of, queue, tensor
from ttc.dialects.core.machines.targets import load_target
from ttc.dialects.netlist.model import Grid
from ttc.runtime.perf.movement import crossing_rate
from ttc.runtime.perf.ports import Loading, Ways, has_ways, likely_rate, ports_of, rate_of, way
from ttc.runtime.perf.rates import rates_of
from ttc.runtime.perf.run import run_cost
from ttc.runtime.perf.traffic import Traffic

P150, N150 = load_target("p150"), load_target("n150")
ROW = Loading(Grid(0, 0, 1, 8), (1, 1), 8, 1, True, tuple(range(8)))
"""Eight cores of p150's first row, each of which reads a channel of its own."""


def test_noc_0_goes_right_and_down_and_noc_1_up_and_left() -> None:
    """A link is named by the node that it leaves: NoC, axis, row, column."""

    def numbers(*links: tuple[int, int, int, int]) -> tuple[int, ...]:
        return tuple(((2 * noc + axis) * 3 + y) * 4 + x for noc, axis, x, y in links)

    assert way((4, 3), 0, (3, 2), (1, 0)) == numbers((0, 0, 3, 2), (0, 0, 0, 2), (0, 1, 1, 2))
    assert way((4, 3), 1, (0, 0), (3, 2)) == numbers((1, 1, 0, 0), (1, 0, 0, 2))
    assert way((4, 3), 0, (1, 1), (1, 1)) == ()


def test_readers_in_one_row_get_what_was_measured() -> None:
    """tt-metal: 8 readers anywhere get 255 bytes a cycle over one NoC, as two answers share the links of each row of DRAM."""
    assert Ways(P150, ROW).rate(((0, 0),) * 8) == pytest.approx(255.0, rel=0.05)


def test_readers_beside_their_channels_get_what_was_measured() -> None:
    """tt-metal: one core in the row of each channel, and beside it, gets 371 of 8 channels."""
    for col, channels in ((0, (1, 1, 2, 3, 3, 3, 2, 2, 1, 0)), (7, (5, 5, 6, 7, 7, 7, 6, 6, 5, 4))):
        loading = Loading(Grid(0, col, 10, 1), (1, 1), 10, 1, True, channels)
        beside = [P150.dram_nodes[c].index((9 * (col > 0), y)) for c, y in zip(channels, P150.rows, strict=True)]
        rate = Ways(P150, loading).rate(tuple((0, port) for port in beside))
        assert rate == pytest.approx(10 / 3 * 371 / 8, rel=0.01)  # three of the ten in one channel


def test_ports_keep_ways_apart() -> None:
    ports = ports_of(P150, ROW)
    assert len(ports) == 8
    assert rate_of(P150, ROW, ports) == pytest.approx(371.0, rel=0.01)
    ways = Ways(P150, ROW)
    assert ways.rate(ports) * max(ways.busy.values()) <= 1.0  # no link is busier than the channels


def test_a_channel_that_sends_more_than_one_node_does_has_two_ports() -> None:
    loading = Loading(Grid(0, 0, 9, 8), (9, 1), 72, 1, True, tuple(range(6)))
    ports = ports_of(N150, loading)
    assert len(ports) == 12
    assert 128.0 < rate_of(N150, loading, ports) <= 267.0
    assert Ways(N150, loading).rate(ports[::2]) <= 6 * 23.2


def test_a_load_has_at_least_what_cores_anywhere_get() -> None:
    few = Loading(Grid(3, 3, 1, 2), (1, 1), 2, 1, True, tuple(range(8)))
    assert Ways(P150, few).rate(ports_of(P150, few)) < 256.0
    assert rate_of(P150, few, ports_of(P150, few)) == crossing_rate(rates_of(P150), 8) == 256.0


@pytest.mark.parametrize(
    ("loading", "members"),
    [
        (Loading(Grid(2, 3, 2, 2), (1, 1), 4, 1, True, (0,)), [[(2, 3)], [(2, 4)], [(3, 3)], [(3, 4)]]),
        (Loading(Grid(2, 3, 2, 2), (1, 1), 2, 2, True, (0,)), [[(2, 3), (3, 3)], [(2, 4), (3, 4)]]),
        (Loading(Grid(2, 3, 2, 3, True), (1, 1), 3, 2, True, (0,)), [[(2, 3), (2, 4)], [(3, 3), (3, 4)], [(4, 3), (4, 4)]]),
        (Loading(Grid(0, 0, 2, 2), (2, 1), 4, 1, True, (0,)), [[(0, 0)], [(0, 1)], [(1, 0)], [(1, 1)]]),
    ],
)
def test_cores_of_a_share(loading: Loading, members: list[list[tuple[int, int]]]) -> None:
    assert loading.members() == members


def test_what_several_cores_hold_is_read_once_and_multicast() -> None:
    """A second row of cores with the same shares takes links of NoC 1 alone."""
    one, two = (Ways(P150, Loading(Grid(0, 0, rows, 8), (1, 1), 8, rows, True, tuple(range(8)))) for rows in (1, 2))
    assert not one.busy
    assert len(two.busy) == 8
    assert sum(two.busy.values()) == pytest.approx(1 / two.flow)
    assert [len(flows) for flows in two.flows.values()] == [1] * 8


def test_shares_across_the_cut_come_from_every_buffer() -> None:
    across = replace(ROW, along=False)
    assert across.pieces(3, 8) == [(number, 1 / 64) for number in range(8)]
    assert ROW.pieces(3, 8) == [(3, 1 / 8)]
    thirds = [part for share in range(3) for part in ROW.pieces(share, 3)]
    assert len(thirds) == 10
    assert sum(part for _, part in thirds) == pytest.approx(1.0)
    assert rate_of(P150, across, ports_of(P150, across)) == pytest.approx(371.0, rel=0.01)


def test_what_is_likely_before_places_are_known() -> None:
    rates = rates_of(P150)
    assert likely_rate(rates, 8, 14) == pytest.approx(8 * rates.dram_channel)
    assert likely_rate(rates, 8, 2) == 256.0
    assert likely_rate(rates, 1, 14) == pytest.approx(rates.dram_channel)
    assert likely_rate(rates_of(N150), 6, 6) == pytest.approx(180.0)


def test_targets_of_which_nodes_are_not_known() -> None:
    assert has_ways(P150)
    assert not has_ways(replace(P150, dram_nodes=()))
    assert not has_ways(load_target("host"))


def test_a_netlist_with_ports_loads_faster() -> None:
    a, b, y = tensor(8, 64), tensor(64, 64), tensor(8, 64)
    op = matmul("m", ("a", "b"), (a, b, y), Grid(0, 0, 1, 8), inner=64)
    weights = queue("b", b, tuple(range(8)), kind="parameter", ram=True)
    plain = netlist_of((queue("a", a), weights, queue("y", y, kind="output")), (op,), (("m", "y"),), 2, "p150")
    (stream,) = [entry.stream for entry in Traffic(plain).inputs(op, plain.graphs["g"]) if entry.source == "b"]
    assert stream.held
    assert stream.load_rate == 0.0
    loading = Loading(Grid(0, 0, 1, 8), (1, 1), 8, 1, False, tuple(range(8)))
    routed = replace(plain, queues={**plain.queues, "b": replace(weights, ports=ports_of(P150, loading))})
    assert Traffic(routed).inputs(op, routed.graphs["g"])[1].stream.load_rate == pytest.approx(371.0, rel=0.01)
    gained = run_cost(plain).device_cycles - run_cost(routed).device_cycles
    assert gained == pytest.approx(stream.total_bytes * (1 / 256 - 1 / 370.4), rel=0.05)

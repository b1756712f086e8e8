"""Cost of single ops: which part limits them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.runtime.perf.conftest import matmul, netlist_of, queue, relu, tensor
from ttc.dialects.core.machines.targets import load_target
from ttc.dialects.netlist.model import Ethernet, Grid, Host, Netlist
from ttc.runtime.perf.costs import OpCost, movement_of, op_cost, overhead_cycles, tile_products
from ttc.runtime.perf.rates import rates_of
from ttc.runtime.perf.traffic import Traffic

N150 = rates_of(load_target("n150"))


def cost_of(net: Netlist, index: int = 0) -> OpCost:
    graph = net.graphs["g"]
    op = graph.ops[index]
    return op_cost(op, graph, movement_of(op, graph, Traffic(net), {}), N150, "wormhole_b0")


def test_one_channel_limits_many_cores() -> None:
    x = tensor(64, 8)
    net = netlist_of((queue("x", x, (0,)), queue("y", x, range(4), "output")), (relu("a", "x", x, Grid(0, 0, 8, 8)),), (("a", "y"),))
    found = cost_of(net)
    assert found.limit == "dram_in"
    assert found.dram_in == pytest.approx(64 * 8 * 2080 / 44.5)
    assert found.dram_out == pytest.approx(64 * 8 * 2080 / 128)
    assert found.total == pytest.approx(found.dram_in + overhead_cycles(N150, 1, 1))
    assert found.dram_bytes == 2 * 64 * 8 * 2080


def test_a_product_is_limited_by_its_engines() -> None:
    a, b, y = tensor(1, 32), tensor(32, 32), tensor(1, 32)
    net = netlist_of(
        (queue("a", a, (0,)), queue("b", b, range(4), "parameter", ram=True), queue("y", y, (2,), "output")),
        (replace(matmul("m", ("a", "b"), (a, b, y), Grid(0, 0, 1, 8), 32), fidelity="HiFi4"),),
        (("m", "y"),),
        2,
    )
    found = cost_of(net)
    assert found.limit in ("math", "unpack")
    assert found.core >= 4 * 32 * 64  # 128 products of 64 cycles on each core
    assert found.held_bytes == 32 * 32 * 2080
    assert found.products == 32 * 32 * 64
    assert found.flops == 32 * 32 * 2 * 32**3


def test_products_are_counted_without_padding() -> None:
    a, b, y = tensor(2, 3), tensor(3, 4), tensor(2, 4)
    assert tile_products(matmul("m", ("a", "b"), (a, b, y), Grid(0, 0, 1, 1))) == 24
    assert tile_products(relu("r", "x", a, Grid(0, 0, 1, 1))) == 0


def test_an_op_on_the_host_is_not_timed(pipeline: Callable[[int], Netlist]) -> None:
    net = pipeline(1)
    graph = replace(net.graphs["g"], ops=(replace(net.graphs["g"].ops[0], place=Host()), net.graphs["g"].ops[1]))
    found = cost_of(replace(net, graphs={"g": graph}))
    assert (found.place, found.total, found.limit) == ("host", 0.0, "host")


def test_an_op_that_passes_data_on_costs_its_links(pipeline: Callable[[int], Netlist]) -> None:
    net = pipeline(1)
    graph = net.graphs["g"]
    first = replace(graph.ops[1], name="e", inputs=("a",), place=Ethernet(1))
    graph = replace(graph, ops=(graph.ops[0], first))
    net = replace(net, graphs={"g": graph})
    traffic = Traffic(net)
    (entry,) = traffic.inputs(first, graph)
    assert (entry.stream.kind, entry.stream.total_bytes) == ("chip", 64 * 2080)
    sent = movement_of(first, graph, traffic, {"e": [("b", entry)]})
    found = op_cost(first, graph, sent, N150, "wormhole_b0")
    assert (found.place, found.limit) == ("ethernet", "eth")
    assert found.total == pytest.approx(64 * 2080 / (16 * 12.5))

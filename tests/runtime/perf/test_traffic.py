"""Streams of the ops of small netlists."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.runtime.perf.conftest import matmul, netlist_of, queue, relu, tensor, with_kernels
from ttc.dialects.core.plain.functions import Function, Work
from ttc.dialects.netlist.model import Blocking, Grid
from ttc.runtime.perf.reads import reads_of
from ttc.runtime.perf.traffic import Traffic, channels_of, run_of_tiles, senders, touched

TILE = 2080
"""Bytes of a tile of Float16_b."""


def test_a_product_multicasts_its_operands() -> None:
    a, b, y = tensor(8, 4), tensor(4, 8), tensor(8, 8)
    op = matmul("m", ("a", "b"), (a, b, y), Grid(0, 0, 4, 2))
    net = netlist_of((queue("a", a, (0, 1)), queue("b", b, (2,)), queue("y", y, (3,), "output")), (op,), (("m", "y"),))
    left, right = Traffic(net).inputs(op, net.graphs["g"])
    assert (left.stream.kind, left.stream.core_bytes, left.stream.total_bytes) == ("dram", 8 * TILE, 32 * TILE)
    assert (left.stream.cores, left.stream.copies, left.stream.channels) == (4, 2, 2)
    assert (right.stream.cores, right.stream.copies, right.stream.total_bytes) == (2, 4, 32 * TILE)
    (out,) = Traffic(net).outputs(op, net.graphs["g"])
    assert (out.target, out.stream.core_bytes, out.stream.total_bytes) == ("y", 8 * TILE, 64 * TILE)


@pytest.mark.parametrize(("inner", "count", "held"), [(1, 2, False), (4, 2, True), (4, 1, False)])
def test_a_constant_that_fits_is_loaded_once(inner: int, count: int, held: bool) -> None:
    """Before the first of several microbatches; for one alone it comes while the ops before its reader compute."""
    a, b, y = tensor(8, 4), tensor(4, 8), tensor(8, 8)
    op = matmul("m", ("a", "b"), (a, b, y), Grid(0, 0, 4, 2), inner)
    queues = (queue("a", a), queue("b", b, kind="parameter", ram=True), queue("y", y, kind="output"))
    net = netlist_of(queues, (op,), (("m", "y"),), count)
    assert Traffic(net).inputs(op, net.graphs["g"])[1].stream.held is held


def test_programs_with_pointers_say_what_is_loaded_once() -> None:
    a, b, y = tensor(8, 4), tensor(4, 8), tensor(8, 8)
    op = matmul("m", ("a", "b"), (a, b, y), Grid(0, 0, 4, 2))
    net = netlist_of((queue("a", a), queue("b", b, kind="parameter", ram=True), queue("y", y, kind="output")), (op,), (("m", "y"),))
    net = replace(net, positions="pointers")
    assert not Traffic(net).inputs(op, net.graphs["g"])[1].stream.held
    assert Traffic(net, frozenset({("g", "b")})).inputs(op, net.graphs["g"])[1].stream.held


def test_between_ops_data_passes_the_noc() -> None:
    x = tensor(8, 8)
    first, second = relu("a", "x", x, Grid(0, 0, 4, 1)), relu("b", "a", x, Grid(0, 1, 1, 1))
    net = netlist_of((queue("x", x), queue("y", x, kind="output")), (first, second), (("b", "y"),))
    (entry,) = Traffic(net).inputs(second, net.graphs["g"])
    assert (entry.source, entry.stream.kind, entry.stream.sources) == ("a", "core", 4)
    assert entry.stream.core_bytes == 64 * TILE
    assert entry.stream.send_bytes == 16 * TILE
    assert entry.capacity == 2.0


@pytest.mark.parametrize(
    ("cores", "parts", "tiles", "met"),
    [(4, 4, 8, 1), (4, 2, 8, 2), (4, 1, 8, 4), (2, 4, 8, 1), (3, 4, 12, 2), (4, 3, 12, 2), (1, 5, 10, 1)],
)
def test_cores_that_a_part_lies_on(cores: int, parts: int, tiles: int, met: int) -> None:
    assert touched(cores, 1 / parts, tiles) == met


def test_senders_of_a_gather() -> None:
    x = tensor(8, 8)
    first, second = relu("a", "x", x, Grid(0, 0, 2, 4)), relu("b", "a", x, Grid(2, 0, 4, 2))
    (read,) = reads_of(second)
    assert read is not None
    assert senders(first, read) == 1 * 2
    assert senders(first, replace(read, gathered=True)) == 1
    assert channels_of(queue("x", x, (0, 1, 1, 2))) == 3


@pytest.mark.parametrize(
    ("blocking", "tiles"),
    [
        (Blocking(1, (4, 3), (1, 2)), 6),
        (Blocking(1, (4, 3), (1, 2), "c"), 2),
        (Blocking(1, (4, 3), (2, 2)), 2),
    ],
)
def test_tiles_that_lie_one_after_another(blocking: Blocking, tiles: int) -> None:
    assert run_of_tiles(blocking) == tiles


def test_a_packet_is_what_lies_together_and_is_read_together() -> None:
    a, b, y = tensor(8, 3), tensor(3, 8), tensor(8, 8)
    op = matmul("m", ("a", "b"), (a, b, y), Grid(0, 0, 4, 4))
    net = netlist_of((queue("a", a), queue("b", b), queue("y", y, kind="output")), (op,), (("m", "y"),))
    left, right = Traffic(net).inputs(op, net.graphs["g"])
    assert (left.stream.packet_bytes, right.stream.packet_bytes) == (3 * TILE, 2 * TILE)
    (out,) = Traffic(net).outputs(op, net.graphs["g"])
    assert out.stream.packet_bytes == 2 * TILE


@pytest.mark.parametrize(("kernels", "packet"), [("buda", 32 * 2), ("fused", 4 * 32 * 2)])
def test_a_result_in_rows_leaves_a_core_row_by_row(kernels: str, packet: int) -> None:
    """Each row of a tile by itself where the reference's firmware untilizes, rows of all columns of a core otherwise."""
    x = tensor(8, 8)
    rows = replace(x, layout="rows")
    op = relu("a", "x", x, Grid(0, 0, 1, 2))
    op = replace(op, work=Function((x,), (Work("tile.map", (0,), {"fn": "relu"}, (rows,)),), (1,)))
    queues = (queue("x", x), replace(queue("y", x, kind="output", location="host"), tensor=rows))
    net = with_kernels(netlist_of(queues, (op,), (("a", "y"),)), kernels)
    (out,) = Traffic(net).outputs(op, net.graphs["g"])
    assert (out.stream.kind, out.stream.packet_bytes) == ("host", packet)

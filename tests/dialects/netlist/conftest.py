"""A small valid netlist for a chip of 4 x 4 cores, and one for the host."""

from __future__ import annotations

from typing import Any

import pytest

from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.dialects.netlist.model import Argument, Blocking, Buffer, Chip, Graph, Grid, Host, Instruction, Netlist, Op, Program, Queue

TILE_BYTES = 32 * 32 * 4 + 32
HEADER = 32
"""Bytes before the entries of a buffer of a queue."""
SHAPE = (1, 64, 128)
TILED = TensorType(SHAPE, "Float32", "tiles(32, 32)")
ROWS = TensorType(SHAPE, "Float32")
BASE = 1 << 20

CHIP = Chip(
    target="small", arch="wormhole_b0", chips=1, grid=(4, 4), tile=(32, 32), l1_usable_bytes=1 << 20, dst_tiles=8, dram_channels=2,
    dram_channel_bytes=1 << 30, dram_reserved_bytes=BASE, alignment_bytes=32, max_input_queues=4, formats=("Float32", "Float16_b", "Int32"),
)  # fmt: skip
HOST = Chip("host", "host", 1, None, None, 0, 0, 0, 0, 0, 64, 0, ("Float32", "Float64", "Int64", "Bool"))


def unary(type_: TensorType, op: str) -> Function:
    return Function((type_,), (Work(op, (0,), {}, (type_,)),), (1,))


def fused_add(type_: TensorType) -> Function:
    """relu(a + 0.5 * b) in one region."""
    half = TensorType((), "Float32")
    body = Function(
        (type_, type_),
        (
            Work("ttc.constant", (), {"values": (0.5,)}, (half,)),
            Work("tile.mul", (1, 2), {}, (type_,)),
            Work("tile.add", (0, 3), {}, (type_,)),
            Work("tile.relu", (4,), {}, (type_,)),
        ),
        (5,),
    )
    return Function((type_, type_), (Work("tile.fused", (0, 1), {}, (type_,), body, ("add", "relu")),), (2,))


def queue(name: str, kind: str, addresses: tuple[tuple[int, int], ...], **fields: Any) -> Queue:
    """Over 2 x 2 buffers of 1 x 2 tiles, in DRAM, with two entries."""
    given = {
        "type": "queue", "source": "HOST", "tensor": TILED, "entries": 2, "location": "dram", "chip": 0, "grid": (2, 2),
        "blocking": Blocking(1, (1, 1), (1, 2)), "buffers": addresses, "buffer_bytes": HEADER + 2 * 2 * TILE_BYTES,
    }  # fmt: skip
    return Queue(name=name, kind=kind, **{**given, **fields})


def spread(slot: int) -> tuple[tuple[int, int], ...]:
    """Addresses of four buffers over two channels."""
    size = HEADER + 2 * 2 * TILE_BYTES
    return tuple((i % 2, BASE + (2 * slot + i // 2) * size) for i in range(4))


def device_op(name: str, inputs: tuple[str, ...], work: Function, row: int) -> Op:
    tile = TILE_BYTES
    buffers = [Buffer(f"in{i}", 4, tile, 2) for i in range(len(inputs))] + [Buffer("out", 2, tile, 2), Buffer("intermed", 1, tile)]
    return Op(name, "fused", inputs, Grid(row, 0, 2, 2), Blocking(1, (1, 1), (1, 2)), work, tuple(buffers), cycles=9, location=("node",))


@pytest.fixture
def netlist() -> Netlist:
    """Two epochs joined by an edge queue; a parameter; a state that a second program counts up; `e` and `y` share bytes with nobody."""
    first = Graph("first", 0, 2, (device_op("a", ("x", "w"), fused_add(TILED), 0),), (("a", "e"),))
    second = Graph(
        "second", 0, 2,
        (device_op("b", ("e",), unary(TILED, "tile.relu"), 0), device_op("c", ("b",), unary(TILED, "tile.exp"), 2)), (("c", "y"),),
    )  # fmt: skip
    count = Graph("count", 0, 1, (device_op("d", ("s",), unary(TILED, "tile.neg"), 0),), (("d", "s"),))
    one_entry = {"type": "ram", "entries": 1, "buffer_bytes": HEADER + 2 * TILE_BYTES}
    queues = [
        queue("x", "input", spread(0), lifetime=(0, 0)),
        queue("w", "parameter", spread(1), key="w", **one_entry),
        queue("s", "state", spread(2), key="s0", **one_entry),
        queue("e", "edge", spread(3), source="a", lifetime=(0, 1)),
        queue("y", "output", spread(0), source="c", lifetime=(1, 1)),
    ]
    forward = Program(
        "forward",
        (Argument("x", "input", "x", (2, 64, 128), "float32", streamed=True),),
        (Argument("y", "output", "y", (2, 64, 128), "float32", streamed=True),),
        (Instruction("execute", ("first",)), Instruction("execute", ("second",))),
    )
    step = Program(
        "step", (), (Argument("s", "state", "s", SHAPE, "float32", updates="s"),),
        (Instruction("var", ("$n", 3)), Instruction("loop", ("$n",)), Instruction("execute", ("count",)), Instruction("endloop")),
    )  # fmt: skip
    graphs = {g.name: g for g in (first, second, count)}
    return Netlist(CHIP, {q.name: q for q in queues}, graphs, {"forward": forward, "step": step})


@pytest.fixture
def host_netlist() -> Netlist:
    """One graph on the host, in row layout."""
    flat = {"location": "host", "grid": (1, 1), "blocking": None, "tensor": ROWS, "buffer_bytes": 2 * 64 * 128 * 4}
    queues = [
        queue("x", "input", ((0, 0),), **flat),
        queue("y", "output", ((0, 2 * 64 * 128 * 4),), source="a", **flat),
    ]
    graph = Graph("main", 0, 2, (Op("a", "exp", ("x",), Host(), None, unary(ROWS, "nn.exp")),), (("a", "y"),))
    argument = Argument("x", "input", "x", (2, 64, 128), "float32", streamed=True)
    result = Argument("y", "output", "y", (2, 64, 128), "float32", streamed=True)
    program = Program("forward", (argument,), (result,), (Instruction("execute", ("main",)),))
    return Netlist(HOST, {q.name: q for q in queues}, {"main": graph}, {"forward": program})

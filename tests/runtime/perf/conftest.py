"""Small placed netlists, made by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from ttc.dialects.core.machines.targets import load_target
from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.dialects.netlist.chips import chip
from ttc.dialects.netlist.model import Blocking, Buffer, Chip, Graph, Grid, Instruction, Netlist, Op, Program, Queue

LAYOUT = "tiles(32, 32)"


def tensor(rows: int, cols: int, format_: str = "Float16_b") -> TensorType:
    """A matrix of so many tiles."""
    return TensorType((32 * rows, 32 * cols), format_, LAYOUT)


def queue(
    name: str, type_: TensorType, channels: Sequence[int] = (0,), kind: str = "input", ram: bool = False, location: str = "dram"
) -> Queue:
    """A queue cut by rows into a buffer for each channel named."""
    rows, cols = type_.tile_dims()[1:]
    blocking = Blocking(1, (rows // len(channels), cols), (1, 1))
    buffers = tuple((channel, 0) for channel in channels)
    source = "HOST" if kind in ("input", "parameter", "constant") else "op"
    return Queue(
        name, kind, "ram" if ram else "queue", source, type_, 1 if ram else 1000, location, 0, (len(channels), 1), blocking, buffers, 0
    )  # pyright: ignore[reportArgumentType]


def relu(name: str, source: str, type_: TensorType, place: Grid, copies: int = 2) -> Op:
    """A map over a matrix, a row of blocks at a time on each core."""
    rows, cols = type_.tile_dims()[1:]
    share = (rows // place.rows, cols // place.cols)
    work = Function((type_,), (Work("tile.map", (0,), {"fn": "relu"}, (type_,)),), (1,))
    buffers = (Buffer("in0", share[0] * share[1], 2080, copies), Buffer("out", share[0] * share[1], 2080, copies))
    return Op(name, "map", (source,), place, Blocking(1, share, (1, 1)), work, buffers)


def matmul(name: str, sources: tuple[str, str], types: tuple[TensorType, TensorType, TensorType], place: Grid, inner: int = 1) -> Op:
    """A product that holds `inner` tiles of K of each operand at a time."""
    rows, cols = types[2].tile_dims()[1] // place.rows, types[2].tile_dims()[2] // place.cols
    depth = types[0].tile_dims()[2]
    work = Function(types[:2], (Work("tile.matmul", (0, 1), {"transpose_a": False, "transpose_b": False}, (types[2],)),), (2,))
    buffers = (Buffer("in0", rows * inner, 2080, 2), Buffer("in1", cols * inner, 2080, 2), Buffer("out", rows * cols, 2080, 2))
    return Op(name, "matmul", sources, place, Blocking(1, (rows, cols), (1, 1)), work, buffers, inner=(depth // inner, inner))


def netlist_of(
    queues: Sequence[Queue], ops: Sequence[Op], writes: Sequence[tuple[str, str]], count: int = 1, target: str = "n150"
) -> Netlist:
    """One graph and a program that runs it once."""
    machine: Chip = chip(load_target(target))
    graph = Graph("g", 0, count, tuple(ops), tuple(writes))
    program = Program("forward", (), (), (Instruction("execute", ("g",)),))
    return Netlist(machine, {q.name: q for q in queues}, {"g": graph}, {"forward": program})


def with_kernels(netlist: Netlist, kernels: str) -> Netlist:
    """The same netlist for a chip with another set of kernels, and the firmware that goes with it."""
    return replace(netlist, chip=replace(netlist.chip, kernels=kernels))


@pytest.fixture
def pipeline() -> Callable[[int], Netlist]:
    """x -> a -> b -> y for a number of microbatches: 8 x 8 tiles, a on four cores, b on one."""

    def made(count: int) -> Netlist:
        x = tensor(8, 8)
        ops = (relu("a", "x", x, Grid(0, 0, 4, 1)), relu("b", "a", x, Grid(0, 1, 1, 1)))
        return netlist_of((queue("x", x, (0, 1)), queue("y", x, (2,), "output")), ops, (("b", "y"),), count)

    return made

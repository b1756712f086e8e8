"""Figures of a netlist."""

from __future__ import annotations

from dataclasses import replace

from ttc.dialects.core.plain.functions import Function, TensorType
from ttc.dialects.netlist.model import Chip, Graph, Grid, Host, Netlist, Op, Queue
from ttc.reports.netlist_summary import summarize

CHIP = Chip("n150", "wormhole_b0", 1, (9, 8), (32, 32), 1 << 20, 8, 2, 1 << 30, 0, 32, 39, ("Float32",))
TYPE = TensorType((2, 3), "Float32")
NOTHING = Function((), (), ())


def op(name: str, place: Grid | Host, cycles: int = 0) -> Op:
    return Op(name, "fused", (), place, None, NOTHING, cycles=cycles)


def queue(name: str, buffers: tuple[tuple[int, int], ...], location: str = "dram") -> Queue:
    return Queue(name, "edge", "queue", "HOST", TYPE, 1, location, 0, (1, len(buffers)), None, buffers, 100)  # pyright: ignore[reportArgumentType]


def netlist() -> Netlist:
    first = Graph("e0", 0, 4, (op("a", Grid(0, 0, 2, 3), 10), op("b", Grid(2, 0, 1, 2, transposed=True), 20), op("c", Host())), ())
    second = Graph("e1", 0, 1, (op("d", Grid(0, 0, 4, 5), 7),), ())
    queues = [queue("q0", ((0, 0), (1, 0))), queue("q1", ((0, 50),)), queue("q2", ((0, 300),)), queue("h", ((0, 0),), "host")]
    return Netlist(CHIP, {q.name: q for q in queues}, {g.name: g for g in (first, second)})


def test_epochs_and_cores() -> None:
    found = summarize(netlist())
    assert [(e.name, e.ops, e.host_ops, e.cores, e.input_count, e.cycles) for e in found.epochs] == [
        ("e0", 3, 1, 8, 4, 80),
        ("e1", 1, 0, 20, 1, 7),
    ]
    assert (found.ops, found.queues, found.grid_cores, found.cores_used, found.cores_mean) == (4, 4, 72, 20, 14.0)


def test_shared_addresses_count_once() -> None:
    found = summarize(netlist())
    assert found.dram_bytes == {0: 250, 1: 100}
    assert found.host_bytes == 100


def test_a_netlist_that_nobody_checked() -> None:
    plain = netlist()
    odd = replace(plain, chip=replace(plain.chip, dram_channels=1 << 40, alignment_bytes=0))
    found = summarize(replace(odd, queues=odd.queues | {"q2": replace(odd.queues["q2"], buffers=((-5, -7),))}))
    assert len(found.dram_bytes) == 1025
    assert found.memory[0].peak_bytes == 250


def test_memory_of_each_chip() -> None:
    """Ranges are rounded to whole units of alignment; channels count for all chips together."""
    plain = netlist()
    other = replace(plain.queues["q1"], chip=1)
    found = summarize(replace(plain, queues=plain.queues | {"q1": other}))
    assert [(use.chip, use.peak_bytes, use.bound_bytes) for use in found.memory] == [(0, 428 + 128, 384), (1, 178, 128)]
    assert (found.chips, found.dram_bytes) == (2, {0: 300, 1: 100})

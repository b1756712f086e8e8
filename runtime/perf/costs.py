"""The cost of one op of a placed netlist: its engines, and the streams into and out of its cores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ttc.dialects.core.plain.functions import TensorType, Work
from ttc.dialects.netlist.model import Ethernet, Graph, Grid, Host, Op
from ttc.runtime.perf.base import PHASES
from ttc.runtime.perf.movement import Kind, Stream, stream_cycles
from ttc.runtime.perf.op import op_cycles
from ttc.runtime.perf.rates import Rates
from ttc.runtime.perf.reads import tiles_of
from ttc.runtime.perf.traffic import OpInput, OpOutput, Traffic, grid_cores

LIMITS = ("math", "unpack", "pack", "dram_in", "noc_in", "host_in", "dram_out", "noc_out", "host_out", "eth")
"""What can limit an op, in the order in which ties are broken."""
PRODUCT_FLOPS = 2 * 32 * 32 * 32
"""Floating point operations of a product of two tiles."""
PHASE_CYCLES = 16.0
"""Cycles of the matrix engine for a tile product, a phase of the multiplier."""


@dataclass(frozen=True, slots=True)
class StreamCost:
    """The cost of one input or output of an op.  way: `in` or `out`; end: the queue or op at the other end; cycles: that it takes by
    itself.

    The rest as in `Stream`.
    """

    way: str
    end: str
    kind: str
    core_bytes: float
    total_bytes: float
    cores: int
    sources: int
    copies: int
    channels: int
    packet_bytes: float
    held: bool
    load_rate: float
    cycles: float


@dataclass(frozen=True, slots=True)
class OpCost:
    """Cycles of an op for one microbatch, on its busiest core.

    Args:
        place: `grid`, `host` or `ethernet`; chip, row, col, rows, cols: where; cores: how many.
        math, unpack, pack: of the engines; core: of them together, overlapped, with handshakes.
        dram_in, noc_in, host_in: of the streams into a core, from DRAM, from other ops, from the host.
        dram_out, noc_out, host_out: of those out of it; eth: between chips.
        overhead: of every microbatch, for pointers and handshakes.
        total: all of it overlapped, overhead added.  limit: which part decides; `host` for an op that is not timed.
        dram_bytes: read and written for one microbatch, whole chip; held_bytes: loaded before the first one.
        products: cycles of the matrix engines for the op's tile products at its fidelity, all cores together; flops: of the products.
        streams: its inputs, and the queues it writes.
        l1_bytes: of its buffers on one core.
    """

    name: str
    type: str
    location: tuple[str, ...]
    place: str
    chip: int
    row: int
    col: int
    rows: int
    cols: int
    cores: int
    math: float = 0.0
    unpack: float = 0.0
    pack: float = 0.0
    core: float = 0.0
    dram_in: float = 0.0
    noc_in: float = 0.0
    host_in: float = 0.0
    dram_out: float = 0.0
    noc_out: float = 0.0
    host_out: float = 0.0
    eth: float = 0.0
    overhead: float = 0.0
    total: float = 0.0
    limit: str = "host"
    dram_bytes: float = 0.0
    held_bytes: float = 0.0
    products: float = 0.0
    flops: float = 0.0
    streams: tuple[StreamCost, ...] = ()
    l1_bytes: int = 0

    @property
    def busy(self) -> float:
        """The cycles that a core needs besides what DRAM and the host bring or take: engines and the NoC."""
        return max(self.core, self.noc_in, self.noc_out, self.eth) + self.overhead


@dataclass(frozen=True, slots=True)
class OpStreams:
    """The streams of one op: its inputs, the queues it writes, and what it sends to other ops."""

    inputs: tuple[OpInput, ...]
    outputs: tuple[OpOutput, ...]
    sends: tuple[Stream, ...]


def movement_of(op: Op, graph: Graph, traffic: Traffic, readers: dict[str, list[tuple[str, OpInput]]]) -> OpStreams:
    """Return the streams of an op.  readers: of each op, the inputs that read it."""
    inputs = () if isinstance(op.place, Host) else tuple(traffic.inputs(op, graph))
    outputs = tuple(traffic.outputs(op, graph)) if isinstance(op.place, Grid) else ()
    return OpStreams(inputs, outputs, tuple(entry.stream for _, entry in readers.get(op.name, ())))


def op_cost(op: Op, graph: Graph, moved: OpStreams, rates: Rates, arch: str) -> OpCost:
    """Return the cost of an op with its streams."""
    if isinstance(op.place, Host):
        return OpCost(op.name, op.type, op.location, "host", graph.chip, 0, 0, 0, 0, 0)
    if isinstance(op.place, Ethernet):
        sent = sum(stream_cycles(rates, stream) for stream in moved.sends if stream.kind == "chip")
        return OpCost(op.name, op.type, op.location, "ethernet", graph.chip, 0, 0, 0, 0, 0, eth=sent, total=sent, limit="eth")
    engines = op_cycles(op, arch)
    ins, outs = [entry.stream for entry in moved.inputs], [entry.stream for entry in moved.outputs]
    absorbed = sum(stream.core_bytes for stream in ins if not stream.held) / rates.absorb_core
    parts = {
        "dram_in": _slowest(rates, ins, "dram"),
        "noc_in": max(_slowest(rates, ins, "core"), absorbed),
        "host_in": _slowest(rates, ins, "host"),
        "dram_out": _slowest(rates, outs, "dram"),
        "noc_out": sum(stream.send_bytes for stream in moved.sends if stream.kind == "core") / rates.inject_core,
        "host_out": _slowest(rates, outs, "host"),
        "eth": _by_sides(rates, [stream for stream in (*ins, *outs) if stream.kind == "chip"]),
    }
    longest = max(engines.core, *parts.values())
    overhead = overhead_cycles(rates, len(ins), len(outs))
    every = {"math": engines.math, "unpack": engines.unpack, "pack": engines.pack}
    shown = parts if longest > engines.core else every
    limit = max(LIMITS, key=lambda name: shown.get(name, -1.0))
    products = tile_products(op)
    return OpCost(
        op.name,
        op.type,
        op.location,
        "grid",
        graph.chip,
        op.place.row,
        op.place.col,
        *((op.place.cols, op.place.rows) if op.place.transposed else (op.place.rows, op.place.cols)),
        grid_cores(op),
        **every,
        core=engines.core,
        **parts,
        overhead=overhead,
        total=longest + overhead,
        limit=limit,
        dram_bytes=sum(s.total_bytes for s in (*ins, *outs) if s.kind == "dram" and not s.held),
        held_bytes=sum(s.total_bytes for s in ins if s.held),
        products=products * PHASE_CYCLES * PHASES.get(op.fidelity, 4),
        flops=products * PRODUCT_FLOPS,
        streams=tuple(
            [_stream_cost("in", entry.source, entry.stream, rates) for entry in moved.inputs]
            + [_stream_cost("out", entry.target, entry.stream, rates) for entry in moved.outputs]
        ),
        l1_bytes=sum(buffer.size_bytes for buffer in op.buffers),
    )


def _stream_cost(way: str, end: str, stream: Stream, rates: Rates) -> StreamCost:
    return StreamCost(
        way,
        end,
        stream.kind,
        stream.core_bytes,
        stream.total_bytes,
        stream.cores,
        stream.sources,
        stream.copies,
        stream.channels,
        stream.packet_bytes,
        stream.held,
        stream.load_rate,
        stream_cycles(rates, stream),
    )


def overhead_cycles(rates: Rates, inputs: int, outputs: int) -> float:
    """Return cycles of a microbatch that no engine and no stream takes: handshakes of each pipe, pointers of each queue."""
    return rates.microbatch_cycles + rates.pipe_cycles * (inputs + outputs)


def _slowest(rates: Rates, streams: list[Stream], kind: Kind) -> float:
    return max((stream_cycles(rates, stream) for stream in streams if stream.kind == kind), default=0.0)


def _by_sides(rates: Rates, streams: Sequence[Stream]) -> float:
    """Return the cycles that the busiest links of an op's chip take for what passes to and from other chips, one after the other."""
    sides: dict[int, float] = {}
    for stream in streams:
        sides[stream.side] = sides.get(stream.side, 0.0) + stream_cycles(rates, stream)
    return max(sides.values(), default=0.0)


# ---- tile products -----------------------------------------------------------------------------------------------------------------------


def tile_products(op: Op) -> float:
    """Return the products of two tiles that an op needs for a microbatch, all cores together, padding not counted."""
    types = op.work.value_types
    return sum(_products(work, [None if v is None else types[v] for v in work.operands]) for work in op.work.works)


def _products(work: Work, operands: list[TensorType | None]) -> float:
    name = work.op.partition(".")[2]
    if not work.results or len(operands) < 2 or operands[0] is None or operands[1] is None:
        return 0.0
    left, right, result = operands[0], operands[1], work.results[0]
    if name == "matmul" and len(left.shape) >= 2:
        inner = left.shape[-2] if work.attrs.get("transpose_a") else left.shape[-1]
        summed = left.shape[-3] if work.attrs.get("accumulate") and len(left.shape) > 2 else 1
        return tiles_of(result) * -(-inner // 32) * summed
    if name in ("conv2d", "conv_transpose2d") and len(right.shape) == 4:
        height, width, channels, _ = right.shape
        groups = work.attrs.get("groups")
        if channels == 1 and isinstance(groups, int) and groups > 1:
            return 0.0
        return tiles_of(result) * max(height * width * channels / 32, 1.0)
    if name == "attention" and operands[1] is not None and len(left.shape) >= 2:
        rows = tiles_of(left) / -(-left.shape[-1] // 32)
        keys, depth, width = (-(-n // 32) for n in (right.shape[-2], left.shape[-1], result.shape[-1]))
        return rows * keys * (depth + width)
    return 0.0

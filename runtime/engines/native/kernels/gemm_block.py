"""Register blocks: the inner loops of all matrix products.

A block of `rows` x `vectors` accumulators stays in registers while it runs over taps and channels: for each channel it loads `vectors`
vectors of the packed right operand, and spreads one element of each row of the left one.  Measured on a core of AMD Zen 4 at 3.68 GHz
(118 GFLOP/s of float32 FMA; vectors of 16), in percent of that peak, with right operands from main memory:

    rows x columns      M128 K768 N768    M128 K3072 N768    3x3 56x56x64    3x3 14x14x256    1x1 56x56x64    1x1 14x14x1024-256
    6 x 64                   97                 94                97              98               91                98
    8 x 48                   97                 93                65              85               57                86
    12 x 32                  98                 87                97              98               82                88
    14 x 32                  97                 80                97              98               82                73

Wide blocks win: with few rows, each a stream of its own, rows at strides of 4 KB do not fight for the ways of the first-level cache, and
the hardware prefetchers keep up with all streams: explicit prefetching of the next panel cost 1 to 6 percent with 128 rows.  bfloat16
pairs (vdpbf16ps) reach 94 to 98 percent of twice that peak with the same blocks.

Where few rows meet weights from memory, multiplications that wait for them fill the CPU's scheduler, so that it no longer asks for what
comes next: two rows read 34 GB/s where one reads 45, six 19.  Such rows are one block, if there is one of so many rows, and panels are
fetched (`Ahead`).  Milliseconds of twelve products with weights of 768 x 3072 in turns, two cores of an Intel Xeon, AVX-512, without and
with it:

    rows    2            4            8           12            16            32
        3.3 - 2.6    4.4 - 3.0    5.8 - 3.2    7.6 - 3.7    9.5 - 6.4    13.5 - 10.3

With vectors of 8 and 16 registers, a core of AMD Zen 3 multiplies at 92 to 98 percent of its peak where the right operand is near, but
waits for panels that come from memory: there the next panel is fetched, a part with each block of rows, while one is multiplied
(`Ahead`).  Percent of peak on two cores, whole layers of networks with right operands from memory, without and with it:

    M128 K768 N768    M128 K3072 N768    M64 K768 N3072    M64 K3072 N768    1x1 14x14x256-1024
        76 - 85             79 - 84            76 - 81           69 - 78             69 - 77
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain
from operator import and_
from typing import TYPE_CHECKING, Literal, TypeAlias

from ttc.runtime.engines.native.graph.tensors import ALIGNMENT

if TYPE_CHECKING:
    from ttc.runtime.engines.native.codegen.features import Cpu
    from ttc.runtime.engines.native.ir.values import LocalVariable, Value
    from ttc.runtime.engines.native.ir.writer import Writer

Multiplier: TypeAlias = Literal["f32", "bf16"]
"""How products are added: f32 by fused multiply-add; bf16 by sums of two products of bfloat16, in float32 (vdpbf16ps: denormals count as
zero).
"""

SPAN = 256
"""Products that are added up one after the other; longer sums are sums of such.  The error of a sum of n numbers grows with the length of
its longest chain: against torch, ResNet-50 is 7.7e-7 off with one chain a sum, 2.5e-7 with chains of 512, 2.2e-7 with 256, 2.1e-7 with 64
(onnxruntime: 2.2e-7).  Chains of 256 cost 1 percent of the time, and 3 to 4 percent where vectors have 32 bytes."""
LONG_SPAN = 4096
"""The products that are added up one after the other at precisions below float32: GPT-2 is 1.8e-6 off, instead of 9.4e-7 (OpenVINO:
1.4e-6).
"""

_ROWS = {32: {1: 14, 2: 12, 3: 8, 4: 6}, 16: {1: 8, 2: 6, 3: 4}}
"""By number of vector registers and vectors of a row: rows, so that sums, one row of the right operand and one spread element fit."""
_COST = {1: 1.2, 2: 1.03, 3: 1.02, 4: 1.0}
"""Time per column of a block that many vectors wide, against the widest."""


@dataclass(frozen=True)
class Block:
    """A block of accumulators: at most rows x vectors, each a vector of `lanes` float32; all blocks have `rows` rows or one less."""

    rows: int
    vectors: int
    lanes: int

    @property
    def counts(self) -> tuple[int, ...]:
        """The numbers of rows that code is made for."""
        return (self.rows - 1, self.rows) if self.rows > 1 else (1,)

    @property
    def columns(self) -> int:
        """The columns of a panel of the right operand."""
        return self.vectors * self.lanes

    @property
    def bytes(self) -> int:
        """The bytes of the accumulators in memory."""
        return self.rows * self.columns * 4

    def fitted(self, rows: int) -> Block:
        """Return a block of this width, of a height at which equal parts of so many rows are of `counts`."""
        return replace(self, rows=-(-rows // -(-rows // self.rows)))

    def panels(self, columns: int) -> int:
        """Return how many panels hold so many columns."""
        return -(-columns // self.columns)


def block_for(cpu: Cpu, rows: int, columns: int, *, is_near: bool = True) -> Block:
    """Return the block that computes so many rows and columns at the least cost, padding included.

    is_near: whether the right operand lies in caches; what comes from memory is read once, by one block of all rows, if there is such a
    block.
    """
    blocks = _blocks(cpu)
    whole = [block for block in blocks if block.rows >= rows and block.columns * 4 >= ALIGNMENT] if not is_near else []
    return min(whole or blocks, key=lambda block: _cost(block, columns)).fitted(rows)


def narrow_block(cpu: Cpu, rows: int, columns: int) -> Block:
    """Return a register block for few rows, which all meet a panel at once: panels are narrow, so that several threads have some."""
    lanes = max(cpu.vector_bytes // 4, 4)
    vectors = min(2, -(-columns // lanes))
    return next(block for block in _blocks(cpu) if block.vectors == max(vectors, 1)).fitted(max(rows, 1))


def cost_of(cpu: Cpu, columns: int) -> float:
    """Return the time of a row of so many columns: that of as many in the widest blocks, padding included."""
    return min(_cost(block, columns) for block in _blocks(cpu))


def _blocks(cpu: Cpu) -> list[Block]:
    """Return blocks that a CPU has registers for, the widest first."""
    lanes = max(cpu.vector_bytes // 4, 4)
    wide = cpu.vector_bytes == 64 or cpu.arch == "aarch64"
    return [Block(rows, vectors, lanes) for vectors, rows in reversed(_ROWS[32 if wide else 16].items())]


def _cost(block: Block, columns: int) -> float:
    return block.panels(columns) * block.columns * _COST[block.vectors]


@dataclass(frozen=True)
class Operands:
    """Where the values of one block come from.

    Args:
        rows: addresses of the left operand's rows, given a tap (an i64); float32, or bfloat16 with multiplier `bf16`.
        panel: address of the right operand's panel: for each tap and channel (pair of channels), a row of the block's columns.
        taps, depth: i64; channels of each tap, or pairs of channels with multiplier `bf16`.
        ahead: what is fetched meanwhile.
        span: products that are added up one after the other at most, but for a tap's.
        zeros: address of a row of zeros: a tap at which all rows are that one is passed over.
        step: float32 from one channel of a row to the next, an i64; None: they lie one after the other.  For `emit_block` alone.
    """

    rows: Callable[[Value], Sequence[Value]]
    panel: Value
    taps: Value
    depth: Value
    ahead: Ahead | None = None
    span: int = SPAN
    zeros: Value | None = None
    step: Value | None = None

    def depth_at(self, f: Writer, rows: Sequence[Value]) -> Value:
        """Return the channels that are multiplied at a tap, given the rows there."""
        if self.zeros is None:
            return self.depth
        outside = [row.equals(self.zeros) for row in rows]
        return f.select(reduce(and_, outside), 0, self.depth)


@dataclass(frozen=True)
class Ahead:
    """Memory that is brought into the second-level cache while sums are computed.

    Args:
        start: address of its first byte.
        step: bytes of it for each channel (pair of channels), an i64.
        lines: cache lines from there on that are fetched for each channel.
    """

    start: Value
    step: Value
    lines: int = 1


def fetches_panels(cpu: Cpu) -> bool:
    """Return whether products fetch panels before they are multiplied."""
    return cpu.vector_bytes == 32


def emit_block(f: Writer, block: Block, count: int, operands: Operands, multiplier: Multiplier) -> list[list[Value]]:
    """Emit sums of products of `count` rows; returns one list of vectors a row."""
    zero = f.constant(0.0, "f32", block.lanes)
    sums = [[f.variable(zero) for _ in range(block.vectors)] for _ in range(count)]
    panel = f.variable(operands.panel)
    with f.loop(0, operands.taps) as tap:
        rows = operands.rows(tap)
        with f.loop(0, operands.depth) as k:
            place = k if operands.step is None else k * operands.step
            _step(f, sums, rows, place, panel.get(), multiplier)
            panel.set(f.at(panel.get(), block.columns, "f32"))
    return [[variable.get() for variable in row] for row in sums]


def emit_kept(f: Writer, block: Block, sums: Sequence[Sequence[Value]], target: Value, begins: Value) -> None:
    """Put the vectors of a block of sums into memory, row by row of its columns, or, unless it `begins`, add them to what is there."""
    places = [f.at(target, r * block.columns + v * block.lanes, "f32") for r in range(len(sums)) for v in range(block.vectors)]
    with f.choice(begins) as (put, add):
        with put:
            for value, place in zip(chain(*sums), places, strict=True):
                f.store(value, place)
        with add:
            for value, place in zip(chain(*sums), places, strict=True):
                f.store(f.load(place, "f32", block.lanes) + value, place)


def emit_sums(
    f: Writer, block: Block, count: int, operands: Operands, multiplier: Multiplier, target: Value, direct: Direct | None = None
) -> Value:
    """Emit sums into memory, row by row of the block's columns; long ones in spans, so that their rounding errors stay small.

    direct: a condition, and what is done with short sums under it instead.  Gives whether they are in memory.
    """
    zero = f.constant(0.0, "f32", block.lanes)
    sums = [[f.variable(zero) for _ in range(block.vectors)] for _ in range(count)]
    places = [[f.at(target, r * block.columns + v * block.lanes, "f32") for v in range(block.vectors)] for r in range(count)]
    panel, since = f.variable(operands.panel), f.variable(f.constant(0, "i64"))
    fetched = f.variable(operands.panel if operands.ahead is None else operands.ahead.start)
    kept = f.variable(f.constant(0, "i1"))
    with f.loop(0, operands.taps) as tap:
        rows = operands.rows(tap)
        depth = operands.depth_at(f, rows)
        panel.set(f.at(operands.panel, tap * operands.depth * block.columns, "f32"))
        with f.loop(0, depth, operands.span) as start:
            with f.when(since.get() >= operands.span):
                _keep(f, sums, places, kept.get())
                _each(sums, places, lambda total, _: total.set(zero))
                kept.set(f.constant(1, "i1"))
                since.set(0)
            end = f.smaller(start + operands.span, depth)
            with f.loop(start, end) as k:
                _step(f, sums, rows, k, panel.get(), multiplier)
                panel.set(f.at(panel.get(), block.columns, "f32"))
                if operands.ahead is not None:
                    _fetch(f, fetched, operands.ahead)
            since.set(since.get() + (end - start))
    stored = f.variable(f.constant(1, "i1"))
    if direct is None:
        _keep(f, sums, places, kept.get())
        return stored.get()
    with f.choice(direct.condition & kept.get().equals(0)) as (use, put):
        with use:
            direct.act([[total.get() for total in row] for row in sums])
            stored.set(f.constant(0, "i1"))
        with put:
            _keep(f, sums, places, kept.get())
    return stored.get()


def _fetch(f: Writer, place: LocalVariable, ahead: Ahead) -> None:
    for line in range(ahead.lines):
        f.prefetch(f.at(place.get(), line * ALIGNMENT, "i8"), 2)
    place.set(f.at(place.get(), ahead.step, "i8"))


def _keep(f: Writer, sums: list[list[LocalVariable]], places: list[list[Value]], kept: Value) -> None:
    """Put sums into memory: added to those that are `kept` there, if they are."""
    with f.choice(kept) as (more, first):
        with more:
            _each(sums, places, lambda total, place: f.store(f.load(place, "f32", total.type.lanes) + total.get(), place))
        with first:
            _each(sums, places, lambda total, place: f.store(total.get(), place))


@dataclass(frozen=True)
class Direct:
    """What is done with the vectors of sums of each row while they are in registers, under a condition."""

    condition: Value
    act: Callable[[list[list[Value]]], None]


def _each(sums: list[list[LocalVariable]], places: list[list[Value]], act: Callable[[LocalVariable, Value], None]) -> None:
    for row, row_places in zip(sums, places, strict=True):
        for total, place in zip(row, row_places, strict=True):
            act(total, place)


def _step(f: Writer, sums: list[list[LocalVariable]], rows: Sequence[Value], k: Value, panel: Value, multiplier: Multiplier) -> None:
    """One channel, or pair of channels, at place k of each row."""
    lanes = sums[0][0].type.lanes
    dtype = "f32" if multiplier == "f32" else "u32"
    right = [f.load(f.at(panel, v * lanes, dtype), dtype, lanes) for v in range(len(sums[0]))]
    for row, address in zip(sums, rows, strict=True):
        left = f.spread(f.load(f.at(address, k, dtype), dtype), lanes)
        for total, b in zip(row, right, strict=True):
            total.set(f.fma(left, b, total.get()) if multiplier == "f32" else _pairs(f, total.get(), left, b))


def _pairs(f: Writer, total: Value, a: Value, b: Value) -> Value:
    """total + the products of the two bfloat16 in each lane of a and b."""
    from ttc.runtime.engines.native.ir.bfloat import dot_pairs

    return dot_pairs(f, total, a, b)

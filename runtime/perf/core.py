"""Cycles of one primitive on one core.

Three engines work at the same time on different blocks: unpackers, math, packer.  For each ublock the slowest of them counts; what a
block costs whatever it does is the handshake between them.  The streams that bring operands and take results run beside all of it.

Rules in `CYCLES` take the work and the measured figures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from ttc.dialects.core.formats import format_named
from ttc.dialects.core.rule_tables import RuleTable
from ttc.runtime.perf.base import PHASES
from ttc.runtime.perf.functions import ENGINE
from ttc.runtime.perf.table import FigureTable, family, table
from ttc.runtime.perf.work import CoreWork, OpCycles, overlapped

CYCLES: RuleTable[Callable[[CoreWork, FigureTable], OpCycles]] = RuleTable("rule of cycles")
"""What gives the cycles of a primitive, an op of Buda's vocabulary, by primitive; functions are applied to a stream of tiles."""


@lru_cache(maxsize=1 << 16)
def core_cycles(work: CoreWork, arch: str) -> OpCycles:
    """Return cycles of a primitive for one input."""
    return modelled(work, table(arch))


def modelled(work: CoreWork, figures: FigureTable) -> OpCycles:
    """Return the cycles of one core's work, modelled under given figures.  Raises E0901 for a primitive without a rule."""
    return CYCLES[work.op](work, figures)


@CYCLES.rule(*ENGINE)
def cycles_of_stream(work: CoreWork, f: FigureTable) -> OpCycles:
    """Return the cycles of a function of each tile: nop, unary, binary, quantization, splice."""
    n, blocks = work.ublock_tiles, work.blocks
    block, tile = math_of(work, f)
    math = blocks * (block + n * tile + n * after(work, f))
    unpack = _handshakes(work, f, blocks, n)
    operands = [_bytes(name) * work.tiles for name in work.inputs]
    if len(operands) > 1 and (ENGINE.get(work.op) == "vector" or "Int32" in work.inputs):
        return _through_register(work, f, (math, unpack, work.tiles * f["stream.tile"]), sum(operands))
    return _joined(work, f, math, unpack, work.tiles * f["stream.tile"], operands, work.tiles)


def _through_register(work: CoreWork, f: FigureTable, engines: tuple[float, float, float], size: float) -> OpCycles:
    """Both operands pass one unpacker into the destination register, where the vector engine computes: these overlap less."""
    math, unpack, pack = engines
    unpack = max(unpack, size / f["stream.pipe"])
    core = overlapped(overlapped(math, unpack, exponent=f["vector.overlap"]), pack)
    return _finished(work, f, (math, unpack, pack, core), [], work.tiles)


@CYCLES.rule("reduce")
def cycles_of_reduce(work: CoreWork, f: FigureTable) -> OpCycles:
    """Return the cycles of a maximum along a dimension; blocks are those of the operand for rows and columns, those of the result along
    z.
    """
    if work.dim == "z":
        return _reduce_z(work, f)
    (m, n), (rt, ct) = work.mblock, work.ublock
    results = work.t * (n if work.dim == "r" else m)  # ublocks of the result
    width = ct if work.dim == "r" else rt
    math = work.blocks * width * f[f"reduce_{work.dim}.line"] + work.tiles * f[f"reduce_{work.dim}.tile"]
    pack = _handshakes(work, f, results, width)
    faster = f["stream.pipe"] / f["reduce.pipe"]  # what comes in without anything to go out
    return _joined(work, f, math, work.tiles * f["stream.tile"], pack, [work.tiles * _bytes(work.inputs[0]) * faster], results * width)


def _reduce_z(work: CoreWork, f: FigureTable) -> OpCycles:
    """The first of z tiles is copied to the destination register, each other one read beside it and compared."""
    size = _bytes(work.inputs[0])
    compared = (work.z - 1) * (f["reduce_z.tile"] + size / f["reduce_z.read"])
    math = work.blocks * f["reduce_z.block"] + work.tiles * (compared + size / f["reduce.pipe"])
    unpack = work.tiles * work.z * f["stream.tile"]
    pack = _handshakes(work, f, work.blocks, work.ublock_tiles)
    return _joined(work, f, math, unpack, pack, [work.tiles * work.z * size], work.tiles)


@CYCLES.rule("matmul")
def cycles_of_matmul(work: CoreWork, f: FigureTable) -> OpCycles:
    """Return the cycles of tile products over K; partial sums are reloaded for every outer block of K, or added in L1."""
    (m_k, u_kt), (rt, ct), blocks = work.inner, work.ublock, work.blocks
    n, kind = rt * ct, family(work.intermediate)
    math = blocks * (m_k * u_kt * (n * f["matmul.product"] * PHASES[work.fidelity] + f["matmul.k"]) + n * after(work, f))
    unpack = blocks * m_k * u_kt * (n * _bytes(work.inputs[1]) / f["matmul.unpack"] + f["matmul.k"])
    pack = _handshakes(work, f, blocks, n)
    if m_k > 1 and work.l1_acc:
        return _accumulated(work, f, math, unpack, pack)
    reload_ = blocks * (m_k - 1) * (f.best("spill", "block", kind) + n * f.best("spill", "tile", kind))
    core = overlapped(overlapped(math, unpack) + work.tiles * f["matmul.out"], pack) + reload_
    return _finished(work, f, (math, unpack + reload_, pack + reload_, core), _operands(work, f), work.tiles)


def _accumulated(work: CoreWork, f: FigureTable, math: float, unpack: float, pack: float) -> OpCycles:
    """Partial sums added in L1: the packer, which shares L1 with the unpackers, works in every outer block of K."""
    kind, n, m_k = family(work.intermediate), work.ublock_tiles, work.inner[0]
    sums = work.blocks * m_k * (f.best("l1_acc", "block", kind) + n * f.best("l1_acc", "tile", kind))
    last = work.blocks * (f["l1_acc.last_block"] + n * f["l1_acc.last_tile"])
    core = overlapped(math, overlapped(unpack, sums, exponent=f["l1_acc.overlap"])) + last
    return _finished(work, f, (math, unpack, max(sums, pack) + last, core), _operands(work, f), work.tiles)


def _operands(work: CoreWork, f: FigureTable) -> list[float]:
    """Return bytes of both operands of a product, as many more as their pipes are slower than those of a stream."""
    (m, n), (rt, ct), k_tiles = work.mblock, work.ublock, work.inner[0] * work.inner[1]
    slower = work.t * k_tiles * f["stream.pipe"] / f["matmul.pipe"]
    return [m * rt * _bytes(work.inputs[0]) * slower, n * ct * _bytes(work.inputs[1]) * slower]


@CYCLES.rule("sparse_matmul")
def cycles_of_sparse_matmul(work: CoreWork, f: FigureTable) -> OpCycles:
    """Return the cycles of a selection: decoding of strips and blocks, products with tiles that are not zero, reloads of partial sums."""
    strips, ublocks, tiles = work.sparse or (1, 1, 1)
    (rt, ct), (m, n) = work.ublock, work.mblock
    decode = strips * m * f["sparse.index"] + ublocks * f["sparse.ublock"] + strips * f["sparse.strip"]
    math = tiles * n * ct * (f["sparse.product"] + f["sparse.phase"] * PHASES[work.fidelity])
    reload_ = ublocks * n * (f["sparse.reload_block"] + ct * rt * f["sparse.reload"]) if work.inner[0] > 1 else 0.0
    pack = _handshakes(work, f, work.blocks, work.ublock_tiles)
    return _finished(work, f, (math, decode + reload_, pack, decode + math + reload_ + pack), [], work.tiles)


@CYCLES.rule("depthwise")
def cycles_of_depthwise(work: CoreWork, f: FigureTable) -> OpCycles:
    """Return the cycles of a product with a diagonal tile a tap."""
    taps, n = work.inner[0], work.ublock_tiles
    math = work.blocks * (taps * (f["depthwise.block"] + n * f["depthwise.product"] * PHASES[work.fidelity]) + n * after(work, f))
    unpack = work.tiles * taps * 2 * f["stream.tile"]
    pack = _handshakes(work, f, work.blocks, n)
    return _joined(work, f, math, unpack, pack, [work.tiles * taps * _bytes(work.inputs[0])], work.tiles)


def math_of(work: CoreWork, f: FigureTable) -> tuple[float, float]:
    """Return cycles of a ublock and of a tile of a function, in its variant; a copy has none besides its stream's."""
    if work.op == "nop":
        return 0.0, 0.0
    variants = (*(("approx",) if work.approximate else ()), *_formats(work))
    block, tile = f.best(work.op, "block", *variants), f.best(work.op, "tile", *variants)
    if work.vector == "rc" or ENGINE.get(work.op) != "vector":
        return block, tile
    return block, f["vector.tile"] + tile * f[f"vector.{work.vector}"]


def after(work: CoreWork, f: FigureTable) -> float:
    """Return cycles for each tile of the functions that are applied to the result in the destination register."""
    variants = ("approx",) if work.approximate else ()
    return sum(f.best(name, "tile", *variants) for name in work.then if name != "nop")


def _formats(work: CoreWork) -> tuple[str, ...]:
    return ("int8",) if any(family(name) == "int8" for name in work.inputs) else ()


def _handshakes(work: CoreWork, f: FigureTable, blocks: float, tiles: float) -> float:
    """Return cycles of the engines' handing blocks of so many tiles to each other, and of moving the tiles themselves."""
    formats = _formats(work)
    return blocks * (f.best("stream", "block", *formats) + tiles * f.best("stream", "tile", *formats))


def _joined(work: CoreWork, f: FigureTable, math: float, unpack: float, pack: float, operands: Sequence[float], tiles: float) -> OpCycles:
    return _finished(work, f, (math, unpack, pack, overlapped(math, unpack, pack)), operands, tiles)


def _finished(
    work: CoreWork, f: FigureTable, engines: tuple[float, float, float, float], operands: Sequence[float], tiles: float
) -> OpCycles:
    """With the start of an input, and the pipes beside the engines.

    engines: cycles of math, unpack, pack, and of all three.  operands: bytes of each stream that comes in.  tiles: of the result.
    """
    math, unpack, pack, core = engines
    if work.local:
        return OpCycles(math, unpack, pack, 0.0, core, core)
    pipes = max((*(size / f["stream.pipe"] for size in operands), tiles * _bytes(work.output) / f["stream.result"]))
    core += f["input"]
    return OpCycles(math, unpack, pack, pipes, core, overlapped(core, pipes))


@lru_cache(maxsize=64)
def _bytes(format_: str) -> int:
    return format_named(format_).tile_bytes(32, 32, 32)

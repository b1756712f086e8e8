"""Cycles of one primitive on one core.

Three engines work at the same time on different blocks: unpackers, math, packer.  For each ublock the slowest of them counts; what a
block costs whatever it does is the handshake between them.  The streams that bring operands and take results run beside all of it.

A rule is a function `cycles_of_<kind>(work, figures)`; ops without a rule of their own are functions applied to a stream of tiles.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from ttc.dialects.core.formats import format_named
from ttc.runtime.perf.base import PHASES
from ttc.runtime.perf.functions import ENGINE
from ttc.runtime.perf.table import Table, family, table
from ttc.runtime.perf.work import CoreWork, OpCycles, overlapped

Rule = Callable[[CoreWork, Table], OpCycles]


@lru_cache(maxsize=1 << 16)
def core_cycles(work: CoreWork, arch: str) -> OpCycles:
    """Cycles of a primitive for one input."""
    return modelled(work, table(arch))


def modelled(work: CoreWork, figures: Table) -> OpCycles:
    """The same, under given figures."""
    rule: Rule = _RULES.get(work.op, cycles_of_stream)
    return rule(work, figures)


def cycles_of_stream(work: CoreWork, f: Table) -> OpCycles:
    """A function of each tile: nop, unary, binary, quantization, splice."""
    n, blocks = work.ublock_tiles, work.blocks
    block, tile = math_of(work, f)
    math = blocks * (block + n * tile + n * after(work, f))
    unpack = blocks * (f.best("stream", "block", *_formats(work)) + n * f.best("stream", "tile", *_formats(work)))
    operands = [_bytes(name) * work.tiles / f["stream.pipe"] for name in work.inputs]
    if ENGINE.get(work.op) == "vector" or "Int32" in work.inputs:  # both operands pass the same unpacker, to the destination register
        operands = [sum(operands)] if operands else []
    return _joined(work, f, math, unpack, blocks * n * f["stream.tile"], [*operands, _bytes(work.output) * work.tiles / f["stream.pipe"]])


def cycles_of_reduce(work: CoreWork, f: Table) -> OpCycles:
    """The maximum along a dimension; every tile of the operand counts."""
    blocks, n = work.blocks, work.ublock_tiles
    name = f"reduce_{work.dim}"
    if work.dim == "z":
        math = work.z * (blocks * f[f"{name}.block"] + work.tiles * f[f"{name}.tile"]) + (f[f"{name}.z"] if work.z > 1 else 0.0)
        tiles_in = work.z * work.tiles
    else:
        along = work.inner[0] * work.inner[1]
        math = blocks * (work.inner[0] * f[f"{name}.block"] + n * along * f[f"{name}.tile"])
        tiles_in = work.tiles * along
    pipes = [_bytes(work.inputs[0]) * tiles_in / f["stream.pipe"], _bytes(work.output) * work.tiles / f["stream.pipe"]]
    return _joined(work, f, math, tiles_in * f["stream.tile"], work.tiles * f["stream.tile"], pipes)


def cycles_of_matmul(work: CoreWork, f: Table) -> OpCycles:
    """Tile products over K; partial sums are reloaded for every outer block of K, or added in L1."""
    (m_k, u_kt), (rt, ct), blocks = work.inner, work.ublock, work.blocks
    n, steps = rt * ct, m_k * u_kt
    product, kind = f["matmul.product"] * PHASES[work.fidelity], family(work.inputs[1])
    math = blocks * (steps * (n * product + f["matmul.k"]) + n * after(work, f))
    unpack = blocks * steps * (n * _bytes(work.inputs[1]) / f["matmul.unpack"] + f["matmul.k"])
    spill = f"matmul.l1_acc.{kind}" if work.l1_acc else f"matmul.spill.{kind}"
    reload_ = blocks * (m_k - 1) * (f[f"{spill}.block"] + n * f[f"{spill}.tile"])
    pack = blocks * (f["stream.block"] + n * f["stream.tile"])
    rows, columns = work.t * work.mblock[0] * rt * steps, work.t * work.mblock[1] * ct * steps
    pipes = [
        rows * _bytes(work.inputs[0]) / f["matmul.pipe"],
        columns * _bytes(work.inputs[1]) / f["matmul.pipe"],
        work.tiles * _bytes(work.output) / f["stream.pipe"],
    ]
    found = overlapped(math, unpack, pack) + reload_
    return _finished(work, f, math, unpack + reload_, pack + reload_, found, pipes)


def cycles_of_sparse_matmul(work: CoreWork, f: Table) -> OpCycles:
    """Decoding of strips and blocks, products with the tiles that are not zero, reloads of partial sums."""
    strips, ublocks, tiles = work.sparse or (1, 1, 1)
    (rt, ct), (m, n) = work.ublock, work.mblock
    decode = strips * m * f["sparse.index"] + ublocks * f["sparse.ublock"] + strips * f["sparse.strip"]
    math = tiles * n * ct * (f["sparse.product"] + f["matmul.product"] * PHASES[work.fidelity])
    reload_ = ublocks * n * (f["sparse.reload_block"] + ct * rt * f["sparse.reload"]) if work.inner[0] > 1 else 0.0
    pack = work.blocks * f["stream.block"] + work.tiles * f["sparse.pack"]
    core = decode + math + reload_ + pack
    pipes = [work.tiles * _bytes(work.output) / f["stream.pipe"]]
    return _finished(work, f, math, decode + reload_, pack, core, pipes)


def cycles_of_depthwise(work: CoreWork, f: Table) -> OpCycles:
    """A product with a diagonal tile a tap."""
    taps, n = work.inner[0], work.ublock_tiles
    math = work.blocks * (taps * (f["depthwise.block"] + n * f["depthwise.product"] * PHASES[work.fidelity]) + n * after(work, f))
    unpack = work.blocks * taps * 2 * n * f["stream.tile"]
    pack = work.blocks * (f["stream.block"] + n * f["stream.tile"])
    pipes = [
        work.tiles * taps * _bytes(work.inputs[0]) / f["stream.pipe"],
        work.tiles * _bytes(work.output) / f["stream.pipe"],
    ]
    return _joined(work, f, math, unpack, pack, pipes)


def math_of(work: CoreWork, f: Table) -> tuple[float, float]:
    """Cycles of a ublock and of a tile of a function, in its variant; a copy has none besides its stream's."""
    if work.op == "nop":
        return 0.0, 0.0
    variants = (*(("approx",) if work.approximate else ()), *_formats(work))
    block, tile = f.best(work.op, "block", *variants), f.best(work.op, "tile", *variants)
    if work.vector == "rc" or ENGINE.get(work.op) != "vector":
        return block, tile
    return block, f["vector.tile"] + tile * f[f"vector.{work.vector}"]


def after(work: CoreWork, f: Table) -> float:
    """Cycles a tile of functions applied to the result in the destination register."""
    return sum(f.best(name, "tile") for name in work.then if name != "nop")


def _formats(work: CoreWork) -> tuple[str, ...]:
    kinds = {family(name) for name in work.inputs} & {"int8", "int32"}
    return ("int32",) if "int32" in kinds else tuple(kinds)


def _joined(work: CoreWork, f: Table, math: float, unpack: float, pack: float, pipes: list[float]) -> OpCycles:
    return _finished(work, f, math, unpack, pack, overlapped(math, unpack, pack), pipes)


def _finished(work: CoreWork, f: Table, math: float, unpack: float, pack: float, core: float, pipes: list[float]) -> OpCycles:
    """With the start of an input, and the pipes beside the engines."""
    if work.local:
        return OpCycles(math, unpack, pack, 0.0, core, core)
    longest = max(pipes, default=0.0)
    core += f["input"]
    return OpCycles(math, unpack, pack, longest, core, overlapped(core, longest))


@lru_cache(maxsize=64)
def _bytes(format_: str) -> int:
    return format_named(format_).tile_bytes(32, 32, 32)


_RULES: dict[str, Rule] = {name.removeprefix("cycles_of_"): rule for name, rule in list(globals().items()) if name.startswith("cycles_of_")}

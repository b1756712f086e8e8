"""Inputs of ops that only make sense if they fit each other: codes of sparse matrices, and numbers of rows of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.plain.functions import Function, Work
from ttc.dialects.core.tiling.arrays import SIDE
from ttc.dialects.core.tiling.sparse_codes import HEADER_WORDS, TILE_WORDS, Codes
from ttc.dialects.netlist.model import Netlist, Op
from ttc.stimulus.rules import StimulusRule

SPARSE, LOOKUP = "tile.encoded_matmul", "tile.lookup"


@dataclass(frozen=True)
class SparseMatrices:
    """The matrices whose codes a queue holds.

    Args:
        cores: rows of cores, and fractures, each with codes of its own.
        matrices: of each core.  columns: of tiles in each matrix.  tiles: distinct ones that a core has.
        codes: how words read.
    """

    cores: tuple[int, int]
    matrices: int
    columns: int
    tiles: int
    codes: Codes


@dataclass(frozen=True)
class Fitting:
    """The queues, by name, of codes of sparse matrices; of the tiles of such; and of numbers of rows of a table, with how many rows it
    has.
    """

    codes: Mapping[str, SparseMatrices]
    tiles: frozenset[str]
    indices: Mapping[str, int]


def fitting(netlist: Netlist) -> Fitting:
    """Return what the ops of a netlist expect of the queues that they read directly, or through a repetition."""
    codes: dict[str, SparseMatrices] = {}
    tiles: set[str] = set()
    indices: dict[str, int] = {}
    for op in (op for graph in netlist.graphs.values() for op in graph.ops):
        for work in op.work.works:
            if work.op == SPARSE:
                for name, matrices in _sparse(op, work, netlist):
                    codes.setdefault(name, matrices)
                tiles |= {name for name, _ in _origin(op, work, 0, netlist)}
            elif work.op == LOOKUP:
                table = op.work.value_types[work.operands[0] or 0]
                for name, _ in _origin(op, work, 1, netlist):
                    rows = table.elements // table.shape[-1]
                    indices[name] = min(rows, indices.get(name, rows))
    return Fitting(codes, frozenset(tiles), indices)


def draw_codes(matrices: SparseMatrices, rule: StimulusRule | None, shape: tuple[int, ...], generator: np.random.Generator) -> NDArray:
    """Return an entry of codes, uint32 [1, rows, columns].

    Args:    rule: `sparse_encoding` says how often strips, blocks and tiles are zero; otherwise each row of tiles has one that is not.
    Zeros where the cores do not get whole tiles: the product then says what is wrong.
    """
    rows, fractures = matrices.cores
    _, high, wide = shape
    if high % (rows * SIDE) or wide % (fractures * SIDE):
        return np.zeros(shape, np.uint32)
    found = np.zeros((rows, high // rows, fractures, wide // fractures), np.uint32)
    for i in range(rows):
        for j in range(fractures):
            words = _encoded(matrices, rule, high // rows * (wide // fractures) // (SIDE * SIDE), generator)
            found[i, :, j] = _tiled(words, high // rows, wide // fractures)
    return found.reshape(1, high, wide)


# ---- which queue is what -----------------------------------------------------------------------------------------------------------------


def _origin(op: Op, work: Work, operand: int, netlist: Netlist) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the queue that an operand of a work comes from, with the operand's shape; nothing if that is no queue."""
    value = work.operands[operand]
    if value is None:
        return
    shape = op.work.value_types[value].shape
    source = _source(op.work, value)
    if source is not None and op.inputs[source] in netlist.queues:
        yield op.inputs[source], shape


def _source(function: Function, value: int) -> int | None:
    """Return the input that a value comes from through works of one operand."""
    producers: list[Work] = [work for work in function.works for _ in work.results]
    while value >= len(function.inputs):
        operands = producers[value - len(function.inputs)].operands
        if len(operands) != 1 or operands[0] is None:
            return None
        value = operands[0]
    return value


def _sparse(op: Op, work: Work, netlist: Netlist) -> Iterator[tuple[str, SparseMatrices]]:
    types = op.work.value_types
    attrs = work.attrs
    tiles, x = (types[work.operands[i] or 0] for i in (0, 1))
    grid, fractures = attrs["grid"], attrs["fractures"]
    layout = Codes(*(int(str(attrs[name])) for name in ("mblock_m", "u_rt", "u_kt", "tile_bits", "ublock_bits")))
    if not isinstance(grid, tuple) or not isinstance(fractures, int):
        return
    for name, shape in _origin(op, work, 2, netlist):
        held = netlist.queues[name].tensor.shape
        cores = (max(int(str(grid[0])) * held[-2] // shape[-2], 1), max(fractures * held[-1] // shape[-1], 1))
        columns = x.shape[0] * x.shape[1] // SIDE
        yield name, SparseMatrices(cores, work.results[0].shape[0], columns, tiles.shape[2] // SIDE // fractures, layout)


# ---- codes -------------------------------------------------------------------------------------------------------------------------------


def _encoded(matrices: SparseMatrices, rule: StimulusRule | None, room: int, generator: np.random.Generator) -> NDArray:
    """Words of 16 bits that fill `room` tiles of codes; each matrix gets a share, strips for which that is too little are left out."""
    words = np.zeros(room * TILE_WORDS, np.uint16)
    at, last = 0, 0
    for matrix in range(matrices.matrices):
        left = matrices.matrices - matrix
        room_end = min(at + (len(words) - at) // left, len(words) - HEADER_WORDS * (left + room))
        written = False
        for strip, body, blocks in (*_strips(matrices, rule, generator), (0, [], 0)):
            begin = at if at % TILE_WORDS + HEADER_WORDS + len(body) <= TILE_WORDS else -(-at // TILE_WORDS) * TILE_WORDS
            end = begin + HEADER_WORDS + len(body)
            if len(body) + HEADER_WORDS > TILE_WORDS or end > (room_end if body else len(words)) or (written and not body):
                continue
            if begin != at:
                words[last + 1] |= 1 << 15
            words[begin:end] = [strip & 0xFFFF, strip >> 16, blocks, *body]
            at, last, written = end, begin, True
        words[last + 1] |= 1 << 14
    return words


def _strips(matrices: SparseMatrices, rule: StimulusRule | None, generator: np.random.Generator) -> Iterator[tuple[int, list[int], int]]:
    """(column, words, blocks that are not zero) of each strip of a matrix that is not zero."""
    codes = matrices.codes
    filled = _filled(matrices, rule, generator)
    distinct = min(matrices.tiles, 1 << codes.tile_bits)
    most = (1 << (16 - codes.ublock_bits)) - 1
    for strip in range(filled.shape[1] // codes.u_kt):
        part = filled[:, strip * codes.u_kt : (strip + 1) * codes.u_kt].reshape(codes.mblock_m, codes.u_rt, codes.u_kt)
        body: list[int] = []
        blocks = 0
        for block in np.flatnonzero(part.any(axis=(1, 2))).tolist():
            places = np.argwhere(part[block])[:most]
            chosen = generator.integers(0, distinct, len(places))
            body.append(len(places) << codes.ublock_bits | block)
            where = places[:, 0] << codes.column_bits | places[:, 1]
            body.extend((chosen << (16 - codes.tile_bits) | where).tolist())
            blocks += 1
        if blocks:
            yield strip, body, blocks


def _filled(matrices: SparseMatrices, rule: StimulusRule | None, generator: np.random.Generator) -> NDArray:
    """Return which tiles of a matrix are not zero: bool [rows, columns], in tiles."""
    codes = matrices.codes
    strips = matrices.columns // codes.u_kt
    rows, columns = codes.mblock_m * codes.u_rt, strips * codes.u_kt
    if rule is None or rule.kind != "sparse_encoding":
        return generator.integers(0, max(columns, 1), rows)[:, None] == np.arange(columns)
    kept = generator.random((1, 1, strips, 1)) >= rule.number("strips")
    kept = kept & (generator.random((codes.mblock_m, 1, strips, 1)) >= rule.number("blocks"))
    kept = kept & (generator.random((codes.mblock_m, codes.u_rt, strips, codes.u_kt)) >= rule.number("tiles"))
    return kept.reshape(rows, columns)


def _tiled(words: NDArray, rows: int, columns: int) -> NDArray:
    """Words as the tiles of [rows, columns] hold them, one tile after another."""
    tiles = words.astype("<u2").view("<u4").reshape(rows // SIDE, columns // SIDE, SIDE, SIDE)
    return tiles.transpose(0, 2, 1, 3).reshape(rows, columns)

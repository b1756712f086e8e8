"""Selections of rows that our compiler makes: as sparse matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.kernels.selection import selected_rows
from ttc.dialects.core.plain.functions import Plain, TensorType
from ttc.dialects.core.tiling.arrays import SIDE
from ttc.dialects.core.tiling.sparse_codes import Elements, Encoded, encoded
from ttc.dialects.netlist.buda.form import Tm
from ttc.dialects.netlist.buda.work.families import READS
from ttc.dialects.netlist.buda.work.read_tms import tile_dims
from ttc.dialects.netlist.buda.work.reading import Operand, Parts, Reading
from ttc.dialects.netlist.buda.work.shared import ImpliedConstant
from ttc.dialects.netlist.model import Blocking, Grid

MAX_ELEMENTS = 1 << 24
"""Bound on the rows that a selection reads."""
MAX_INNER = 8
"""Tiles of a strip at most, unless the op says how many."""


def read(work: Reading) -> Parts:
    """Read a selection of rows as a sparse product: the matrices as tiles and codes of their own, then the rows of x.

    The device reads strips of x in their order.  Matrices that need earlier ones again find them in another copy of x, broadcast along z.
    Where blocks cut the result into steps, along rows before columns, each step is a matrix of its own.
    """
    place, blocking, x = work.op.place, work.op.blocking, work.main.operands[0]
    if blocking is None or not isinstance(place, Grid) or x is None:
        raise Error("E0602", "a sparse product of Buda needs blocks, cores and an operand")
    source = tile_dims(work.type_of(x))
    steps = _steps(work, place, blocking)
    down = place.rows * blocking.mblock[0] * blocking.ublock[0]
    cut = _cut(selected(work.main.attrs, work.type_of(x), work.result), steps, down, source)
    depth = source[0] * source[1] * steps[1]
    widest = MAX_INNER if work.op.inner is None else work.op.inner[1]
    inner = [n for n in range(min(widest, depth), 0, -1) if depth % n == 0]
    made, copies, u_kt = _encoded(cut, blocking, place.rows, depth, inner)
    count = int(copies[-1]) + 1
    tail = (*_repeated("hslice", steps[1]), *_repeated("vstack", source[0] * steps[1]), *_repeated("broadcast", count, "z"))
    across = _repeated("broadcast", place.cols, "c")
    operands = (_constant(made.tiles, "Bfp2_b"), Operand(x, tail=tail), _constant(made.codes, "RawUInt32"))
    said = _said(made, depth // u_kt, u_kt, count)
    return Parts("matmul", operands, said, None, {0: across, 2: across})


def _encoded(cut: Elements, blocking: Blocking, cores: int, depth: int, inner: Sequence[int]) -> tuple[Encoded, NDArray, int]:
    """Return tiles and codes, the copy of x that each matrix reads, and the columns of a strip: the first of `inner` that codes can say."""
    for at, u_kt in enumerate(inner):
        copies = _copies(cut, u_kt * SIDE, blocking.t)
        placed = cut._replace(column=cut.column + copies[cut.matrix] * depth * SIDE)
        try:
            return encoded(placed, blocking.t, cores, blocking.mblock[0], blocking.ublock[0], u_kt), copies, u_kt
        except Error:
            if at == len(inner) - 1:
                raise
    raise Error("E0503", "a sparse product of Buda needs strips of a width that divides its depth")


def _repeated(kind: str, n: int, *dim: str) -> tuple[Tm, ...]:
    return (Tm(kind, (*dim, n)),) if n > 1 else ()


def _steps(work: Reading, place: Grid, blocking: Blocking) -> tuple[int, int]:
    """Return how often blocks cut the result along rows and columns.  Raises E0503 for those that do not cut it so."""
    matrices, rows, _ = tile_dims(work.result)
    down = -(-rows // (place.rows * blocking.mblock[0] * blocking.ublock[0]))
    if blocking.spread != (1, 1) or blocking.t % (matrices * down):
        raise Error("E0503", f"a sparse product of {matrices} x {rows} tiles does not lie in {blocking} on {place.rows} rows of cores")
    return down, blocking.t // (matrices * down)


def _cut(elements: Elements, steps: tuple[int, int], down: int, source: tuple[int, int, int]) -> Elements:
    """Return a matrix for each step.  Steps along columns read their own part of x, which lies behind that of the step before."""
    rows, columns = steps
    matrix = (elements.matrix * rows + elements.row // (down * SIDE)) * columns
    z, inner = np.divmod(elements.column, source[1] * SIDE)
    parts = [
        Elements(matrix + c, elements.row % (down * SIDE), (z * columns + c) * source[1] * SIDE + inner, elements.value)
        for c in range(columns)
    ]
    return Elements(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _copies(elements: Elements, width: int, matrices: int) -> NDArray:
    """For each matrix the copy of x it reads: the next one where it needs strips before the last that was read."""
    strips = elements.column // width
    first, last = np.full(matrices, np.iinfo(np.int64).max), np.full(matrices, -1)
    np.minimum.at(first, elements.matrix, strips)
    np.maximum.at(last, elements.matrix, strips)
    found, copy, reached = np.zeros(matrices, np.int64), 0, -1
    for matrix in range(matrices):
        if first[matrix] < reached:
            copy, reached = copy + 1, -1
        reached = max(reached, int(last[matrix]))
        found[matrix] = copy
    return found


def _said(made: Encoded, m_k: int, u_kt: int, t: int) -> dict[str, Plain]:
    sizes = made.sizes
    return {
        "identity": True,
        "m_k": m_k,
        "u_kt": u_kt,
        "num_sparse_tiles": made.tiles.shape[2] // SIDE,
        "num_index_tiles": made.codes.shape[2] // SIDE,
        "sparse_tile_ptr_bits": sizes.tile_bits,
        "sparse_ublock_idx_bits": sizes.ublock_bits,
        "fracture_factor": 1,
        "act_t": t,
    }


def _constant(values: NDArray, format_: str) -> ImpliedConstant:
    return ImpliedConstant(TensorType(values.shape, format_, f"tiles({SIDE}, {SIDE})"), values)


def selected(attrs: dict[str, Plain], x: TensorType, y: TensorType) -> Elements:
    """The elements of the matrices that a tile.sparse_matmul stands for: rows of y, by rows of all matrices of x one above another."""
    source, sizes, steps, offsets, divisors = (_integers(attrs, n) for n in ("source", "sizes", "steps", "offsets", "divisors"))
    terms = attrs.get("terms")
    if not isinstance(terms, int) or prod(sizes) > MAX_ELEMENTS:
        raise Error("E0503", f"a selection of {prod(sizes):,} rows is too long for a sparse product")
    found: list[tuple[NDArray, NDArray]] = []
    for index, inside in selected_rows(source, sizes, steps, offsets, divisors, terms, nearest=bool(attrs.get("nearest"))):
        found.append((np.flatnonzero(inside), index[inside]))
    to, of = (np.concatenate(part) for part in zip(*found, strict=True))
    matrix, row = _places(to, y)
    from_matrix, column = _places(of, x)
    return Elements(matrix, row, from_matrix * tile_dims(x)[1] * SIDE + column, np.ones(len(to), np.float32))


def _places(rows: NDArray, type_: TensorType) -> tuple[NDArray, NDArray]:
    """Matrix, and row in it, of rows counted through a whole tensor."""
    total = prod(type_.shape[:-1])
    height = total // max(tile_dims(type_)[0], 1)
    return rows // height, rows % height


def _integers(attrs: dict[str, Plain], name: str) -> tuple[int, ...]:
    value = attrs.get(name)
    if not isinstance(value, tuple):
        raise Error("E0609", f"a selection lacks its {name}")
    return tuple(n for n in value if isinstance(n, int))


READS.add("tile.sparse_matmul", read)

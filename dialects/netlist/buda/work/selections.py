"""Selections of rows that our compiler makes: as sparse matrix products."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain import Plain, TensorType
from ttc.dialects.core.sparse_codes import Elements, Encoded, encoded
from ttc.dialects.core.tiled import SIDE
from ttc.dialects.netlist.buda.form import Tm
from ttc.dialects.netlist.buda.work.building import Build
from ttc.dialects.netlist.buda.work.read_tms import tile_dims
from ttc.dialects.netlist.buda.work.reading import Operand, Parts, Read, Reading
from ttc.dialects.netlist.buda.work.shared import Constant
from ttc.dialects.netlist.model import Grid

MAX_ELEMENTS = 1 << 24
"""Bound on the rows that a selection reads."""
MAX_INNER = 8
"""Tiles of a strip, unless the op says how many."""


def read(work: Reading) -> Parts:
    """The matrices as tiles and codes of their own, then the rows of x; x once for every matrix where they read it in turn again."""
    place, blocking = work.op.place, work.op.blocking
    if blocking is None or not isinstance(place, Grid):
        raise Error("E0602", "a sparse product of Buda needs blocks and cores")
    x = work.main.operands[0]
    if x is None:
        raise Error("E0609", "a selection lacks its operand")
    elements = selected(work.main.attrs, work.type_of(x), work.result)
    matrices, rows, _ = tile_dims(work.result)
    if place.rows * blocking.mblock[0] * blocking.ublock[0] != rows or blocking.t != matrices:
        raise Error("E0503", f"a sparse product of {matrices} x {rows} tiles lies in blocks {blocking} on {place.rows} rows of cores")
    source = tile_dims(work.type_of(x))
    depth = source[0] * source[1]
    u_kt = work.op.inner[1] if work.op.inner is not None else max(n for n in range(1, MAX_INNER + 1) if depth % n == 0)
    again = _goes_back(elements, u_kt)
    if again:
        elements = elements._replace(column=elements.column + elements.matrix * depth * SIDE)
    made = encoded(elements, matrices, place.rows, blocking.mblock[0], blocking.ublock[0], u_kt)
    tail = (Tm("broadcast", ("z", matrices)),) if again else ()
    across = (Tm("broadcast", ("c", place.cols)),) if place.cols > 1 else ()
    operands = (_constant(made.tiles, "Bfp2_b"), Operand(x, tail=tail), _constant(made.codes, "RawUInt32"))
    return Parts("matmul", operands, _said(made, depth * (matrices if again else 1), u_kt, source[0]), None, {0: across, 2: across})


def _said(made: Encoded, depth: int, u_kt: int, t: int) -> dict[str, Plain]:
    sizes = made.sizes
    return {
        "identity": True,
        "m_k": depth // u_kt,
        "u_kt": u_kt,
        "num_sparse_tiles": made.tiles.shape[2] // SIDE,
        "num_index_tiles": made.codes.shape[2] // SIDE,
        "sparse_tile_ptr_bits": sizes.tile_bits,
        "sparse_ublock_idx_bits": sizes.ublock_bits,
        "fracture_factor": 1,
        "act_t": t,
    }


def _constant(values: NDArray, format_: str) -> Constant:
    return Constant(TensorType(values.shape, format_, f"tiles({SIDE}, {SIDE})"), values)


def _goes_back(elements: Elements, u_kt: int) -> bool:
    """Whether a matrix reads a strip before the last one that the matrix before it read."""
    strips = elements.column // (u_kt * SIDE)
    order = np.lexsort((strips, elements.matrix))
    return bool((np.diff(strips[order]) < 0).any())


def selected(attrs: dict[str, Plain], x: TensorType, y: TensorType) -> Elements:
    """The elements of the matrices that a tile.sparse_matmul stands for: rows of y, by rows of all matrices of x one above another."""
    source, sizes, steps, offsets, divisors = (_integers(attrs, n) for n in ("source", "sizes", "steps", "offsets", "divisors"))
    terms = attrs.get("terms")
    if not isinstance(terms, int) or prod(sizes) > MAX_ELEMENTS:
        raise Error("E0503", f"a selection of {prod(sizes):,} rows is too long for a sparse product")
    factors = np.array(steps, np.int64).reshape(len(source), len(sizes))
    found: list[tuple[NDArray, NDArray]] = []
    for start in _starts(factors, offsets, sizes, terms):
        found.append(_rows(source, sizes[terms:], factors[:, terms:], start, divisors, nearest=bool(attrs.get("nearest"))))
    to, of = (np.concatenate(part) for part in zip(*found, strict=True))
    matrix, row = _places(to, y)
    from_matrix, column = _places(of, x)
    return Elements(matrix, row, from_matrix * tile_dims(x)[1] * SIDE + column, np.ones(len(to), np.float32))


def _starts(factors: NDArray, offsets: Sequence[int], sizes: Sequence[int], terms: int) -> Iterator[NDArray]:
    for term in np.ndindex(*sizes[:terms]):
        yield np.array(offsets, np.int64) + factors[:, :terms] @ np.array(term, np.int64)


def _rows(
    source: Sequence[int], sizes: Sequence[int], steps: NDArray, start: NDArray, divisors: Sequence[int], *, nearest: bool
) -> tuple[NDArray, NDArray]:
    """Numbers of the rows of the result that take a row, and of the rows that they take."""
    grid = np.indices(sizes, np.int64).reshape(len(sizes), -1)
    at = steps @ grid + start[:, None]
    divisor = np.array(divisors, np.int64)[:, None]
    inside = (at % divisor == 0).all(axis=0)
    at //= divisor
    limit = np.array(source, np.int64)[:, None] - 1
    bounded = np.clip(at, 0, limit)
    if not nearest:
        inside &= (bounded == at).all(axis=0)
    index = np.zeros(at.shape[1], np.int64)
    for row, size in zip(bounded, source, strict=True):
        index = index * size + row
    return np.flatnonzero(inside), index[inside]


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


TYPES: dict[str, Build] = {}
WORKS: dict[str, Read] = {"tile.sparse_matmul": read}

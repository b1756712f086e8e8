"""Parts of tensors: slices, diagonals, gathers; and tensors with parts replaced."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.ir.spec import DYNAMIC
from ttc.dialects.core.ir.values import BlockArgument, SSAValue
from ttc.dialects.core.shapes import axis_in, broadcast_shapes
from ttc.dialects.nn.binary import WhereOp
from ttc.dialects.nn.making import without_negative
from ttc.dialects.nn.shape import ReshapeOp
from ttc.dialects.nn.unary import CastOp
from ttc.importers.common.dynamic import sliced, with_axes, without_axes
from ttc.importers.common.padding import untrained_padding
from ttc.importers.common.parts import element, part
from ttc.importers.common.tracking import MAX_ELEMENTS
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.torch.builder import TorchBuilder
from ttc.importers.torch.elements import BOOL, INT64
from ttc.importers.torch.tables import Rows

Ints: TypeAlias = tuple[int, ...]
Indices: TypeAlias = tuple[SSAValue | None, ...]


def slice_(b: TorchBuilder, x: SSAValue, dim: int, start: int | None, end: int | None, step: int) -> SSAValue:
    """Return Python's slice of one dimension."""
    if not b.spec(x).is_static:
        return _slice_of_open(b, x, axis_in(dim, b.rank(x)), start, end, step)
    size = b.shape(x)[dim]
    taken = range(size)[slice(start, end, step)]
    return part(b, x, axis_in(dim, b.rank(x)), taken.start if len(taken) else 0, len(taken), step)


def _slice_of_open(b: TorchBuilder, x: SSAValue, axis: int, start: int | None, end: int | None, step: int = 1) -> SSAValue:
    """Return a slice of a tensor some of whose sizes depend on data."""
    size = b.spec(x).shape[axis]
    taken = range(max(size, 0))[slice(start, end, step)]
    if size != DYNAMIC and step == 1 and len(taken):
        sizes = tuple(s for s in (taken.start, len(taken), size - taken.stop) if s)
        pieces = b.nn_all("split", x, axis=axis, sizes=sizes) if len(sizes) > 1 else (x,)
        return pieces[1 if taken.start else 0]
    bounds = (start or 0, np.iinfo(np.int64).max if end is None else end, step)
    starts, ends, steps = (b.constant(np.array([bound], np.int64)) for bound in bounds)
    return sliced(b, x, starts, ends, (axis,), steps)


def select(b: TorchBuilder, x: SSAValue, dim: int, index: int) -> SSAValue:
    at = axis_in(dim, b.rank(x))
    size = b.spec(x).shape[at]
    if b.spec(x).is_static:
        return element(b, x, at, index % size)
    return without_axes(b, _slice_of_open(b, x, at, index, index + 1 or None), (at,))


def narrow(b: TorchBuilder, x: SSAValue, dim: int, start: int, length: int) -> SSAValue:
    end = start + length
    return slice_(b, x, dim, start, None if start < 0 == end else end, 1)


def select_scatter(b: TorchBuilder, x: SSAValue, source: SSAValue, dim: int, index: int) -> SSAValue:
    """Return x with one place of a dimension replaced."""
    shape = b.shape(x)
    at = axis_in(dim, len(shape))
    start = index % shape[at]
    source = b.reshape(b.cast(source, b.dtype(x)), *shape[:at], 1, *shape[at + 1 :])
    return _replaced(b, x, source, at, start, start + 1)


def slice_scatter(b: TorchBuilder, x: SSAValue, source: SSAValue, dim: int, start: int | None, end: int | None, step: int) -> SSAValue:
    """Return x with a slice replaced: by what lies before and after it, or by places where there are steps."""
    shape = b.shape(x)
    at = axis_in(dim, len(shape))
    taken = range(shape[at])[slice(start, end, step)]
    wanted = tuple(len(taken) if i == at else d for i, d in enumerate(shape))
    source = b.cast(source, b.dtype(x))
    source = source if b.shape(source) == wanted else b.nn("expand", source, shape=wanted)
    if not len(taken):
        return x
    if step == 1:
        return _replaced(b, x, source, at, taken.start, taken.stop)
    places = b.constant(np.array(taken, np.int64).reshape(-1, *(1,) * (len(shape) - 1 - at)))
    return b.nn("scatter_elements", x, b.nn("expand", places, shape=wanted), source, axis=at, reduction="none")


def _replaced(b: TorchBuilder, x: SSAValue, source: SSAValue, axis: int, start: int, stop: int) -> SSAValue:
    size = b.shape(x)[axis]
    before = [part(b, x, axis, 0, start)] if start else []
    after = [part(b, x, axis, stop, size - stop)] if stop < size else []
    pieces = [*before, source, *after]
    return source if len(pieces) == 1 else b.nn("concat", *pieces, axis=axis)


def as_strided(b: TorchBuilder, x: SSAValue, size: Ints, stride: Ints, offset: int | None) -> SSAValue:
    """Return elements of the flattened x, which is contiguous, at the places that the strides say."""
    places = _strided_places(b, x, size, stride, offset or 0)
    return b.nn("gather", b.reshape(x, b.spec(x).elements), b.constant(places), axis=0)


def as_strided_scatter(b: TorchBuilder, x: SSAValue, source: SSAValue, size: Ints, stride: Ints, offset: int | None) -> SSAValue:
    places = _strided_places(b, x, size, stride, offset or 0)
    flat = b.reshape(x, b.spec(x).elements)
    updates = b.reshape(b.cast(source, b.dtype(x)), places.size)
    return b.reshape(b.nn("scatter_nd", flat, b.constant(places.reshape(-1, 1)), updates, reduction="none"), *b.shape(x))


def _strided_places(b: TorchBuilder, x: SSAValue, size: Ints, stride: Ints, offset: int) -> np.ndarray:
    if prod(size) > MAX_ELEMENTS:
        raise Unsupported(f"a view of {prod(size)} elements")
    places = np.full((), offset, np.int64)
    for length, step in zip(size, stride, strict=True):
        places = places[..., None] + np.arange(length) * step
    if places.size and not 0 <= places.min() <= places.max() < b.spec(x).elements:
        raise Unsupported("memory outside the tensor")
    return places.reshape(size)


def unfold(b: TorchBuilder, x: SSAValue, dim: int, size: int, step: int) -> SSAValue:
    """Return windows along a dimension, their elements last."""
    shape = b.shape(x)
    if not shape:
        return b.reshape(x, size)
    at = axis_in(dim, len(shape))
    places = np.arange(0, shape[at] - size + 1, step)[:, None] + np.arange(size)
    if places.size > MAX_ELEMENTS:
        raise Unsupported("too many windows")
    found = b.nn("gather", x, b.constant(places.astype(np.int64)), axis=at)
    return b.nn("transpose", found, perm=(*range(at + 1), *range(at + 2, len(shape) + 1), at + 1))


def _diagonal_places(rows: int, columns: int, offset: int) -> np.ndarray:
    """[d, 2]: row and column of each element of a diagonal."""
    count = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    steps = np.arange(count, dtype=np.int64)
    return np.stack([steps - min(offset, 0), steps + max(offset, 0)], -1)


def _matrices(b: TorchBuilder, x: SSAValue, dim1: int, dim2: int) -> tuple[SSAValue, Ints]:
    """x with the two dimensions first, and the permutation that was used."""
    rank = b.rank(x)
    first, second = axis_in(dim1, rank), axis_in(dim2, rank)
    perm = (first, second, *(i for i in range(rank) if i not in (first, second)))
    return (x if perm == tuple(range(rank)) else b.nn("transpose", x, perm=perm)), perm


def diagonal(b: TorchBuilder, x: SSAValue, offset: int, dim1: int, dim2: int) -> SSAValue:
    """Return the diagonals of matrices in two dimensions; their elements come last."""
    matrices, _ = _matrices(b, x, dim1, dim2)
    rows, columns, *rest = b.shape(matrices)
    places = _diagonal_places(rows, columns, offset)
    if not len(places):
        return b.nn("expand", b.scalar(0, x), shape=(*rest, 0))
    flat = b.reshape(matrices, rows * columns, *rest)
    found = b.nn("gather", flat, b.constant(places @ np.array([columns, 1])), axis=0)
    return b.nn("transpose", found, perm=(*range(1, len(rest) + 1), 0))


def diagonal_scatter(b: TorchBuilder, x: SSAValue, source: SSAValue, offset: int, dim1: int, dim2: int) -> SSAValue:
    """Return x with a diagonal replaced."""
    matrices, perm = _matrices(b, x, dim1, dim2)
    rows, columns, *rest = b.shape(matrices)
    places = _diagonal_places(rows, columns, offset)
    if not len(places):
        return x
    updates = b.nn("transpose", b.cast(source, b.dtype(x)), perm=(len(rest), *range(len(rest))))
    found = b.nn("scatter_nd", matrices, b.constant(places), updates, reduction="none")
    return b.nn("transpose", found, perm=tuple(int(i) for i in np.argsort(perm)))


def gather(b: TorchBuilder, x: SSAValue, dim: int, index: SSAValue, *, sparse_grad: bool = False) -> SSAValue:
    """Return one element for each of index, which may be of any type and rank if it is empty."""
    index = index if b.spec(index).elements else b.cast(index, INT64)
    if not b.shape(x) or b.rank(x) != b.rank(index):
        found = b.nn("gather", b.reshape(x, b.spec(x).elements), b.reshape(index, b.spec(index).elements), axis=0)
        return b.reshape(found, *b.shape(index))
    axis = axis_in(dim, b.rank(x))
    return b.nn("gather_elements", x, _checked(b, index, b.shape(x)[axis]), axis=axis)


def index_select(b: TorchBuilder, x: SSAValue, dim: int, index: SSAValue) -> SSAValue:
    if not b.shape(x):
        return x
    axis = axis_in(dim, b.rank(x))
    index = _checked(b, b.reshape(index, b.spec(index).elements), b.shape(x)[axis])
    return b.nn("gather", x, index, axis=axis)


def _checked(b: TorchBuilder, index: SSAValue, size: int) -> SSAValue:
    """Return indices of which a negative one is an error, as PyTorch has it, if they are given: places that ops find are not negative."""
    pending = [index]
    while pending:
        value = pending.pop()
        if isinstance(value, BlockArgument):
            return without_negative(b, index, size)
        if isinstance(value.owner, ReshapeOp | CastOp | WhereOp):
            pending.extend(value.owner.operands[1:] or value.owner.operands)
    return index


def embedding(b: TorchBuilder, weight: SSAValue, indices: SSAValue, padding_idx: int = -1, *_options: object) -> SSAValue:
    """Return rows of a table, of which that of the padding gets no gradient."""
    found = b.nn("gather", weight, indices, axis=0)
    return found if padding_idx < 0 else untrained_padding(b, found, indices, b.scalar(padding_idx, indices))


def take(b: TorchBuilder, x: SSAValue, index: SSAValue) -> SSAValue:
    """Return elements of x, by their place in row-major order."""
    return b.nn("gather", b.reshape(x, b.spec(x).elements), index, axis=0)


def placed(b: TorchBuilder, indices: Indices) -> Indices:
    """Return indices as integers, a known mask as the places of its true elements. Raises Unsupported."""
    found: list[SSAValue | None] = []
    for index in indices:
        if index is None or b.dtype(index) not in (BOOL, np.dtype(np.uint8)):
            found.append(index)
            continue
        known = b.known(index)
        if known is None:
            raise Unsupported("a mask as an index")
        found += [b.constant(np.asarray(p, np.int64)) for p in np.nonzero(known)]
    return tuple(b.cast(i, INT64) if i is not None and b.dtype(i).kind != "i" else i for i in found)


def index(b: TorchBuilder, x: SSAValue, indices: Indices) -> SSAValue:
    """Index as numpy does: indexed dimensions are replaced by those of the indices, where the first of them is, or in front if they are
    apart.
    """
    if len(indices) == 1 and indices[0] is not None and b.dtype(indices[0]) == BOOL and b.known(indices[0]) is None:
        return masked(b, x, indices[0])
    places = placed(b, indices)
    used = [i for i, v in enumerate(places) if v is not None]
    if not used:
        return x
    values = [v for v in places if v is not None]
    if len(values) == 1:
        return b.nn("gather", x, values[0], axis=used[0])
    known = [b.known(v) for v in values]
    if used == list(range(used[0], used[0] + len(used))) and b.spec(x).is_static:
        if _crossed(known):
            return _by_dimensions(b, x, used, values)
        if used[0] > 0 and (flat := _flat(known, b.shape(x)[used[0] : used[-1] + 1])) is not None:
            return _by_place(b, x, used, flat)
    tuples = joined_indices(b, values)
    rank = b.rank(x)
    order = (*used, *(i for i in range(rank) if i not in used))
    front = x if order == tuple(range(rank)) else b.nn("transpose", x, perm=order)
    found = b.nn("gather_nd", front, tuples, batch_dims=0)
    lead = b.rank(tuples) - 1
    together = used == list(range(used[0], used[0] + len(used)))
    if not together or used[0] == 0:
        return found
    before = range(lead, lead + used[0])
    return b.nn("transpose", found, perm=(*before, *range(lead), *range(lead + used[0], b.rank(found))))


def _crossed(known: Sequence[NDArray | None]) -> bool:
    """Return whether indices are known, and each varies along dimensions of its own, in their order: as `numpy.ix_` makes them."""
    arrays = [places for places in known if places is not None]
    rank = max((places.ndim for places in arrays), default=0)
    own = [i + rank - places.ndim for places in arrays for i, size in enumerate(places.shape) if size != 1]
    return len(arrays) == len(known) and own == sorted(set(own))


def _flat(known: Sequence[NDArray | None], shape: Ints) -> NDArray | None:
    """Return the places in row-major order of dimensions that known indices choose; None if one is not known, or lies outside."""
    arrays = [np.asarray(places, np.int64) for places in known if places is not None]
    if len(arrays) < len(known) or any(np.any((places < -size) | (places >= size)) for places, size in zip(arrays, shape, strict=True)):
        return None
    counted = [np.where(places < 0, places + size, places) for places, size in zip(arrays, shape, strict=True)]
    return np.asarray(np.ravel_multi_index(tuple(np.broadcast_arrays(*counted)), shape), np.int64)


def _by_place(b: TorchBuilder, x: SSAValue, used: list[int], places: NDArray) -> SSAValue:
    """Return x with places of neighbouring dimensions, in row-major order, in place of these."""
    shape = b.shape(x)
    before, indexed, after = shape[: used[0]], shape[used[0] : used[-1] + 1], shape[used[-1] + 1 :]
    return b.nn("gather", b.reshape(x, *before, prod(indexed), *after), b.constant(places), axis=used[0])


def _by_dimensions(b: TorchBuilder, x: SSAValue, used: list[int], values: list[SSAValue]) -> SSAValue:
    """Return x with the places of each dimension taken one after another, that which leaves least first."""
    shape = b.shape(x)
    counts = {axis: b.spec(v).elements for axis, v in zip(used, values, strict=True)}
    for axis, v in sorted(zip(used, values, strict=True), key=lambda pair: counts[pair[0]] / max(shape[pair[0]], 1)):
        x = b.nn("gather", x, b.reshape(v, counts[axis]), axis=axis)
    return b.reshape(x, *shape[: used[0]], *broadcast_shapes(*map(b.shape, values)), *shape[used[-1] + 1 :])


def joined_indices(b: TorchBuilder, values: list[SSAValue]) -> SSAValue:
    """Return [..., k]: the indices broadcast to one shape, side by side."""
    if len({b.spec(v).shape for v in values}) == 1:
        rank = b.rank(values[0])
        return b.nn("concat", *(with_axes(b, b.cast(v, INT64), (rank,)) for v in values), axis=rank)
    shape = broadcast_shapes(*(b.shape(v) for v in values))
    wide = [v if b.shape(v) == shape else b.nn("expand", v, shape=shape) for v in values]
    return b.nn("concat", *(b.reshape(b.cast(v, INT64), *shape, 1) for v in wide), axis=len(shape))


def masked(b: TorchBuilder, x: SSAValue, mask: SSAValue) -> SSAValue:
    """Return slices of x, which the mask's dimensions lead, where the mask is true: as many as the data decides."""
    if b.rank(mask) == 1:
        return b.nn("compress", x, mask, axis=0)
    shape, lead = b.shape(x), b.shape(mask)
    flat = b.reshape(x, prod(lead), *shape[len(lead) :])
    return b.nn("compress", flat, b.reshape(mask, prod(lead)), axis=0)


def masked_select(b: TorchBuilder, x: SSAValue, mask: SSAValue) -> SSAValue:
    shape = broadcast_shapes(b.shape(x), b.shape(mask))
    wide = [v if b.shape(v) == shape else b.nn("expand", v, shape=shape) for v in (x, mask)]
    return masked(b, *wide)


def nonzero(b: TorchBuilder, x: SSAValue) -> SSAValue:
    """Return the places of elements that are not zero, [count, rank]."""
    return b.nn("transpose", b.nn("non_zero", x), perm=(1, 0))


def trace(b: TorchBuilder, x: SSAValue) -> SSAValue:
    found = diagonal(b, x, 0, 0, 1)
    found = found if b.dtype(found).kind in "fV" else b.cast(found, INT64)
    return b.nn("reduce_sum", found, axes=(0,), keepdims=False)


ROWS: Rows = {
    "aten.slice.Tensor": slice_,
    "aten.slice_copy.Tensor": slice_,
    "aten.select.int": select,
    "aten.select_copy.int": select,
    "aten.narrow.default": narrow,
    "aten.narrow_copy.default": narrow,
    "aten.select_scatter.default": select_scatter,
    "aten.slice_scatter.default": slice_scatter,
    "aten.as_strided.default": as_strided,
    "aten.as_strided_copy.default": as_strided,
    "aten.as_strided_scatter.default": as_strided_scatter,
    "aten.unfold.default": unfold,
    "aten.unfold_copy.default": unfold,
    "aten.diagonal.default": diagonal,
    "aten.diagonal_copy.default": diagonal,
    "aten.diagonal_scatter.default": diagonal_scatter,
    "aten.gather.default": gather,
    "aten.index_select.default": index_select,
    "aten.embedding.default": embedding,
    "aten.take.default": take,
    "aten.index.Tensor": index,
    "aten._unsafe_index.Tensor": index,
    "aten.masked_select.default": masked_select,
    "aten.nonzero.default": nonzero,
    "aten.argwhere.default": nonzero,
    "aten.trace.default": trace,
}

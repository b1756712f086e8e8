"""Shapes and order of dimensions; copies, and conversions of dtype."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np

from ttc.dialects.core.ir.spec import DYNAMIC
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axes_in, axis_in, broadcast_shapes
from ttc.importers.common.dynamic import with_axes
from ttc.importers.common.parts import part, stacked
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.torch.builder import TorchBuilder
from ttc.importers.torch.complexes import ComplexTensor, as_complex
from ttc.importers.torch.elements import BOOL
from ttc.importers.torch.tables import Rows

Ints: TypeAlias = tuple[int, ...]


def same(b: TorchBuilder, x: SSAValue, *_arguments: Any, **_options: Any) -> SSAValue:
    """Return the operand: copies and views of it hold the same values."""
    return x


def stopped(b: TorchBuilder, x: SSAValue) -> SSAValue:
    """Return the operand, as a constant to gradients; what has none anyway stays as it is."""
    return b.nn("stop_gradient", x) if b.dtype(x).kind in "fV" else x


def converted(b: TorchBuilder, x: SSAValue, dtype: np.dtype | None, *_arguments: Any, **_options: Any) -> SSAValue | ComplexTensor:
    """Convert to another dtype, which may be complex."""
    if dtype is not None and dtype.kind == "c":
        return as_complex(b, b.cast(x, np.dtype(f"f{dtype.itemsize // 2}")))
    return x if dtype is None else cast(b, x, dtype)


def cast(b: TorchBuilder, x: SSAValue, dtype: np.dtype) -> SSAValue:
    """Convert to another dtype, as nn.cast does; floating point becomes unsigned through signed integers, so that negative numbers wrap."""
    if dtype.kind == "u" and b.dtype(x).kind in "fV":
        x = b.cast(x, np.dtype(np.int64))
    return b.cast(x, dtype)


def to_copy(b: TorchBuilder, x: SSAValue, *, dtype: np.dtype | None, **_options: Any) -> SSAValue | ComplexTensor:
    return converted(b, x, dtype)


def to_device(b: TorchBuilder, x: SSAValue, device: Any, dtype: np.dtype | None, *_arguments: Any) -> SSAValue | ComplexTensor:
    return converted(b, x, dtype)


def to_other(b: TorchBuilder, x: SSAValue, other: SSAValue, *_arguments: Any) -> SSAValue | ComplexTensor:
    return converted(b, x, b.dtype(other))


def copy(b: TorchBuilder, x: SSAValue, source: SSAValue, *_arguments: Any) -> SSAValue:
    """Return the source in x's shape and dtype."""
    source = cast(b, source, b.dtype(x))
    return source if b.shape(source) == b.shape(x) else b.nn("expand", source, shape=b.shape(x))


def view(b: TorchBuilder, x: SSAValue, size: Ints) -> SSAValue:
    """Return the elements in another shape; one size may be -1."""
    return b.reshape(x, *resolved(b.spec(x).elements, size))


def resolved(elements: int, size: Ints) -> Ints:
    """Return sizes with -1 replaced by what is left."""
    rest = prod(d for d in size if d != -1)
    return tuple(elements // max(rest, 1) if d == -1 else d for d in size)


def view_dtype(b: TorchBuilder, x: SSAValue, dtype: np.dtype) -> SSAValue:
    """Return the same bits as numbers of another type of the same width."""
    if dtype.itemsize != b.dtype(x).itemsize or BOOL in (dtype, b.dtype(x)):
        raise Unsupported(f"bits of {b.dtype(x)} as {dtype}")
    return x if dtype == b.dtype(x) else b.nn("bitcast", x, source=b.dtype(x), dtype=dtype)


def permute(b: TorchBuilder, x: SSAValue, dims: Ints) -> SSAValue:
    """Permute dimensions: dimension i of the result is dimension dims[i]."""
    return b.nn("transpose", x, perm=tuple(d % len(dims) for d in dims)) if dims else x


def transpose(b: TorchBuilder, x: SSAValue, dim0: int, dim1: int) -> SSAValue:
    rank = b.rank(x)
    perm = list(range(rank))
    if rank:
        perm[dim0], perm[dim1] = perm[dim1], perm[dim0]
    return permute(b, x, tuple(p % rank for p in perm))


def transpose_matrix(b: TorchBuilder, x: SSAValue) -> SSAValue:
    """Return the last two dimensions swapped, if there are two."""
    return x if b.rank(x) < 2 else transpose(b, x, -2, -1)


def reverse_dimensions(b: TorchBuilder, x: SSAValue) -> SSAValue:
    return permute(b, x, tuple(reversed(range(b.rank(x)))))


def movedim(b: TorchBuilder, x: SSAValue, source: Ints | int, destination: Ints | int) -> SSAValue:
    """Move dimensions from `source` to `destination`, the others in order."""
    rank = b.rank(x)
    taken, put = ([axis_in(v, rank) for v in (vs if isinstance(vs, tuple) else (vs,))] for vs in (source, destination))
    rest = iter(d for d in range(rank) if d not in taken)
    return permute(b, x, tuple(taken[put.index(i)] if i in put else next(rest) for i in range(rank)))


def expand(b: TorchBuilder, x: SSAValue, size: Ints, *, implicit: bool = False) -> SSAValue:
    """Broadcast x to a shape, in which -1 keeps a dimension."""
    shape = b.shape(x)
    lead = len(size) - len(shape)
    wanted = tuple(shape[i - lead] if d == -1 else d for i, d in enumerate(size))
    return x if wanted == shape else b.nn("expand", x, shape=wanted)


def expand_as(b: TorchBuilder, x: SSAValue, other: SSAValue) -> SSAValue:
    return expand(b, x, b.shape(other))


def broadcast_tensors(b: TorchBuilder, tensors: Sequence[SSAValue]) -> tuple[SSAValue, ...]:
    shape = broadcast_shapes(*(b.shape(x) for x in tensors))
    return tuple(expand(b, x, shape) for x in tensors)


def squeeze(b: TorchBuilder, x: SSAValue, dim: Ints | int | None = None) -> SSAValue:
    """Drop dimensions of size 1: those named, or all."""
    shape = b.shape(x)
    if not shape:
        return x
    named = range(len(shape)) if dim is None else axes_in(dim if isinstance(dim, tuple) else (dim,), len(shape))
    return b.reshape(x, *(d for i, d in enumerate(shape) if d != 1 or i not in named))


def unsqueeze(b: TorchBuilder, x: SSAValue, dim: int) -> SSAValue:
    return with_axes(b, x, (dim,))


def flatten(b: TorchBuilder, x: SSAValue, start: int, end: int) -> SSAValue:
    """Join dimensions start to end, both included, to one."""
    shape = b.shape(x)
    if not shape:
        return b.reshape(x, 1)
    first, last = axis_in(start, len(shape)), axis_in(end, len(shape))
    return b.reshape(x, *shape[:first], prod(shape[first : last + 1]), *shape[last + 1 :])


def unflatten(b: TorchBuilder, x: SSAValue, dim: int, sizes: Ints) -> SSAValue:
    shape = b.shape(x)
    at = axis_in(dim, len(shape))
    return b.reshape(x, *shape[:at], *resolved(shape[at], sizes), *shape[at + 1 :])


def repeat(b: TorchBuilder, x: SSAValue, repeats: Ints) -> SSAValue:
    """Repeat whole copies side by side; more repeats than dimensions add leading ones."""
    shape = b.shape(x)
    lead = (1,) * (len(repeats) - len(shape))
    x = b.reshape(x, *lead, *shape)
    return x if all(r == 1 for r in repeats) else b.nn("repeat", x, repeats=tuple(repeats))


def tile(b: TorchBuilder, x: SSAValue, dims: Ints) -> SSAValue:
    return repeat(b, x, (1,) * (b.rank(x) - len(dims)) + tuple(dims))


def repeat_interleave(b: TorchBuilder, x: SSAValue, repeats: int, dim: int | None, *, output_size: int | None) -> SSAValue:
    """Return each element so often after itself."""
    if dim is None:
        x, dim = b.reshape(x, b.spec(x).elements), 0
    shape = b.shape(x)
    at = axis_in(dim, len(shape))
    wide = b.nn("expand", b.reshape(x, *shape[: at + 1], 1, *shape[at + 1 :]), shape=(*shape[: at + 1], repeats, *shape[at + 1 :]))
    return b.reshape(wide, *shape[:at], shape[at] * repeats, *shape[at + 1 :])


def cat(b: TorchBuilder, tensors: Sequence[SSAValue], dim: int) -> SSAValue:
    """Join tensors in one promoted dtype; empty tensors of rank 1 are passed over."""
    parts = [x for x in b.promoted(*tensors) if b.spec(x).shape != (0,)] or list(b.promoted(*tensors))[:1]
    return parts[0] if len(parts) == 1 else b.nn("concat", *parts, axis=axis_in(dim, b.rank(parts[0])))


def stack(b: TorchBuilder, tensors: Sequence[SSAValue], dim: int) -> SSAValue:
    return stacked(b, b.promoted(*tensors), dim)


def _split(b: TorchBuilder, x: SSAValue, sizes: Sequence[int], dim: int) -> tuple[SSAValue, ...]:
    if len(sizes) == 1:
        return (x,)
    return tuple(b.nn_all("split", x, axis=axis_in(dim, b.rank(x)), sizes=tuple(sizes)))


def _size(b: TorchBuilder, x: SSAValue, axis: int) -> int:
    """Return the size of one dimension; data may decide the others."""
    size = b.spec(x).shape[axis]
    if size == DYNAMIC:
        raise Unsupported(f"takes no dimension whose size depends on data: {b.spec(x)}")
    return size


def split(b: TorchBuilder, x: SSAValue, size: int, dim: int) -> tuple[SSAValue, ...]:
    """Split into parts of that size, the last one smaller."""
    whole = _size(b, x, dim)
    count = max(-(-whole // size), 1) if size else 1
    return _split(b, x, [min(size, whole - i * size) if size else 0 for i in range(count)], dim)


def split_with_sizes(b: TorchBuilder, x: SSAValue, sizes: Ints, dim: int) -> tuple[SSAValue, ...]:
    return _split(b, x, sizes, dim)


def chunk(b: TorchBuilder, x: SSAValue, chunks: int, dim: int) -> tuple[SSAValue, ...]:
    """Split into at most so many parts."""
    return split(b, x, -(-b.shape(x)[dim] // chunks), dim)


def unbind(b: TorchBuilder, x: SSAValue, dim: int) -> tuple[SSAValue, ...]:
    spec = b.spec(x)
    at = axis_in(dim, spec.rank)
    if not spec.is_static and spec.shape[at] >= 0:  # one by one: a reshape would need the other sizes
        return tuple(b.nn("gather", x, b.constant(np.array(i)), axis=at) for i in range(spec.shape[at]))
    shape = b.shape(x)
    parts = _split(b, x, (1,) * shape[at], at)
    return tuple(b.reshape(p, *shape[:at], *shape[at + 1 :]) for p in parts)


def flip(b: TorchBuilder, x: SSAValue, dims: Ints) -> SSAValue:
    shape = b.shape(x)
    back = [i in axes_in(dims, len(shape)) and d > 1 for i, d in enumerate(shape)]
    if not any(back):
        return x
    starts, steps = (d - 1 if f else 0 for d, f in zip(shape, back, strict=True)), (-1 if f else 1 for f in back)
    return b.nn("slice", x, starts=tuple(starts), sizes=shape, steps=tuple(steps))


def roll(b: TorchBuilder, x: SSAValue, shifts: Ints, dims: Ints) -> SSAValue:
    """Move elements on; those that leave the end come in at the beginning; without dims over the flattened x."""
    shape = b.shape(x)
    if not dims:
        return b.reshape(roll(b, b.reshape(x, b.spec(x).elements), shifts, (0,)), *shape)
    for shift, dim in zip(shifts, dims, strict=True):
        at = axis_in(dim, len(shape))
        by = shift % shape[at] if shape[at] else 0
        if by:
            x = b.nn("concat", part(b, x, at, shape[at] - by, by), part(b, x, at, 0, shape[at] - by), axis=at)
    return x


_COPIES = "alias clone contiguous lift lift_fresh lift_fresh_copy alias_copy positive resolve_conj resolve_neg real conj"

ROWS: Rows = {
    **{f"aten.{name}.default": same for name in (*_COPIES.split(), "conj_physical", "_conj", "_conj_physical")},
    **{f"aten.{name}.default": view for name in ("view", "reshape", "_unsafe_view", "view_copy", "_reshape_alias", "_reshape_copy")},
    **{f"aten.{name}.default": expand for name in ("expand", "expand_copy", "broadcast_to")},
    **{f"aten.{name}.default": permute for name in ("permute", "permute_copy")},
    **{f"aten.{name}.default": squeeze for name in ("squeeze", "squeeze_copy")},
    **{f"aten.{name}.dim": squeeze for name in ("squeeze", "squeeze_copy")},
    **{f"aten.{name}.dims": squeeze for name in ("squeeze", "squeeze_copy")},
    **{f"aten.{name}.default": unsqueeze for name in ("unsqueeze", "unsqueeze_copy")},
    **{f"aten.{name}": transpose for name in ("transpose.int", "transpose_copy.int", "swapaxes.default")},
    **{f"aten.{name}.default": transpose_matrix for name in ("t", "t_copy", "mT", "mH", "matrix_H", "adjoint")},
    **{f"aten.{name}.int": movedim for name in ("movedim", "moveaxis")},
    **{f"aten.{name}.intlist": movedim for name in ("movedim", "moveaxis")},
    **{f"aten.{name}.default": split_with_sizes for name in ("split_with_sizes", "split_with_sizes_copy", "unsafe_split_with_sizes")},
    **{f"aten.{name}.Tensor": split for name in ("split", "split_copy", "unsafe_split")},
    **{f"aten.{name}.default": chunk for name in ("chunk", "unsafe_chunk")},
    **{f"aten.{name}.int": unbind for name in ("unbind", "unbind_copy")},
    **{f"aten.{name}.default": stopped for name in ("detach", "detach_", "detach_copy")},
    "aten.numpy_T.default": reverse_dimensions,
    "aten.split.sizes": split_with_sizes,
    "aten.to.dtype": converted,
    "aten.to.device": to_device,
    "aten.to.other": to_other,
    "aten.type_as.default": to_other,
    "aten._to_copy.default": to_copy,
    "prims.convert_element_type.default": converted,
    "aten.copy.default": copy,
    "aten.view.dtype": view_dtype,
    "aten.view_copy.dtype": view_dtype,
    "aten.expand_as.default": expand_as,
    "aten.broadcast_tensors.default": broadcast_tensors,
    "aten.flatten.using_ints": flatten,
    "aten.unflatten.int": unflatten,
    "aten.repeat.default": repeat,
    "aten.tile.default": tile,
    "aten.repeat_interleave.self_int": repeat_interleave,
    "aten.cat.default": cat,
    "aten.stack.default": stack,
    "aten.flip.default": flip,
    "aten.roll.default": roll,
}

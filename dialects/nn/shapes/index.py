"""Shapes of ops that read where an index tensor says."""

from __future__ import annotations

from ttc.dialects.core.errors import Error
from ttc.dialects.core.shapes import Shape, axis_in


def gather(x: Shape, indices: Shape, *, axis: int) -> Shape:
    """Return the shape of x with that of indices in place of the axis.  Raises E0412."""
    place = axis_in(axis, len(x))
    return (*x[:place], *indices, *x[place + 1 :])


def gather_elements(x: Shape, indices: Shape, *, axis: int) -> Shape:
    """Return the shape of indices.  Raises E0401, E0412."""
    place = axis_in(axis, len(x))
    if len(indices) != len(x):
        raise Error("E0401", f"indices {list(indices)} are not of the rank of {list(x)}")
    require_not_larger(indices, x, place)
    return indices


def gather_nd(x: Shape, indices: Shape, *, batch_dims: int) -> Shape:
    """Return the shape of the tuples, then what they leave of x.  Raises E0401, E0402."""
    if not 0 <= batch_dims < min(len(x), len(indices)):
        raise Error("E0402", f"batch_dims {batch_dims} does not suit {list(x)} and indices {list(indices)}")
    depth = indices[-1]
    if depth < 1 or batch_dims + depth > len(x):
        raise Error("E0401", f"indices {list(indices)} hold tuples of {depth} for {list(x)}")
    if x[:batch_dims] != indices[:batch_dims]:
        raise Error("E0401", f"{list(x)} and indices {list(indices)} differ in the first {batch_dims} dimensions")
    return (*indices[:-1], *x[batch_dims + depth :])


def require_not_larger(indices: Shape, x: Shape, axis: int) -> None:
    """Raises E0401 if indices are larger than x in a dimension other than the axis."""
    for i, (length, count) in enumerate(zip(x, indices, strict=True)):
        if i != axis and min(length, count) >= 0 and count > length:
            raise Error("E0401", f"indices {list(indices)} are larger than {list(x)} in dimension {i}")

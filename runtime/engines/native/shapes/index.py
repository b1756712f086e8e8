"""Shapes of ops that read or write where an index tensor says."""

from __future__ import annotations

from ttc.runtime.engines.native.prepare.shape_rules import Shape, axis_in, require


def embedding(table: Shape, indices: Shape) -> Shape:
    """[..., width]."""
    require(len(table) == 2, "no table")
    return (*indices, table[1])


def gather(x: Shape, indices: Shape, *, axis: int) -> Shape:
    """That of x, the indices' in place of the axis."""
    at = axis_in(axis, len(x))
    return (*x[:at], *indices, *x[at + 1 :])


def gather_elements(x: Shape, indices: Shape, *, axis: int) -> Shape:
    """That of the indices."""
    _require_elements(x, indices, axis)
    return indices


def gather_nd(x: Shape, indices: Shape, *, batch_dims: int) -> Shape:
    """That of the tuples, then what they leave of x."""
    require(indices and 0 <= batch_dims < min(len(indices), len(x) + 1), "dimensions of a batch")
    last = batch_dims + indices[-1]
    require(x[:batch_dims] == indices[:batch_dims] and last <= len(x), "tuples that are too long")
    return (*indices[:-1], *x[last:])


def scatter_elements(x: Shape, indices: Shape, updates: Shape, *, reduction: str, axis: int) -> Shape:
    """That of x."""
    del reduction
    _require_elements(x, indices, axis)
    require(updates == indices, "other updates than indices")
    return x


def scatter_nd(x: Shape, indices: Shape, updates: Shape, *, reduction: str) -> Shape:
    """That of x."""
    del reduction
    require(indices and indices[-1] <= len(x), "tuples that are too long")
    require(updates == (*indices[:-1], *x[indices[-1] :]), "other updates than indices")
    return x


def _require_elements(x: Shape, indices: Shape, axis: int) -> None:
    at = axis_in(axis, len(x))
    require(len(indices) == len(x), "indices of another rank")
    require(all(i == at or n <= size for i, (n, size) in enumerate(zip(indices, x, strict=True))), "more indices than elements")

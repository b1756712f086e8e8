"""Gradients of ops that pick elements: cotangents are added where the elements came from."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from ttc.dialects.core.shapes import axis_in
from ttc.dialects.nn.gradients.base import Cotangents, GradientSite, gradient
from ttc.dialects.nn.making import OpMaker, zeros


@gradient("nn.gather")
def gather(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return the cotangent of x: slices of dy added to those that the indices name."""
    x, indices = site.operand(0), site.operand(1)
    shape, places = b.shape(x), b.shape(indices)
    axis, dy = axis_in(site.attrs["axis"], len(shape)), site.dy
    count = len(places)
    if axis:
        order = (*range(axis, axis + count), *range(axis), *range(axis + count, b.rank(dy)))
        dy = b.nn("transpose", dy, perm=order)
    start = zeros(b, x, (shape[axis], *shape[:axis], *shape[axis + 1 :]))
    found = b.nn("scatter_nd", start, b.reshape(indices, *places, 1), dy, reduction="add")
    if axis:
        found = b.nn("transpose", found, perm=(*range(1, axis + 1), 0, *range(axis + 1, len(shape))))
    return [found, None]


@gradient("nn.gather_elements")
def gather_elements(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return the cotangent of x: elements of dy added where the indices name."""
    start = zeros(b, site.operand(0))
    return [b.nn("scatter_elements", start, site.operand(1), site.dy, axis=site.attrs["axis"], reduction="add"), None]


@gradient("nn.gather_nd")
def gather_nd(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return the cotangent of x: slices of dy added where the index tuples name."""
    indices = with_batch(b, site.operand(1), site.attrs["batch_dims"])
    return [b.nn("scatter_nd", zeros(b, site.operand(0)), indices, site.dy, reduction="add"), None]


def with_batch(b: OpMaker, indices: SSAValue, batch_dims: int) -> SSAValue:
    """Index tuples that begin with the places in the first dimensions, which indices and what they index share."""
    if not batch_dims:
        return indices
    shape = b.shape(indices)
    grid = np.stack(np.meshgrid(*(np.arange(d) for d in shape[:batch_dims]), indexing="ij"), axis=-1)
    grid = grid.reshape(*shape[:batch_dims], *(1,) * (len(shape) - 1 - batch_dims), batch_dims)
    places = b.nn("expand", b.constant(grid, b.dtype(indices)), shape=(*shape[:-1], batch_dims))
    return b.nn("concat", places, indices, axis=-1)

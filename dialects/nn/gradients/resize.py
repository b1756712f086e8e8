"""Gradient of resizing, which is a product with a matrix along each dimension."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from ttc.dialects.core.kernels.resampling import ResampledAxis, taps
from ttc.dialects.nn.gradients.base import Cotangents, GradientSite, gradient, no_gradient, total
from ttc.dialects.nn.gradients.pool import along_axes
from ttc.dialects.nn.making import OpMaker

no_gradient("its scales are data, on which its shape and its samples depend", "nn.resize_by")


@gradient("nn.resize")
def resize(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return the cotangent of x: dy along each dimension times the matrix that says how much of each element is in each sample."""
    shape = b.shape(site.operand(0))
    matrices = [_matrix(site.attrs, len(shape), axis, size) for axis, size in enumerate(shape)]
    return [resized_back(b, site.dy, matrices, 0)]


def resized_back(b: OpMaker, dy: SSAValue, matrices: list[NDArray], first: int) -> SSAValue:
    """Return dy times a matrix [samples, elements] along each dimension from the first on; where samples repeat elements, their sums."""
    rest: list[NDArray] = []
    for axis, matrix in enumerate(matrices, first):
        count, size = matrix.shape
        times = count // size if size and count % size == 0 else 0
        if times > 1 and np.array_equal(matrix, np.repeat(np.eye(size), times, axis=0)):
            shape = b.shape(dy)
            dy = total(b, b.reshape(dy, *shape[:axis], size, times, *shape[axis + 1 :]), (axis + 1,))
            matrix = np.eye(size)
        rest.append(matrix)
    return along_axes(b, dy, rest, first)


def _matrix(attrs: dict[str, Any], rank: int, axis: int, size: int) -> NDArray:
    """[samples, elements] of one dimension; samples outside the window's image are of no element."""
    count, scale = attrs["sizes"][axis], attrs["scales"][axis]
    start, end = attrs["window"][axis], attrs["window"][rank + axis]
    if (count, scale, start, end) == (size, 1.0, 0.0, 1.0):
        return np.eye(size)
    names = ("mode", "coordinates", "rounding", "cubic", "exclude_outside", "antialias")
    found = taps(ResampledAxis(size, count, scale, start, end, *(attrs[name] for name in names)))
    matrix = np.zeros((count, size))
    np.add.at(matrix, (np.arange(count)[:, None], found.places), found.weights)
    matrix[found.outside] = 0.0
    return matrix

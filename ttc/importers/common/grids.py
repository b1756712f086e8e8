"""Grids of positions in images."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.tracking import MAX_ELEMENTS
from ttc.importers.common.unsupported import Unsupported


def affine_grid(b: Builder, theta: SSAValue, sizes: tuple[int, ...], *, align_corners: bool) -> SSAValue:
    """Return the positions theta @ (x, y, 1) or (x, y, z, 1) for every place of an image of the size n, c, spatial...: a matrix product."""
    spatial = sizes[2:]
    rank = len(spatial)
    if rank not in (2, 3) or b.shape(theta) != (sizes[0], rank, rank + 1) or min(spatial) < 1:
        raise Error("E0401", f"theta {b.spec(theta)} does not fit size {list(sizes)}")
    if prod(spatial) > MAX_ELEMENTS:
        raise Unsupported(f"more than {MAX_ELEMENTS} places")
    places = b.constant(_places(spatial, align_corners), b.dtype(theta))
    found = b.nn("matmul", places, theta, None, transpose_a=False, transpose_b=True)
    return b.reshape(found, sizes[0], *spatial, rank)


def _places(spatial: tuple[int, ...], align_corners: bool) -> NDArray:
    """[places, rank + 1]: normalized coordinates of the elements, the last dimension's first, then 1."""
    axes = [np.linspace(-1, 1, d) if align_corners else (2 * np.arange(d) + 1) / d - 1 for d in spatial]
    grids = np.meshgrid(*axes, indexing="ij")[::-1]
    return np.stack([*(g.ravel() for g in grids), np.ones(prod(spatial))], axis=-1)

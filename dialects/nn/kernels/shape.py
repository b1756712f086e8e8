"""Numpy semantics of the ops that keep elements and change shape."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.nn.kernels import KERNELS


@KERNELS.rule("reshape")
def reshape(x: NDArray, *, shape: tuple[int, ...]) -> NDArray:
    """Return the elements in row-major order under another shape; -1: what remains."""
    try:
        return x.reshape(shape)
    except ValueError:
        raise Error("E0802", f"{x.size} elements do not fill shape {list(shape)}") from None


KERNELS.add("transpose", lambda x, *, perm: np.transpose(x, perm))
KERNELS.add("expand", lambda x, *, shape: np.broadcast_to(x, np.broadcast_shapes(x.shape, shape)))
KERNELS.add("repeat", lambda x, *, repeats: np.tile(x, repeats))


@KERNELS.rule("shape")
def shape(x: NDArray) -> NDArray:
    """Return the sizes of the dimensions, as int64."""
    return np.array(x.shape, np.int64)

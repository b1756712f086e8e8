"""Numpy semantics of the elementwise ops of two operands, and of the choice between two."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.nn.kernels import KERNELS, of_two


@KERNELS.rule("div")
def div(a: NDArray, b: NDArray) -> NDArray:
    """a / b; of integers toward zero, and 0 where b is 0."""
    if a.dtype.kind == "u":
        return a // b
    if a.dtype.kind == "i":
        return (a - np.fmod(a, b)) // b  # floor division of a multiple of b is exact
    return np.divide(a, b)


@KERNELS.rule("pow")
def pow_(a: NDArray, b: NDArray) -> NDArray:
    """Return a^b, elementwise, in a's dtype."""
    if b.size == 1 and b.reshape(()) == 2:  # the commonest exponent: numpy's power takes twenty times as long
        return np.square(np.broadcast_to(a, np.broadcast_shapes(a.shape, b.shape)))
    if a.dtype.kind == "f":
        return np.power(a, b.astype(a.dtype, copy=False)) if b.dtype != np.float64 else np.power(a, b).astype(a.dtype, copy=False)
    if b.dtype.kind == "f" or bool((b < 0).any()):
        return np.power(a.astype(np.float64), b).astype(a.dtype)
    return np.power(a, b).astype(a.dtype, copy=False)


KERNELS.add("mod", lambda a, b, *, fmod: np.fmod(a, b) if fmod else np.mod(a, b))
KERNELS.add("where", lambda c, a, b: np.where(c, a, b))
of_two("add", np.add)
of_two("sub", np.subtract)
of_two("mul", np.multiply)
of_two("minimum", np.minimum)
of_two("maximum", np.maximum)
of_two("equal", np.equal)
of_two("not_equal", np.not_equal)
of_two("less", np.less)
of_two("less_equal", np.less_equal)
of_two("greater", np.greater)
of_two("greater_equal", np.greater_equal)
of_two("and", np.logical_and)
of_two("or", np.logical_or)
of_two("xor", np.logical_xor)

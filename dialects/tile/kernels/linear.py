"""Numpy semantics of the matrix product on tiles."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.kernels.epilogue import finish
from ttc.dialects.core.plain.interpret import kernel
from ttc.dialects.tile.kernels import KERNELS


@KERNELS.rule("matmul")
def matmul(
    a: NDArray,
    b: NDArray,
    bias: NDArray | None = None,
    *,
    transpose_a: bool,
    transpose_b: bool,
    accumulate: bool = False,
    activation: str | None = None,
    activation_args: tuple[float, ...] = (),
) -> Any:
    """activation(a @ b + bias); with accumulate, the sum over the last but two dimension of the products."""
    attrs = {"transpose_a": transpose_a, "transpose_b": transpose_b}
    if not accumulate:
        return kernel("nn.matmul")(a, b, bias, activation=activation, activation_args=activation_args, **attrs)
    left = a.swapaxes(-1, -2) if transpose_a else a
    right = b.swapaxes(-1, -2) if transpose_b else b
    return finish(_accumulated(left, right), bias, activation, activation_args)


def _accumulated(a: NDArray, b: NDArray) -> NDArray:
    """Sum over z of a[..., z, m, k] @ b[..., z, k, n]; few columns are gathered for one product, else one a matrix."""
    count, k = a.shape[-3], a.shape[-1]
    if k < 64 and b.shape[-3] == count:
        wide = np.moveaxis(a, -3, -2).reshape(*a.shape[:-3], a.shape[-2], count * k)
        return np.matmul(wide, b.reshape(*b.shape[:-3], count * k, b.shape[-1]))
    y = np.matmul(a[..., 0, :, :], b[..., 0, :, :])
    for z in range(1, count):
        y += np.matmul(a[..., z, :, :], b[..., z, :, :])
    return y

"""Numpy semantics of matrix products and the determinant."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.kernels.blas import product
from ttc.dialects.core.kernels.epilogue import finish
from ttc.dialects.core.kernels.integers import sums_are_exact
from ttc.dialects.nn.kernels import KERNELS


@KERNELS.rule("matmul")
def matmul(
    a: NDArray,
    b: NDArray,
    bias: NDArray | None = None,
    *,
    transpose_a: bool,
    transpose_b: bool,
    activation: str | None = None,
    activation_args: tuple[float, ...] = (),
) -> NDArray:
    """activation(a @ b + bias) over the last two dimensions, the others broadcast."""
    left = a.swapaxes(-1, -2) if transpose_a else a
    right = b.swapaxes(-1, -2) if transpose_b else b
    return finish(_product(left, right), bias, activation, activation_args)


@KERNELS.rule("grouped_matmul")
def grouped_matmul(x: NDArray, w: NDArray, groups: NDArray, *, transpose_w: bool) -> NDArray:
    """x[i] @ w[groups[i]], a product a group that has rows."""
    order = np.argsort(groups, kind="stable")
    sorted_groups = groups[order]
    y = np.zeros((x.shape[0], w.shape[1 if transpose_w else 2]), x.dtype)
    for group in range(w.shape[0]):
        first, end = np.searchsorted(sorted_groups, (group, group + 1))
        if first < end:
            rows = order[first:end]
            y[rows] = x[rows] @ (w[group].T if transpose_w else w[group])
    return y


KERNELS.add("det", lambda x: np.asarray(np.linalg.det(x)))


def _product(a: NDArray, b: NDArray) -> NDArray:
    """One call of BLAS where all of `a` meets the same matrix, else one a matrix; integers go through float64 where that is exact."""
    if a.dtype.kind in "iu" and sums_are_exact(a, b, a.shape[-1]):
        return _product(a.astype(np.float64), b.astype(np.float64)).astype(np.int64).astype(a.dtype)
    if b.ndim != 2 or a.ndim == 2 or not a.flags.c_contiguous or not a.size:
        return product(a, b)
    return product(a.reshape(-1, a.shape[-1]), b).reshape(*a.shape[:-1], b.shape[1])

"""Numpy semantics of the normalizations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.nn.kernels import KERNELS


@KERNELS.rule("batch_norm")
def batch_norm(x: NDArray, scale: NDArray, bias: NDArray, mean: NDArray, var: NDArray, *, eps: float, axis: int) -> NDArray:
    """(x - mean) * scale / sqrt(var + eps) + bias, the vectors along the axis."""
    shape = [1] * x.ndim
    shape[axis] = -1
    y = x - mean.reshape(shape)
    y *= (scale / np.sqrt(var + eps)).reshape(shape)
    y += bias.reshape(shape)
    return y


@KERNELS.rule("batch_norm_training")
def batch_norm_training(
    x: NDArray,
    scale: NDArray,
    bias: NDArray,
    mean: NDArray,
    var: NDArray,
    *,
    eps: float,
    axis: int,
    momentum: float,
    unbiased: bool,
) -> tuple[NDArray, ...]:
    """Return the normalized batch, its mean and 1 / deviation, and the running mean and variance that it moves."""
    axes = tuple(i for i in range(x.ndim) if i != axis % x.ndim)
    now, spread = x.mean(axis=axes, dtype=x.dtype), x.var(axis=axes, dtype=x.dtype)
    count = x.size // max(x.shape[axis], 1)
    sample = spread * (count / max(count - 1, 1)) if unbiased else spread
    moved = [((1 - momentum) * old + momentum * new).astype(x.dtype) for old, new in ((mean, now), (var, sample))]
    return batch_norm(x, scale, bias, now, spread, eps=eps, axis=axis), now, 1 / np.sqrt(spread + x.dtype.type(eps)), *moved


@KERNELS.rule("layer_norm")
def layer_norm(x: NDArray, scale: NDArray | None = None, bias: NDArray | None = None, *, axis: int, eps: float) -> NDArray:
    """(x - mean) / sqrt(variance + eps) * scale + bias; mean and variance over dimensions axis..rank-1, in two passes."""
    rows = _rows(x, axis)
    y = rows - rows.mean(axis=1, keepdims=True)
    y /= np.sqrt(_mean_square(y) + eps)
    return _affine(y.reshape(x.shape), scale, bias)


@KERNELS.rule("rms_norm")
def rms_norm(x: NDArray, scale: NDArray, *, axis: int, eps: float) -> NDArray:
    """x / sqrt(mean x^2 + eps) * scale; the mean over dimensions axis..rank-1."""
    rows = _rows(x, axis)
    y = rows / np.sqrt(_mean_square(rows) + eps)
    return _affine(y.reshape(x.shape), scale, None)


def _rows(x: NDArray, axis: int) -> NDArray:
    """[outer, elements that are normalized together]."""
    inner = int(np.prod(x.shape[axis:], dtype=np.int64))
    return x.reshape(x.size // max(inner, 1), inner)


def _mean_square(rows: NDArray) -> NDArray:
    """Return the mean square of each row, [outer, 1]."""
    return (np.vecdot(rows, rows) / rows.shape[1]).astype(rows.dtype)[:, None]


def _affine(y: NDArray, scale: NDArray | None, bias: NDArray | None) -> NDArray:
    if scale is not None:
        y *= scale
    if bias is not None:
        y += bias
    return y

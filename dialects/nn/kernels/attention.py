"""Numpy kernels of attention, as training computes it, too, and of its gradient, shared by nn and tile."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.kernels.attend import attend, differentiated, log_sums_of
from ttc.dialects.core.kernels.blas import product
from ttc.dialects.nn.kernels import KERNELS


@KERNELS.rule("attention")
def attention(q: NDArray, k: NDArray, v: NDArray, mask: NDArray | None = None, *, scale: float, zero_masked: bool) -> NDArray:
    """softmax(q k^T * scale + mask) v over the last two dimensions; with zero_masked, rows without any finite score give 0."""
    return attend(product, q, k, v, mask, scale=scale, zero_masked=zero_masked)


@KERNELS.rule("attention_training")
def attention_training(
    q: NDArray, k: NDArray, v: NDArray, mask: NDArray | None = None, *, scale: float, zero_masked: bool
) -> tuple[NDArray, NDArray]:
    """Return the result of attention, and ln sum exp of the scores of each row."""
    y = attention(q, k, v, mask, scale=scale, zero_masked=zero_masked)
    added = None if mask is None else _wide(mask)
    return y, log_sums_of(product, _wide(q), _wide(k), added, y.shape[:-2], scale=scale, zero_masked=zero_masked)


@KERNELS.rule("attention_gradient")
def attention_gradient(
    q: NDArray,
    k: NDArray,
    v: NDArray,
    y: NDArray,
    log_sums: NDArray,
    dy: NDArray,
    mask: NDArray | None = None,
    *,
    scale: float,
) -> tuple[NDArray, NDArray, NDArray]:
    """Return the cotangents of q, k and v, computed in float32 at least."""
    result = _wide(y), _wide(log_sums), _wide(dy)
    added = None if mask is None else _wide(mask)
    dq, dk, dv = differentiated(product, _wide(q), _wide(k), _wide(v), *result, added, scale=scale)
    return dq.astype(q.dtype), dk.astype(q.dtype), dv.astype(q.dtype)


def _wide(x: NDArray) -> NDArray:
    """Return numbers in float32, or in float64 where they are."""
    return x.astype(np.float64 if x.dtype == np.float64 else np.float32, copy=False)

"""Attention as a function of the matrix product it is computed with."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

_SCORES_BYTES = 64 << 20
"""Bound on a block of scores; longer sequences are computed by blocks of query rows."""


def attend(
    product: Callable[[NDArray, NDArray], NDArray],
    q: NDArray,
    k: NDArray,
    v: NDArray,
    mask: NDArray | None,
    *,
    scale: float,
    zero_masked: bool,
) -> NDArray:
    """softmax(q k^T * scale + mask) v over the last two dimensions; with zero_masked, rows without any finite score give 0.

    Args:    product: of two arrays over their last two dimensions; gives an array of the caller's own.
    """
    lead = np.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    rows, columns = q.shape[-2], k.shape[-2]
    row_bytes = int(np.prod(lead, dtype=np.int64)) * columns * q.itemsize
    step = max(1, min(rows, _SCORES_BYTES // max(row_bytes, 1)))
    y = np.empty((*lead, rows, v.shape[-1]), q.dtype)
    for top in range(0, rows, step):
        block = slice(top, top + step)
        part = None if mask is None else mask[..., block, :] if mask.ndim > 1 and mask.shape[-2] > 1 else mask
        scores = product(q[..., block, :] * q.dtype.type(scale), k.swapaxes(-1, -2))
        weights, total = _weights(scores, part, zero_masked)
        y[..., block, :] = product(weights, v) / total
    return y


def _weights(scores: NDArray, mask: NDArray | None, zero_masked: bool) -> tuple[NDArray, NDArray]:
    """exp(scores + mask - their largest) of each row, and its sum.  The division by the sum comes last, on the smaller array."""
    if mask is not None:
        scores = _add(scores, mask)
    top = scores.max(axis=-1, keepdims=True)
    dead = np.isneginf(top) & zero_masked
    scores -= np.where(dead, 0, top).astype(scores.dtype)
    np.exp(scores, out=scores)
    total = scores.sum(axis=-1, keepdims=True)
    return scores, np.where(dead, 1, total).astype(scores.dtype)


def _add(scores: NDArray, mask: NDArray) -> NDArray:
    """scores + mask, in place unless the mask has leading dimensions that the scores lack (those of v)."""
    if np.broadcast_shapes(scores.shape, mask.shape) != scores.shape:
        return scores + mask
    scores += mask
    return scores

"""Numpy semantics of attention."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_SCORES_BYTES = 64 << 20
"""Bound on a block of scores; longer sequences are computed by blocks of query rows."""


def attention(q: NDArray, k: NDArray, v: NDArray, mask: NDArray | None = None, *, scale: float, zero_masked: bool) -> NDArray:
    """softmax(q k^T * scale + mask) v over the last two dimensions; with zero_masked, rows without any finite score give 0."""
    lead = np.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    rows, columns = q.shape[-2], k.shape[-2]
    row_bytes = int(np.prod(lead, dtype=np.int64)) * columns * q.itemsize
    step = max(1, min(rows, _SCORES_BYTES // max(row_bytes, 1)))
    y = np.empty((*lead, rows, v.shape[-1]), q.dtype)
    for top in range(0, rows, step):
        block = slice(top, top + step)
        part = None if mask is None else mask[..., block, :] if mask.ndim > 1 and mask.shape[-2] > 1 else mask
        y[..., block, :] = _block(q[..., block, :] * q.dtype.type(scale), k, v, part, zero_masked)
    return y


def _block(q: NDArray, k: NDArray, v: NDArray, mask: NDArray | None, zero_masked: bool) -> NDArray:
    """Attention of scaled query rows.  The division by the sum comes last, on the smaller array."""
    scores = np.matmul(q, k.swapaxes(-1, -2))
    if mask is not None:
        scores = _add(scores, mask)
    top = scores.max(axis=-1, keepdims=True)
    dead = np.isneginf(top) & zero_masked
    scores -= np.where(dead, 0, top).astype(scores.dtype)
    np.exp(scores, out=scores)
    total = scores.sum(axis=-1, keepdims=True)
    y = np.matmul(scores, v)
    y /= np.where(dead, 1, total).astype(y.dtype)
    return y


def _add(scores: NDArray, mask: NDArray) -> NDArray:
    """scores + mask, in place unless the mask has leading dimensions that the scores lack (those of v)."""
    if np.broadcast_shapes(scores.shape, mask.shape) != scores.shape:
        return scores + mask
    scores += mask
    return scores

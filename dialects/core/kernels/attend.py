"""Attention and its gradient as functions of the matrix product they are computed with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Product: TypeAlias = Callable[[NDArray, NDArray], NDArray]
"""The product of two arrays over their last two dimensions; gives an array of the caller's own."""

Exponential: TypeAlias = Callable[..., object]
"""Writes the exponentials of an array to `out`."""

_SCORES_BYTES = 64 << 20
"""Bound on a block of scores; longer sequences are computed by blocks of query rows."""


def attend(
    product: Product,
    q: NDArray,
    k: NDArray,
    v: NDArray,
    mask: NDArray | None,
    *,
    scale: float,
    zero_masked: bool,
    exp: Exponential = np.exp,
) -> NDArray:
    """softmax(q k^T * scale + mask) v over the last two dimensions; with zero_masked, rows without any finite score give 0."""
    lead = np.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    y = np.empty((*lead, q.shape[-2], v.shape[-1]), q.dtype)
    for block, scores in _blocks_of_scores(product, q, k, mask, lead, scale):
        weights, total = _weights(scores, zero_masked, exp)
        y[..., block, :] = product(weights, v) / total
    return y


def log_sums_of(
    product: Product, q: NDArray, k: NDArray, mask: NDArray | None, lead: tuple[int, ...], *, scale: float, zero_masked: bool
) -> NDArray:
    """Return ln sum exp(q k^T * scale + mask) of each row [lead..., rows]; with zero_masked, 0 of rows without any finite score."""
    found = np.empty((*lead, q.shape[-2]), q.dtype)
    for block, scores in _blocks_of_scores(product, q, k, mask, lead, scale):
        top = scores.max(axis=-1, keepdims=True)
        _, total = _weights(scores, zero_masked)
        sums = np.log(total) + np.where(np.isneginf(top) & zero_masked, 0, top)
        found[..., block] = np.where(np.isneginf(top) & (not zero_masked), np.nan, sums)[..., 0]
    return found


def differentiated(
    product: Product,
    q: NDArray,
    k: NDArray,
    v: NDArray,
    y: NDArray,
    log_sums: NDArray,
    dy: NDArray,
    mask: NDArray | None,
    *,
    scale: float,
) -> tuple[NDArray, NDArray, NDArray]:
    """Return the cotangents of q, k and v, each of all leading dimensions, given the result, its cotangent, and `log_sums_of`."""
    lead = y.shape[:-2]
    dq, dk, dv = (np.zeros((*lead, *x.shape[-2:]), q.dtype) for x in (q, k, v))
    for block, scores in _blocks_of_scores(product, q, k, mask, lead, scale):
        part = dy[..., block, :]
        p = np.exp(scores - log_sums[..., block, None])
        common = (part * y[..., block, :]).sum(axis=-1, keepdims=True)
        of_scores = p * (product(part, v.swapaxes(-1, -2)) - common) * q.dtype.type(scale)
        dq[..., block, :] = product(of_scores, k)
        dk += product(of_scores.swapaxes(-1, -2), q[..., block, :])
        dv += product(p.swapaxes(-1, -2), part)
    return dq, dk, dv


def _blocks_of_scores(
    product: Product, q: NDArray, k: NDArray, mask: NDArray | None, lead: tuple[int, ...], scale: float
) -> Iterator[tuple[slice, NDArray]]:
    """Yield ranges of query rows, and q k^T * scale + mask of each, of the caller's own."""
    rows, columns = q.shape[-2], k.shape[-2]
    row_bytes = int(np.prod(lead, dtype=np.int64)) * columns * q.itemsize
    step = max(1, min(rows, _SCORES_BYTES // max(row_bytes, 1)))
    for top in range(0, rows, step):
        block = slice(top, top + step)
        part = None if mask is None else mask[..., block, :] if mask.ndim > 1 and mask.shape[-2] > 1 else mask
        scores = product(q[..., block, :] * q.dtype.type(scale), k.swapaxes(-1, -2))
        yield block, scores if part is None else _add(scores, part)


def _weights(scores: NDArray, zero_masked: bool, exp: Exponential = np.exp) -> tuple[NDArray, NDArray]:
    """exp(scores - their largest) of each row, and its sum.  The division by the sum comes last, on the smaller array."""
    top = scores.max(axis=-1, keepdims=True)
    dead = np.isneginf(top) & zero_masked
    scores -= np.where(dead, 0, top).astype(scores.dtype)
    exp(scores, out=scores)
    total = scores.sum(axis=-1, keepdims=True)
    return scores, np.where(dead, 1, total).astype(scores.dtype)


def _add(scores: NDArray, mask: NDArray) -> NDArray:
    """scores + mask, in place unless the mask has leading dimensions that the scores lack (those of v)."""
    if np.broadcast_shapes(scores.shape, mask.shape) != scores.shape:
        return scores + mask
    scores += mask
    return scores

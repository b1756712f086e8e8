"""Attention of onnxruntime's domain, put together: heads, masks, scores."""

from __future__ import annotations

from math import sqrt

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.shapes import equal_parts
from ttc.importers.common.unsupported import Unsupported

INT64 = np.dtype(np.int64)
MASKED = -10000.0
"""The score of what is masked unless a node says otherwise."""


def split_heads(b: Builder, x: SSAValue, heads: int) -> SSAValue:
    """Return [n, s, heads * d] as [n, heads, s, d]. Raises E0401."""
    shape = b.shape(x)
    if len(shape) != 3 or heads < 1 or shape[2] % heads:
        raise Error("E0401", f"{b.spec(x)} does not fall into {heads} heads")
    return b.nn("transpose", b.reshape(x, *shape[:2], heads, shape[2] // heads), perm=(0, 2, 1, 3))


def joined_heads(b: Builder, x: SSAValue) -> SSAValue:
    """Return [n, heads, s, d] as [n, s, heads * d]."""
    n, heads, s, d = b.shape(x)
    return b.reshape(b.nn("transpose", x, perm=(0, 2, 1, 3)), n, s, heads * d)


def total_of(b: Builder, masks: tuple[SSAValue | None, ...]) -> SSAValue | None:
    """Return the sum of the masks that are present."""
    given = [m for m in masks if m is not None]
    if not given:
        return None
    total = given[0]
    for mask in given[1:]:
        total = b.nn("add", total, mask)
    return total


def padding_mask(b: Builder, mask: SSAValue, scores: tuple[int, int, int], filler: float, dtype: np.dtype) -> SSAValue:
    """Return a term of the scores [n, heads, rows, columns] from a mask as onnxruntime has them.

    Args:
        mask: [n, columns] or [n, rows, columns], 0 where masked; [n]: how many columns count; [2 n]: their ends, then their starts.
        scores: samples, rows and columns.
    Raises: Unsupported.
    """
    samples, rows, columns = scores
    shape = b.shape(mask)
    if shape in ((samples,), (2 * samples,)):
        keep = _within(b, mask, samples, columns)
    elif shape in ((samples, columns), (samples, rows, columns)):
        keep = b.reshape(b.nn("greater", mask, b.scalar(0, mask)), samples, 1, shape[1] if len(shape) == 3 else 1, columns)
    else:
        raise Unsupported(f"a mask {b.spec(mask)} for {samples} samples of {rows} by {columns} scores")
    zero, hidden = (b.constant(np.array(v), dtype) for v in (0.0, filler))
    return b.nn("where", keep, zero, hidden)


def _within(b: Builder, bounds: SSAValue, samples: int, columns: int) -> SSAValue:
    """Columns before the ends and from the starts on."""
    steps = b.constant(np.arange(columns), b.dtype(bounds))
    ends, *starts = (b.nn("reshape", v, shape=(samples, 1, 1, 1)) for v in equal_parts(b, bounds, 0, b.shape(bounds)[0] // samples))
    keep = b.nn("less", steps, ends)
    for start in starts:
        keep = b.nn("and", keep, b.nn("greater_equal", steps, start))
    return keep


def lowest(dtype: np.dtype) -> float:
    """Return a number below all scores, which no sum with them makes infinite in the dtype."""
    return float(np.finfo(np.float32).min) if dtype.itemsize > 2 else -65504.0


def causal_mask(b: Builder, rows: int, columns: int, past: int, dtype: np.dtype) -> SSAValue:
    """Return the mask in which row i sees the columns up to past + i."""
    seen = np.arange(columns)[None, :] <= past + np.arange(rows)[:, None]
    return b.constant(np.where(seen, 0.0, lowest(dtype)), dtype)


def attend(b: Builder, q: SSAValue, k: SSAValue, v: SSAValue, mask: SSAValue | None, scale: float) -> SSAValue:
    """Return softmax(q k^T scale + mask) v for [n, heads, s, d]; scale 0 stands for 1 / sqrt(d)."""
    return b.nn("attention", q, k, v, mask, scale=scale or 1 / sqrt(b.shape(q)[-1]), zero_masked=False)


def grouped(b: Builder, x: SSAValue, heads: int) -> SSAValue:
    """Return heads [n, h, t, d] repeated until there are as many as queries have. Raises E0401."""
    n, have, t, d = b.shape(x)
    if have < 1 or heads % have:
        raise Error("E0401", f"{heads} heads of queries do not share {have} heads of keys")
    if heads == have:
        return x
    wide = b.nn("expand", b.reshape(x, n, have, 1, t, d), shape=(n, have, heads // have, t, d))
    return b.reshape(wide, n, heads, t, d)

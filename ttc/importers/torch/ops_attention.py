"""Scaled dot-product attention, and what backends compute beside it."""

from __future__ import annotations

from math import sqrt

import numpy as np

from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.torch.builder import TorchBuilder
from ttc.importers.torch.elements import BOOL
from ttc.importers.torch.tables import Rows


def attention(
    b: TorchBuilder,
    query: SSAValue,
    key: SSAValue,
    value: SSAValue,
    mask: SSAValue | None,
    dropout: float,
    is_causal: bool,
    *,
    scale: float | None,
    enable_gqa: bool = False,
) -> SSAValue:
    """Return softmax(q k^T scale + mask) v; a mask of truth values keeps where it is true; causal: keys up to the query's own place."""
    if enable_gqa:
        key, value = (shared_heads(b, x, b.shape(query)[-3]) for x in (key, value))
    mask, factor = mask_of(b, query, key, mask, is_causal), factor_of(b, query, scale)
    if dropout:
        scores = b.nn("mul", b.nn("matmul", query, key, None, transpose_a=False, transpose_b=True), b.scalar(factor, query))
        shares = b.nn("softmax", scores if mask is None else b.nn("add", scores, mask), axis=-1)
        return b.nn("matmul", b.dropout(shares, dropout), value, None, transpose_a=False, transpose_b=False)
    return b.nn("attention", query, key, value, mask, scale=factor, zero_masked=True)


def factor_of(b: TorchBuilder, query: SSAValue, scale: float | None) -> float:
    """Return the factor of the scores: 1 / sqrt(d) where none is given."""
    return 1 / sqrt(b.shape(query)[-1]) if scale is None else float(scale)


def mask_of(b: TorchBuilder, query: SSAValue, key: SSAValue, mask: SSAValue | None, is_causal: bool) -> SSAValue | None:
    """Return what is added to the scores, in the dtype of the queries; None for nothing."""
    if is_causal:
        return _causal(b, query, key)
    return None if mask is None else additive(b, mask, b.dtype(query))


def shared_heads(b: TorchBuilder, x: SSAValue, heads: int) -> SSAValue:
    """Return [..., h, t, d] as [..., heads, t, d]: each head as often as query heads share it."""
    *lead, have, positions, width = b.shape(x)
    times = heads // have
    if times == 1:
        return x
    wide = b.nn("expand", b.reshape(x, *lead, have, 1, positions, width), shape=(*lead, have, times, positions, width))
    return b.reshape(wide, *lead, heads, positions, width)


def _causal(b: TorchBuilder, query: SSAValue, key: SSAValue) -> SSAValue:
    rows, columns = b.shape(query)[-2], b.shape(key)[-2]
    hidden = np.triu(np.full((rows, columns), -np.inf, np.float32), 1)
    return b.constant(hidden.astype(b.dtype(query)))


def additive(b: TorchBuilder, mask: SSAValue, dtype: np.dtype) -> SSAValue:
    """Return a mask as a term of the scores."""
    if b.dtype(mask) != BOOL:
        return b.cast(mask, dtype)
    zero, hidden = b.constant(np.zeros((), dtype)), b.constant(np.array(-np.inf).astype(dtype))
    return b.nn("where", mask, zero, hidden)


def efficient(
    b: TorchBuilder,
    query: SSAValue,
    key: SSAValue,
    value: SSAValue,
    bias: SSAValue | None,
    compute_log_sumexp: bool,
    dropout: float,
    is_causal: bool,
    *,
    scale: float | None,
) -> tuple[SSAValue | None, ...]:
    return attention(b, query, key, value, bias, dropout, is_causal, scale=scale), None, None, None


ROWS: Rows = {
    "aten.scaled_dot_product_attention.default": attention,
    "aten._scaled_dot_product_efficient_attention.default": efficient,
}

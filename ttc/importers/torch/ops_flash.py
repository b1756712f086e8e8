"""Attention as PyTorch's kernel for the CPU has it: beside the result the logarithm of each row's sum, which its gradient needs."""

from __future__ import annotations

from math import sqrt

import numpy as np

from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.nn.gradients.attention import of_scores
from ttc.importers.common.products import matmul
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.torch.builder import TorchBuilder
from ttc.importers.torch.elements import FLOAT32, times
from ttc.importers.torch.ops_attention import additive, attention, shared_heads
from ttc.importers.torch.tables import Rows


def flash(
    b: TorchBuilder,
    query: SSAValue,
    key: SSAValue,
    value: SSAValue,
    dropout: float,
    is_causal: bool,
    *,
    attn_mask: SSAValue | None,
    scale: float | None,
) -> tuple[SSAValue, SSAValue | None]:
    """Return the result, and log sum exp of each row of scores [n, h, s]; 0 for a row that is hidden whole. Heads may share keys and
    values.
    """
    result = attention(b, query, key, value, attn_mask, dropout, is_causal, scale=scale, enable_gqa=True)
    if not b.outputs[1]:
        return result, None
    scored = _scores(b, query, key, attn_mask, is_causal, scale)
    largest = b.nn("reduce_max", scored, axes=(3,), keepdims=True)
    total = b.nn("reduce_sum", b.nn("exp", b.nn("sub", scored, largest)), axes=(3,), keepdims=True)
    found = b.nn("add", largest, b.nn("log", total))
    hidden = b.nn("equal", largest, b.scalar(-np.inf, largest))
    found = b.nn("where", hidden, b.scalar(0, found), found)
    return result, b.reshape(found, *b.shape(found)[:3])


def flash_backward(
    b: TorchBuilder,
    grad_out: SSAValue,
    query: SSAValue,
    key: SSAValue,
    value: SSAValue,
    out: SSAValue,
    logsumexp: SSAValue,
    dropout_p: float,
    is_causal: bool,
    *,
    attn_mask: SSAValue | None,
    scale: float | None,
) -> tuple[SSAValue, ...]:
    """Return gradients of query, key and value[n, h, t, d], from the result and what `flash` gives beside it."""
    if dropout_p:
        raise Unsupported("random numbers (dropout)")
    wide_key, wide_value = (shared_heads(b, x, b.shape(query)[1]) for x in (key, value))
    grad, q, k, v, y = (b.cast(x, b.dtype(logsumexp)) for x in (grad_out, query, wide_key, wide_value, out))
    scored = _scores(b, query, key, attn_mask, is_causal, scale)
    weights = b.nn("exp", b.nn("sub", scored, b.reshape(logsumexp, *b.shape(logsumexp), 1)))
    scaled = times(b, of_scores(b, weights, grad, y, v), _factor(b, query, scale))
    found = matmul(b, scaled, k), matmul(b, _turned(b, scaled), q), matmul(b, _turned(b, weights), grad)
    return tuple(b.cast(_summed(b, x, b.shape(of)[1]), b.dtype(of)) for x, of in zip(found, (query, key, value), strict=True))


def _summed(b: TorchBuilder, x: SSAValue, heads: int) -> SSAValue:
    """x[n, h, t, d] summed over the heads that share one: [n, heads, t, d]."""
    n, have, *rest = b.shape(x)
    if have == heads:
        return x
    return b.nn("reduce_sum", b.reshape(x, n, heads, have // heads, *rest), axes=(2,), keepdims=False)


def _scores(b: TorchBuilder, query: SSAValue, key: SSAValue, mask: SSAValue | None, is_causal: bool, scale: float | None) -> SSAValue:
    """q k^T scale + mask[n, h, s, t] in float32 or float64."""
    key = shared_heads(b, key, b.shape(query)[1])
    dtype = max(FLOAT32, b.dtype(query), key=lambda d: d.itemsize)
    q, k = (b.cast(x, dtype) for x in (query, key))
    scored = times(b, matmul(b, q, _turned(b, k)), _factor(b, query, scale))
    if is_causal:
        rows, columns = b.shape(query)[-2], b.shape(key)[-2]
        scored = b.nn("add", scored, b.constant(np.triu(np.full((rows, columns), -np.inf, dtype), 1)))
    return scored if mask is None else b.nn("add", scored, additive(b, mask, dtype))


def _factor(b: TorchBuilder, query: SSAValue, scale: float | None) -> float:
    return 1 / sqrt(b.shape(query)[-1]) if scale is None else scale


def _turned(b: TorchBuilder, x: SSAValue) -> SSAValue:
    """x[n, h, a, b] -> [n, h, b, a]."""
    return b.nn("transpose", x, perm=(0, 1, 3, 2))


ROWS: Rows = {
    "aten._scaled_dot_product_flash_attention_for_cpu.default": flash,
    "aten._scaled_dot_product_flash_attention_for_cpu_backward.default": flash_backward,
}

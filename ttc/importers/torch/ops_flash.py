"""Attention as PyTorch's kernel for the CPU has it: beside the result the logarithm of each row's sum, which its gradient needs."""

from __future__ import annotations

from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.torch.builder import TorchBuilder
from ttc.importers.torch.ops_attention import attention, factor_of, mask_of, shared_heads
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
    inferred = None
    if dropout or not b.outputs[1]:
        inferred = attention(b, query, key, value, attn_mask, dropout, is_causal, scale=scale, enable_gqa=True)
        if not b.outputs[1]:
            return inferred, None
    key, value = (shared_heads(b, x, b.shape(query)[1]) for x in (key, value))
    mask = mask_of(b, query, key, attn_mask, is_causal)
    y, log_sums = b.nn_all("attention_training", query, key, value, mask, scale=factor_of(b, query, scale), zero_masked=True)
    return inferred or y, log_sums


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
    heads = b.shape(key)[1]
    wide_key, wide_value = (shared_heads(b, x, b.shape(query)[1]) for x in (key, value))
    mask = mask_of(b, query, wide_key, attn_mask, is_causal)
    operands = (query, wide_key, wide_value, out, logsumexp, grad_out, mask)
    of_query, *others = b.nn_all("attention_gradient", *operands, scale=factor_of(b, query, scale))
    return of_query, *(_summed(b, x, heads) for x in others)


def _summed(b: TorchBuilder, x: SSAValue, heads: int) -> SSAValue:
    """x[n, h, t, d] summed over the heads that share one: [n, heads, t, d]."""
    n, have, *rest = b.shape(x)
    if have == heads:
        return x
    return b.nn("reduce_sum", b.reshape(x, n, heads, have // heads, *rest), axes=(2,), keepdims=False)


ROWS: Rows = {
    "aten._scaled_dot_product_flash_attention_for_cpu.default": flash,
    "aten._scaled_dot_product_flash_attention_for_cpu_backward.default": flash_backward,
}

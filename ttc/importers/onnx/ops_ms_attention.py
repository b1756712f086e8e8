"""Attention of onnxruntime's domain: with its projections, by heads, and its positions."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.shapes import equal_parts
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.onnx.heads import MASKED, attend, causal_mask, joined_heads, padding_mask, split_heads, total_of
from ttc.importers.onnx.ops_ms_quantized import mat_mul_integer_to_float_1
from ttc.importers.onnx.ops_rotary import rotary_embedding_23
from ttc.importers.onnx.tables import MAPPINGS

Ints: TypeAlias = tuple[int, ...]


@MAPPINGS.rule("com.microsoft.Attention-1")
def attention_1(
    b: Builder,
    x: SSAValue,
    weights: SSAValue,
    bias: SSAValue | None = None,
    mask: SSAValue | None = None,
    past: SSAValue | None = None,
    attention_bias: SSAValue | None = None,
    past_length: SSAValue | None = None,
    *,
    do_rotary: int = 0,
    mask_filter_value: float = MASKED,
    num_heads: int,
    past_present_share_buffer: int = 0,
    qkv_hidden_sizes: Ints = (),
    rotary_embedding_dim: int = 0,
    scale: float = 0.0,
    unidirectional: int = 0,
) -> tuple[SSAValue, ...]:
    """Map attention with projections: x[n, s, i] times weights[i, q + k + v], in heads; past and present are keys and values [2, n, heads,
    t, d].
    """
    if do_rotary or past_present_share_buffer:
        raise Unsupported("do_rotary" if do_rotary else "past_present_share_buffer")
    projected = b.nn("matmul", x, weights, bias, transpose_a=False, transpose_b=False)
    masks = mask, attention_bias
    return _projected(b, projected, masks, past, (num_heads, unidirectional), qkv_hidden_sizes, mask_filter_value, scale)


@MAPPINGS.rule("com.microsoft.QAttention-1")
def q_attention_1(
    b: Builder,
    x: SSAValue,
    weights: SSAValue,
    bias: SSAValue,
    x_scale: SSAValue,
    w_scale: SSAValue,
    mask: SSAValue | None = None,
    x_zero: SSAValue | None = None,
    w_zero: SSAValue | None = None,
    past: SSAValue | None = None,
    *,
    do_rotary: int = 0,
    mask_filter_value: float = MASKED,
    num_heads: int,
    past_present_share_buffer: int = 0,
    scale: float = 0.0,
    unidirectional: int = 0,
) -> tuple[SSAValue, ...]:
    """Map attention of quantized x and weights: their product is one of integers."""
    if do_rotary or past_present_share_buffer:
        raise Unsupported("do_rotary" if do_rotary else "past_present_share_buffer")
    projected = mat_mul_integer_to_float_1(b, x, weights, x_scale, w_scale, x_zero, w_zero, bias)
    return _projected(b, projected, (mask, None), past, (num_heads, unidirectional), (), mask_filter_value, scale)


def _projected(
    b: Builder,
    projected: SSAValue,
    masks: tuple[SSAValue | None, SSAValue | None],
    past: SSAValue | None,
    options: tuple[int, int],
    sizes: Ints,
    filler: float,
    scale: float,
) -> tuple[SSAValue, ...]:
    """Attention of [n, s, q + k + v].  masks: of padding, and to add.  options: heads, whether rows see only what is before them."""
    heads, causal = options
    width = b.shape(projected)[-1]
    sizes = sizes or (width // 3,) * 3
    if len(sizes) != 3 or sum(sizes) != width or min(sizes) < 1:
        raise Error("E0401", f"{b.spec(projected)} does not fall into queries, keys and values of {list(sizes)}")
    q, k, v = (split_heads(b, part, heads) for part in b.nn_all("split", projected, axis=2, sizes=sizes))
    results: tuple[SSAValue, ...] = ()
    if past is not None:
        old = [b.reshape(part, *b.shape(past)[1:]) for part in equal_parts(b, past, 0, 2)]
        k, v = (b.nn("concat", before, now, axis=2) for before, now in zip(old, (k, v), strict=True))
    if any(b.outputs[1:]):
        results = (b.nn("concat", *(b.nn("reshape", part, shape=(1, *b.shape(part))) for part in (k, v)), axis=0),)
    mask = _mask(b, q, k, masks, filler, causal=bool(causal))
    return joined_heads(b, attend(b, q, k, v, mask, scale)), *results


def _mask(
    b: Builder, q: SSAValue, k: SSAValue, masks: tuple[SSAValue | None, SSAValue | None], filler: float, *, causal: bool
) -> SSAValue | None:
    """Return what is added to the scores, if anything."""
    (samples, _, rows, _), columns, dtype = b.shape(q), b.shape(k)[2], b.dtype(q)
    padding, extra = masks
    hidden = None if padding is None else padding_mask(b, padding, (samples, rows, columns), filler, dtype)
    return total_of(b, (hidden, extra, causal_mask(b, rows, columns, columns - rows, dtype) if causal else None))


@MAPPINGS.rule("com.microsoft.MultiHeadAttention-1")
def multi_head_attention_1(
    b: Builder,
    query: SSAValue,
    key: SSAValue | None = None,
    value: SSAValue | None = None,
    bias: SSAValue | None = None,
    key_padding_mask: SSAValue | None = None,
    attention_bias: SSAValue | None = None,
    past_key: SSAValue | None = None,
    past_value: SSAValue | None = None,
    past_length: SSAValue | None = None,
    cache_indirection: SSAValue | None = None,
    *,
    mask_filter_value: float = MASKED,
    num_heads: int,
    scale: float = 0.0,
    unidirectional: int = 0,
) -> tuple[SSAValue, ...]:
    """Map attention of query[n, s, q], key[n, t, q], value[n, t, v], or packed with heads; keys and values with heads are those of a
    cache.
    """
    if past_length is not None or cache_indirection is not None:
        raise Unsupported("caches of beams, or shared by past and present")
    q, k, v = _qkv(b, query, key, value, bias, num_heads)
    if past_key is not None and past_value is not None:
        k, v = b.nn("concat", past_key, k, axis=2), b.nn("concat", past_value, v, axis=2)
    mask = _mask(b, q, k, (key_padding_mask, attention_bias), mask_filter_value, causal=bool(unidirectional))
    return joined_heads(b, attend(b, q, k, v, mask, scale)), k, v


@MAPPINGS.rule("com.microsoft.DecoderMaskedMultiHeadAttention-1")
def decoder_masked_multi_head_attention_1(
    b: Builder,
    query: SSAValue,
    key: SSAValue | None = None,
    value: SSAValue | None = None,
    mask_index: SSAValue | None = None,
    attention_bias: SSAValue | None = None,
    past_key: SSAValue | None = None,
    past_value: SSAValue | None = None,
    past_length: SSAValue | None = None,
    beam_width: SSAValue | None = None,
    cache_indirection: SSAValue | None = None,
    bias: SSAValue | None = None,
    *,
    mask_filter_value: float = MASKED,
    num_heads: int,
    output_qk: int = 0,
    past_present_share_buffer: int = 0,
    scale: float = 0.0,
) -> tuple[SSAValue, ...]:
    """Return one step of a decoder whose cache grows."""
    if past_present_share_buffer or cache_indirection is not None:
        raise Unsupported("caches of beams, or shared by past and present")
    operands = query, key, value, bias, mask_index, attention_bias, past_key, past_value
    return multi_head_attention_1(b, *operands, mask_filter_value=mask_filter_value, num_heads=num_heads, scale=scale)


def _qkv(
    b: Builder, query: SSAValue, key: SSAValue | None, value: SSAValue | None, bias: SSAValue | None, heads: int
) -> tuple[SSAValue, SSAValue, SSAValue]:
    """Queries, keys and values by head, with the bias of their projections."""
    if b.rank(query) == 5 and key is None:
        parts = [_unpacked(b, part) for part in equal_parts(b, query, 3, 3)]
    elif key is not None and b.rank(key) == 5 and value is None:
        parts = [query, *(_unpacked(b, part) for part in equal_parts(b, key, 3, 2))]
    elif key is not None and value is not None:
        parts = [query, key, value]
    else:
        raise Unsupported(f"a query {b.spec(query)} without keys and values")
    if bias is not None:
        sizes = [b.shape(x)[2] if b.rank(x) == 3 else 0 for x in parts]
        missing = b.spec(bias).elements - sum(sizes)
        if missing:
            sizes[1:] = [s or missing // 2 for s in sizes[1:]]
        rows = b.nn_all("split", bias, axis=0, sizes=tuple(sizes))
        parts = [b.nn("add", x, row) if b.rank(x) == 3 else x for x, row in zip(parts, rows, strict=True)]
    q, k, v = (split_heads(b, x, heads) if b.rank(x) == 3 else x for x in parts)
    return q, k, v


def _unpacked(b: Builder, x: SSAValue) -> SSAValue:
    """[n, s, heads, 1, d] as [n, s, heads * d]."""
    n, s, heads, _, d = b.shape(x)
    return b.reshape(x, n, s, heads * d)


@MAPPINGS.rule("com.microsoft.RotaryEmbedding-1")
def rotary_embedding_1(
    b: Builder,
    x: SSAValue,
    positions: SSAValue,
    cos: SSAValue,
    sin: SSAValue,
    *,
    interleaved: int = 0,
    is_packed_batching: int = 0,
    num_heads: int = 0,
    rotary_embedding_dim: int = 0,
    scale: float = 1.0,
) -> SSAValue:
    """Map the rotary embedding with tables cos, sin[p, r / 2]; one position is that of the first element of all sequences."""
    if scale != 1.0:
        raise Unsupported(f"scale = {scale}")
    shape = b.shape(x)
    if len(shape) == 3 and not num_heads:
        num_heads = shape[2] // max(rotary_embedding_dim or 2 * b.shape(cos)[-1], 1)
    steps = shape[1] if len(shape) == 3 else shape[2]
    if b.spec(positions).elements == 1 and (shape[0], steps) != (1, 1):
        places = b.nn("add", b.reshape(positions), b.constant(np.arange(steps), b.dtype(positions)))
        positions = b.nn("expand", places, shape=(shape[0], steps))
    positions = b.reshape(positions, shape[0], steps)
    return rotary_embedding_23(
        b, x, cos, sin, positions, interleaved=interleaved, num_heads=num_heads, rotary_embedding_dim=rotary_embedding_dim
    )

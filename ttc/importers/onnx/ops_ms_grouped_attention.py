"""Attention by groups of heads with a cache, as onnxruntime's models of language have it, and biases by distance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.parts import padded, part
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.onnx.heads import INT64, attend, grouped, joined_heads, lowest, split_heads, total_of
from ttc.importers.onnx.ops_rotary import rotary_embedding_23
from ttc.importers.onnx.tables import MAPPINGS


class _Steps(NamedTuple):
    """Where the sequences of a batch stand in their cache.

    Args:
        samples, count: sequences, and new positions of each.
        capacity: positions of the cache afterwards.
        past: how many each sequence had before: one for all if that is known, else [n].
    """

    samples: int
    count: int
    capacity: int
    past: int | SSAValue


@MAPPINGS.rule("com.microsoft.GroupQueryAttention-1")
def group_query_attention_1(
    b: Builder,
    query: SSAValue,
    key: SSAValue | None,
    value: SSAValue | None,
    past_key: SSAValue | None,
    past_value: SSAValue | None,
    lengths: SSAValue,
    total_length: SSAValue,
    cos: SSAValue | None = None,
    sin: SSAValue | None = None,
    positions: SSAValue | None = None,
    attention_bias: SSAValue | None = None,
    head_sink: SSAValue | None = None,
    k_scale: SSAValue | None = None,
    v_scale: SSAValue | None = None,
    q_norm: SSAValue | None = None,
    k_norm: SSAValue | None = None,
    query_lengths: SSAValue | None = None,
    *,
    causal: int = 1,
    do_rotary: int = 0,
    k_norm_epsilon: float = 0.0,
    k_quant_type: str = "NONE",
    kv_cache_bit_width: int = 0,
    kv_num_heads: int,
    local_window_size: int = -1,
    num_heads: int,
    q_norm_epsilon: float = 0.0,
    qk_norm_epsilon: float = 1e-6,
    qk_output: int = 0,
    rotary_interleaved: int = 0,
    scale: float = 0.0,
    sliding_window_cache: int = 0,
    smooth_softmax: int = -1,
    softcap: float = 0.0,
    v_quant_type: str = "NONE",
) -> tuple[SSAValue, ...]:
    """Map attention of queries [n, s, heads * d] to a cache [n, kv heads, t, d] and themselves.

    lengths: one less than the positions that each sequence has afterwards; total_length: the most of these, which must follow from shapes.
    """
    is_quantized = {k_quant_type, v_quant_type} != {"NONE"} or kv_cache_bit_width or k_scale is not None or v_scale is not None
    _refuse("quantized caches", is_quantized)
    _refuse("normalized heads", q_norm is not None or k_norm is not None)
    _refuse("padded chunks (query_seqlens)", query_lengths is not None)
    _refuse("sliding_window_cache, causal = 0 or qk_output", sliding_window_cache or not causal or qk_output)
    q, k, v = _heads(b, query, key, value, num_heads, kv_num_heads)
    steps = _steps(b, q, past_key, lengths, total_length)
    if do_rotary:
        places = _places(b, steps) if positions is None else b.reshape(positions, steps.samples, steps.count)
        q, k = (_rotated(b, x, cos, sin, places, rotary_interleaved) for x in (q, k))
    k, v = _cached(b, past_key, k, steps), _cached(b, past_value, v, steps)
    mask = total_of(b, (_seen(b, steps, local_window_size, b.dtype(q)), attention_bias))
    keys, values = grouped(b, k, num_heads), grouped(b, v, num_heads)
    if smooth_softmax == 1 or head_sink is not None or softcap:
        y = _softened(b, (q, keys, values), mask, head_sink, smooth=smooth_softmax == 1, cap=softcap, scale=scale)
    else:
        y = attend(b, q, keys, values, mask, scale)
    return joined_heads(b, y), k, v


def _refuse(what: str, given: object) -> None:
    """Raises Unsupported if the node asks for it."""
    if given:
        raise Unsupported(what)


def _rotated(b: Builder, x: SSAValue, cos: SSAValue | None, sin: SSAValue | None, places: SSAValue, interleaved: int) -> SSAValue:
    if cos is None or sin is None:
        raise Error("E0203", "do_rotary needs cos_cache and sin_cache")
    return rotary_embedding_23(b, x, cos, sin, places, interleaved=interleaved)


def _heads(
    b: Builder, query: SSAValue, key: SSAValue | None, value: SSAValue | None, heads: int, shared: int
) -> tuple[SSAValue, SSAValue, SSAValue]:
    """Queries, keys and values by head; they may come in one tensor."""
    if key is None or value is None:
        width = b.shape(query)[-1]
        if heads < 1 or shared < 1 or width % (heads + 2 * shared):
            raise Error("E0401", f"{b.spec(query)} does not fall into {heads} heads and twice {shared}")
        each = width // (heads + 2 * shared)
        query, key, value = b.nn_all("split", query, axis=2, sizes=(heads * each, shared * each, shared * each))
    return split_heads(b, query, heads), split_heads(b, key, shared), split_heads(b, value, shared)


def _steps(b: Builder, q: SSAValue, past: SSAValue | None, lengths: SSAValue, total_length: SSAValue) -> _Steps:
    samples, _, count, _ = b.shape(q)
    total, room = int(b.number(total_length, "total_sequence_length")), 0 if past is None else b.shape(past)[2]
    if not count <= total <= room + count:
        raise Error("E0401", f"{total} positions are not between {count} new ones and {room} more")
    known = b.known(lengths)
    if total == count:
        before: int | SSAValue = 0
    elif samples == 1:
        before = total - count
    elif known is not None and known.size == samples and len(set(known.ravel().tolist())) == 1:
        before = int(known.ravel()[0]) + 1 - count
    else:
        wide = b.cast(b.reshape(lengths, samples), INT64)
        before = b.nn("sub", wide, b.constant(np.array(count - 1)))
    return _Steps(samples, count, max(total, room), before)


def _places(b: Builder, steps: _Steps) -> SSAValue:
    """Return positions [n, s] of what is new."""
    new = np.arange(steps.count)
    if isinstance(steps.past, int):
        return b.constant(np.broadcast_to(new + steps.past, (steps.samples, steps.count)))
    return b.nn("add", b.reshape(steps.past, steps.samples, 1), b.constant(new))


def _cached(b: Builder, past: SSAValue | None, new: SSAValue, steps: _Steps) -> SSAValue:
    """Return what was there, what is new right behind it, and zeros up to the cache's capacity."""
    if past is None or b.shape(past)[2] == 0:
        return new
    n, heads, room, width = b.shape(past)
    if isinstance(steps.past, int):
        pieces = [part(b, past, 2, 0, steps.past), new] if steps.past else [new]
        rest = steps.capacity - steps.past - steps.count
        y = b.nn("concat", *pieces, axis=2) if len(pieces) > 1 else new
        return padded(b, y, (0,) * 4, (0, 0, rest, 0)) if rest else y
    slots = b.constant(np.arange(steps.capacity))
    behind = b.nn("sub", slots, b.reshape(steps.past, n, 1))
    is_new = b.nn("greater_equal", behind, b.scalar(0, behind))
    is_held = b.nn("less", behind, b.scalar(steps.count, behind))
    last = b.nn("minimum", behind, b.scalar(steps.count - 1, behind))
    old = b.constant(np.minimum(np.arange(steps.capacity), room - 1))
    index = b.nn("where", is_new, b.nn("add", last, b.scalar(room, last)), old)
    index = b.nn("expand", b.reshape(index, n, 1, steps.capacity, 1), shape=(n, heads, steps.capacity, width))
    moved = b.nn("gather_elements", b.nn("concat", past, new, axis=2), index, axis=2)
    return b.nn("where", b.reshape(is_held, n, 1, steps.capacity, 1), moved, b.scalar(0, moved))


def _seen(b: Builder, steps: _Steps, window: int, dtype: np.dtype) -> SSAValue:
    """0 where a new position sees one of the cache: those up to itself, or the last ones of these; the lowest number elsewhere."""
    columns = np.arange(steps.capacity)
    if isinstance(steps.past, int):
        rows = steps.past + np.arange(steps.count)[:, None]
        seen = (columns <= rows) & ((columns > rows - window) | (window < 0))
        return b.constant(np.where(seen, 0.0, lowest(dtype)), dtype)
    rows = b.reshape(_places(b, steps), steps.samples, 1, steps.count, 1)
    keep = b.nn("less_equal", b.constant(columns), rows)
    if window >= 0:
        keep = b.nn("and", keep, b.nn("greater", b.constant(columns), b.nn("sub", rows, b.scalar(window, rows))))
    return b.nn("where", keep, b.constant(np.array(0.0), dtype), b.constant(np.array(lowest(dtype)), dtype))


def _softened(
    b: Builder,
    operands: tuple[SSAValue, SSAValue, SSAValue],
    mask: SSAValue | None,
    sink: SSAValue | None,
    *,
    smooth: bool,
    cap: float,
    scale: float,
) -> SSAValue:
    """Attention whose scores are bent towards a bound, or whose softmax counts one more score: a head's own, or 0."""
    q, k, v = operands
    n, heads, rows, width = b.shape(q)
    scores = b.nn("matmul", q, k, None, transpose_a=False, transpose_b=True)
    scores = b.nn("mul", scores, b.scalar(scale or width**-0.5, q))
    if cap:
        scores = b.nn("mul", b.nn("tanh", b.nn("div", scores, b.scalar(cap, q))), b.scalar(cap, q))
    scores = scores if mask is None else b.nn("add", scores, mask)
    if smooth or sink is not None:
        extra = b.scalar(0, q) if sink is None else b.nn("reshape", b.cast(sink, b.dtype(q)), shape=(1, heads, 1, 1))
        scores = b.nn("concat", scores, b.nn("expand", extra, shape=(n, heads, rows, 1)), axis=3)
    weights = b.nn("softmax", scores, axis=3)
    return b.nn("matmul", part(b, weights, 3, 0, b.shape(k)[2]), v, None, transpose_a=False, transpose_b=False)


@MAPPINGS.rule("com.microsoft.RelativePositionBias-1")
def relative_position_bias_1(
    b: Builder, table: SSAValue, rows: SSAValue, columns: SSAValue, *, is_bidirectional: int = 0, max_distance: int
) -> SSAValue:
    """Return T5's biases [1, heads, rows, columns] of a table[buckets, heads], by the bucket of each distance."""
    height, width = int(b.number(rows, "query_length")), int(b.number(columns, "key_length"))
    if b.rank(table) != 2 or not 0 < height * width <= 1 << 24 or b.shape(table)[0] < 4 or max_distance < b.shape(table)[0]:
        raise Error("E0401", f"{b.spec(table)} does not fit {height} by {width} distances of at most {max_distance}")
    distance = np.arange(width)[None, :] - np.arange(height)[:, None]
    buckets = b.shape(table)[0] // (2 if is_bidirectional else 1)
    away = np.abs(distance) if is_bidirectional else np.maximum(-distance, 0)
    near = buckets // 2
    logs = np.log(np.maximum(away, 1).astype(np.float32) / near) / np.log(max_distance / near) * (buckets - near)
    far = np.minimum(near + logs.astype(np.int64), buckets - 1)
    bucket = np.where(away < near, away, far) + (buckets * (distance > 0) if is_bidirectional else 0)
    chosen = b.nn("gather", table, b.constant(bucket.astype(np.int64)), axis=0)
    return b.nn("reshape", b.nn("transpose", chosen, perm=(2, 0, 1)), shape=(1, b.shape(table)[1], height, width))

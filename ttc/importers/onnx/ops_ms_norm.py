"""Normalizations of onnxruntime's domain: of sums that its graph optimizer fuses with them, of embeddings, of groups of channels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.onnx.ops_ms_linear import channels_first as first_of
from ttc.importers.onnx.ops_ms_linear import channels_last as last_of
from ttc.importers.onnx.ops_norm import group_normalization_21, layer_normalization_17, rms_normalization_23
from ttc.importers.onnx.ops_ort import inverse_root_mean_square
from ttc.importers.onnx.ops_quantization import dequantize_linear_10
from ttc.importers.onnx.tables import MAPPINGS

INT32 = np.dtype(np.int32)


@MAPPINGS.rule("com.microsoft.SkipLayerNormalization-1")
def skip_layer_normalization_1(
    b: Builder,
    x: SSAValue,
    skip: SSAValue,
    gamma: SSAValue,
    beta: SSAValue | None = None,
    bias: SSAValue | None = None,
    *,
    epsilon: float = 1e-12,
) -> tuple[SSAValue | None, ...]:
    """Normalize x + skip + bias, which is the fourth result."""
    total = _sum(b, x, skip, bias)
    y, *moments = layer_normalization_17(b, total, gamma, beta, epsilon=epsilon)
    return y, *(moments or (None, None)), total


@MAPPINGS.rule("com.microsoft.SkipSimplifiedLayerNormalization-1")
def skip_simplified_layer_normalization_1(
    b: Builder, x: SSAValue, skip: SSAValue, gamma: SSAValue, bias: SSAValue | None = None, *, epsilon: float = 1e-12
) -> tuple[SSAValue | None, ...]:
    """Normalize x + skip + bias, which is the fourth result, by the root mean square; there is no mean."""
    total = _sum(b, x, skip, bias)
    y = rms_normalization_23(b, total, gamma, epsilon=epsilon)
    inverse = inverse_root_mean_square(b, total, -1, epsilon) if any(b.outputs[2:3]) else None
    return y, None, inverse, total


def _sum(b: Builder, x: SSAValue, skip: SSAValue, bias: SSAValue | None) -> SSAValue:
    """Skip may lack the batch."""
    total = b.nn("add", x, skip)
    return total if bias is None else b.nn("add", total, bias)


@MAPPINGS.rule("com.microsoft.EmbedLayerNormalization-1")
def embed_layer_normalization_1(
    b: Builder,
    ids: SSAValue,
    segments: SSAValue | None,
    words: SSAValue,
    places: SSAValue,
    segment_table: SSAValue | None,
    gamma: SSAValue,
    beta: SSAValue,
    mask: SSAValue | None = None,
    positions: SSAValue | None = None,
    *,
    epsilon: float = 1e-12,
    mask_index_type: int | None = None,
) -> tuple[SSAValue, ...]:
    """Return the norm of rows of up to three tables, by ids[n, s], position and segment; how many of a mask are 1; the sum before it."""
    total = b.nn("add", b.nn("gather", words, ids, axis=0), _positions(b, ids, places, positions))
    if segments is not None and segment_table is not None:
        total = b.nn("add", total, b.nn("gather", segment_table, segments, axis=0))
    y = b.nn("layer_norm", total, gamma, beta, axis=2, eps=epsilon)
    return y, _lengths(b, ids, mask), total


def _positions(b: Builder, ids: SSAValue, table: SSAValue, positions: SSAValue | None) -> SSAValue:
    """Return rows by position: the first ones where no positions are given."""
    if positions is not None:
        return b.nn("gather", table, positions, axis=0)
    if b.rank(ids) != 2 or b.rank(table) != 2 or b.shape(ids)[1] > b.shape(table)[0]:
        raise Error("E0401", f"{b.spec(ids)} does not fit {b.spec(table)}, one row a position")
    return b.nn("slice", table, starts=(0, 0), sizes=(b.shape(ids)[1], b.shape(table)[1]), steps=(1, 1))


def _lengths(b: Builder, ids: SSAValue, mask: SSAValue | None) -> SSAValue:
    """Return how many entries of each row of the mask are 1; 0 without a mask."""
    if mask is None:
        return b.nn("expand", b.constant(np.zeros((), INT32)), shape=b.shape(ids)[:1])
    ones = b.nn("equal", mask, b.scalar(1, mask))
    return b.nn("reduce_sum", b.cast(ones, INT32), axes=(1,), keepdims=False)


@MAPPINGS.rule("com.microsoft.QEmbedLayerNormalization-1")
def q_embed_layer_normalization_1(
    b: Builder,
    ids: SSAValue,
    segments: SSAValue | None,
    words: SSAValue,
    places: SSAValue,
    segment_table: SSAValue | None,
    gamma: SSAValue,
    beta: SSAValue,
    mask: SSAValue | None,
    words_scale: SSAValue,
    places_scale: SSAValue,
    segment_scale: SSAValue | None,
    gamma_scale: SSAValue,
    beta_scale: SSAValue,
    words_zero: SSAValue,
    places_zero: SSAValue,
    segment_zero: SSAValue | None,
    gamma_zero: SSAValue,
    beta_zero: SSAValue,
    *,
    epsilon: float = 1e-12,
) -> tuple[SSAValue, ...]:
    """Map EmbedLayerNormalization of tables of 8-bit integers."""
    words = dequantize_linear_10(b, words, words_scale, words_zero)
    places = dequantize_linear_10(b, places, places_scale, places_zero)
    gamma = dequantize_linear_10(b, gamma, gamma_scale, gamma_zero)
    beta = dequantize_linear_10(b, beta, beta_scale, beta_zero)
    if segment_table is not None and segment_scale is not None:
        segment_table = dequantize_linear_10(b, segment_table, segment_scale, segment_zero)
    return embed_layer_normalization_1(b, ids, segments, words, places, segment_table, gamma, beta, mask, epsilon=epsilon)[:2]


@MAPPINGS.rule("com.microsoft.GroupNorm-1")
def group_norm_1(
    b: Builder,
    x: SSAValue,
    gamma: SSAValue,
    beta: SSAValue,
    *,
    activation: int,
    channels_last: int = 1,
    epsilon: float = 1e-5,
    groups: int,
) -> SSAValue:
    """Normalize x[n, spatial..., c], or [n, c, spatial...], by groups; activation 1 is SiLU."""
    return _group_norm(b, x, gamma, beta, (activation, channels_last, groups), epsilon)


@MAPPINGS.rule("com.microsoft.SkipGroupNorm-1")
def skip_group_norm_1(
    b: Builder,
    x: SSAValue,
    gamma: SSAValue,
    beta: SSAValue,
    skip: SSAValue,
    bias: SSAValue | None = None,
    *,
    activation: int,
    channels_last: int = 1,
    epsilon: float = 1e-5,
    groups: int,
) -> tuple[SSAValue, ...]:
    """Normalize x + skip + bias, which is the second result, by groups; skip may be one number a sample and channel."""
    shape = b.shape(x)
    if b.rank(skip) == 2:
        skip = b.reshape(skip, shape[0], *(1,) * (len(shape) - 2), b.shape(skip)[1])
    total = _sum(b, x, skip, bias)
    return _group_norm(b, total, gamma, beta, (activation, channels_last, groups), epsilon), total


def _group_norm(b: Builder, x: SSAValue, gamma: SSAValue, beta: SSAValue, options: Sequence[int], epsilon: float) -> SSAValue:
    activation, is_last, groups = options
    if activation not in (0, 1):
        raise Unsupported(f"activation {activation}")
    gamma, beta = b.cast(gamma, b.dtype(x)), b.cast(beta, b.dtype(x))
    y = group_normalization_21(b, first_of(b, x) if is_last else x, gamma, beta, epsilon=epsilon, num_groups=groups)
    y = last_of(b, y) if is_last else y
    return b.nn("silu", y) if activation else y


@MAPPINGS.rule("com.microsoft.GatedRMSNorm-1")
def gated_rms_norm_1(
    b: Builder, x: SSAValue, scale: SSAValue, gate: SSAValue, *, activation: str = "silu", epsilon: float = 1e-5
) -> SSAValue:
    """Return rms_norm(x) times the activation of the gate."""
    if activation not in ("silu", "sigmoid"):
        raise Unsupported(f"activation '{activation[:40]}'")
    return b.nn("mul", rms_normalization_23(b, x, scale, epsilon=epsilon), b.nn(activation, gate))

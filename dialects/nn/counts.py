"""Operations of arithmetic of ops, from shapes and attributes: a multiplication and the addition of its product are two.

Products of matrices, convolutions, attention, recurrent layers and pools are counted as they are defined; factorizations, interpolations
and selections of boxes by their order of growth.  Sizes that depend on data count as one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, TypeAlias

from ttc.dialects.core.rule_tables import RuleTable
from ttc.dialects.core.shapes import Shape

Count: TypeAlias = "Callable[[Sequence[Shape], Sequence[Shape], Mapping[str, Any]], int]"
"""Takes the shapes of the operands that are present and of the results, and the attributes."""
_ROI_POINTS = 8
"""Points of a bin along a dimension, where the regions decide how many they are."""


def elements(shape: Shape) -> int:
    """Return elements of a tensor; a size that depends on data counts as one."""
    return prod(max(size, 1) if size < 0 else size for size in shape)


def nothing(operands: Sequence[Shape], results: Sequence[Shape], attrs: Mapping[str, Any]) -> int:
    """Count no arithmetic at all."""
    return 0


def one_each(operands: Sequence[Shape], results: Sequence[Shape], attrs: Mapping[str, Any]) -> int:
    """Count one operation for each element of the largest tensor that is read or written."""
    return max(map(elements, (*operands, *results)), default=0)


def matmul(operands: Sequence[Shape], results: Sequence[Shape], attrs: Mapping[str, Any]) -> int:
    """Count the products and sums over the inner dimension."""
    inner = operands[0][-2:] or (1,)
    return 2 * elements(results[0]) * abs(inner[0] if attrs.get("transpose_a") else inner[-1])


def convolution(operands: Sequence[Shape], results: Sequence[Shape], attrs: Mapping[str, Any]) -> int:
    """Count the taps of each element of the result; images are channels first unless `layout` says otherwise."""
    return 2 * elements(results[0]) * elements(operands[1]) // _channels(results[0], attrs)


def transposed_convolution(operands: Sequence[Shape], results: Sequence[Shape], attrs: Mapping[str, Any]) -> int:
    """Count the taps that each element of the image gives to."""
    return 2 * elements(operands[0]) * elements(operands[1]) // _channels(operands[0], attrs)


def _channels(shape: Shape, attrs: Mapping[str, Any]) -> int:
    return max(shape[-1] if attrs.get("layout") == "nhwc" else shape[1], 1)


def attention(operands: Sequence[Shape], results: Sequence[Shape], attrs: Mapping[str, Any]) -> int:
    """Count the scores of q[..., n, d] and k[..., keys, d], and their sum of the values."""
    return 2 * abs(operands[1][-2]) * (elements(operands[0]) + elements(results[0]))


def attention_gradient(operands: Sequence[Shape], results: Sequence[Shape], attrs: Mapping[str, Any]) -> int:
    """Count the products of q[..., n, d] and dy[..., n, e] with all keys: scores again, their cotangents, and those of q, k and v."""
    return 2 * abs(operands[1][-2]) * (3 * elements(results[0]) + 2 * elements(operands[5]))


def recurrent(operands: Sequence[Shape], results: Sequence[Shape], attrs: Mapping[str, Any]) -> int:
    """Count the products of inputs and of states in all steps of x[t, n, i]."""
    return 2 * elements(operands[0][:2]) * (elements(operands[1]) + elements(operands[2]))


def recurrent_gradient(operands: Sequence[Shape], results: Sequence[Shape], attrs: Mapping[str, Any]) -> int:
    """Count the products of the cotangents of sums with r[m k, k] in all steps of dy[t, n, k]."""
    return 2 * elements(operands[2][:2]) * elements(operands[1])


def pool(operands: Sequence[Shape], results: Sequence[Shape], attrs: Mapping[str, Any]) -> int:
    """Count the taps of each element of the result."""
    return elements(results[0]) * prod(attrs["kernel"])


def factorization(operands: Sequence[Shape], results: Sequence[Shape], attrs: Mapping[str, Any]) -> int:
    """Count the cube of the side of each matrix."""
    return 2 * elements(operands[0]) * max(map(abs, operands[0][-2:]))


def interpolation(operands: Sequence[Shape], results: Sequence[Shape], attrs: Mapping[str, Any]) -> int:
    """Count sixteen operations for each element of the larger tensor."""
    return 16 * max(elements(operands[0]), elements(results[0]))


def regions(operands: Sequence[Shape], results: Sequence[Shape], attrs: Mapping[str, Any]) -> int:
    """Count the points of each bin of a region, four neighbours each."""
    return 4 * elements(results[0]) * (attrs["samples"] or _ROI_POINTS) ** 2


def boxes(operands: Sequence[Shape], results: Sequence[Shape], attrs: Mapping[str, Any]) -> int:
    """Count the comparison of each score with each box."""
    return elements(operands[1]) * max(operands[0][1], 1)


_SHAPING = "reshape transpose identity shape slice concat expand pad split repeat bitcast range probe stop_gradient".split()
_INDEXING = ("gather", "gather_elements", "gather_nd", "scatter_elements", "scatter_nd", "compress", "non_zero", "one_hot")

COUNTS: RuleTable[Count] = RuleTable("count of arithmetic")
"""By mnemonic of nn; `one_each` is for all others.  Facts of tile ops of the same name take theirs from here."""
COUNTS.add_all(
    {
        **dict.fromkeys((*_SHAPING, *_INDEXING, "reverse_sequence"), nothing),
        **dict.fromkeys(("matmul", "grouped_matmul"), matmul),
        "conv2d": convolution,
        "deform_conv": convolution,
        "conv_transpose2d": transposed_convolution,
        **dict.fromkeys(("attention", "attention_training"), attention),
        "attention_gradient": attention_gradient,
        **dict.fromkeys(("rnn", "gru", "lstm", "lstm_training"), recurrent),
        "recurrent_gradient": recurrent_gradient,
        **dict.fromkeys(("max_pool2d", "avg_pool2d"), pool),
        **dict.fromkeys(("det", "solve", "cholesky", "qr", "lu", "svd", "eigh"), factorization),
        **dict.fromkeys(("resize", "resize_by", "grid_sample"), interpolation),
        "roi_align": regions,
        "non_max_suppression": boxes,
    }
)

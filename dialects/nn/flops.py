"""Arithmetic of nn ops, counted: what shares of a model run where."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from types import MappingProxyType

from xdsl.ir import SSAValue

from ttc.dialects.core.ir.spec import spec_of
from ttc.dialects.nn.base import NNOp

_SHAPING = ("reshape", "transpose", "identity", "shape", "slice", "concat", "expand", "pad", "split", "repeat", "bitcast", "range")
_INDEXING = ("gather", "gather_elements", "gather_nd", "scatter_elements", "scatter_nd", "compress", "non_zero", "one_hot")
_MOVING = frozenset([*_SHAPING, *_INDEXING, "reverse_sequence"])
"""Ops that move values and compute none."""
_ROI_POINTS = 8
"""Points of a bin along a dimension, where the regions decide how many they are."""


def flops_of(op: NNOp) -> int:
    """Operations of floating-point or integer arithmetic: a multiplication and the addition of its product are two.

    Products of matrices, convolutions, attention, recurrent layers and pools are counted as they are defined, factorizations,
    interpolations and selections of boxes by their order of growth; other ops that compute count one for each element of the largest
    tensor that they read or write.  Ops with regions count what stands in these, once each: which branch is taken and how often a loop
    runs is not known.  Sizes that depend on data count as one.
    """
    if op.regions:
        return sum(flops_of(inner) for region in op.regions for block in region.blocks for inner in block.ops if isinstance(inner, NNOp))
    name = op.name.removeprefix("nn.")
    if name in _MOVING:
        return 0
    counted = _COUNTS.get(name)
    return counted(op) if counted is not None else max(_elements(value) for value in (*op.operands, *op.results))


def _shape(value: SSAValue) -> tuple[int, ...]:
    return tuple(max(size, 1) if size < 0 else size for size in spec_of(value.type).shape)


def _elements(value: SSAValue) -> int:
    return prod(_shape(value))


def _matmul(op: NNOp) -> int:
    *_, inner = _shape(op.operands[0])
    if op.plain_attrs().get("transpose_a"):
        *_, inner, _ = _shape(op.operands[0])
    return 2 * _elements(op.results[0]) * inner


def _convolution(op: NNOp) -> int:
    y = op.results[0]
    return 2 * _elements(y) * _elements(op.operands[1]) // _channels(op, y)


def _transposed_convolution(op: NNOp) -> int:
    x = op.operands[0]
    return 2 * _elements(x) * _elements(op.operands[1]) // _channels(op, x)


def _channels(op: NNOp, value: SSAValue) -> int:
    shape = _shape(value)
    return max(shape[-1] if op.plain_attrs().get("layout") == "nhwc" else shape[1], 1)


def _attention(op: NNOp) -> int:
    *_, keys, _ = _shape(op.operands[1])
    return 2 * keys * (_elements(op.operands[0]) + _elements(op.results[0]))


def _recurrent(op: NNOp) -> int:
    steps = prod(_shape(op.operands[0])[:2])
    return 2 * steps * (_elements(op.operands[1]) + _elements(op.operands[2]))


def _pool(op: NNOp) -> int:
    return _elements(op.results[0]) * prod(op.plain_attrs()["kernel"])


def _factorization(op: NNOp) -> int:
    x = op.operands[0]
    return 2 * _elements(x) * max(_shape(x)[-2:])


def _interpolation(op: NNOp) -> int:
    return 16 * max(_elements(op.operands[0]), _elements(op.results[0]))


def _rois(op: NNOp) -> int:
    attrs = op.plain_attrs()
    return 4 * _elements(op.results[0]) * (attrs["samples"] or _ROI_POINTS) ** 2


def _boxes(op: NNOp) -> int:
    return _elements(op.operands[1]) * _shape(op.operands[0])[1]


_COUNTS: Mapping[str, Callable[[NNOp], int]] = MappingProxyType(
    {
        **dict.fromkeys(("matmul", "grouped_matmul"), _matmul),
        "conv2d": _convolution,
        "deform_conv": _convolution,
        "conv_transpose2d": _transposed_convolution,
        "attention": _attention,
        **dict.fromkeys(("rnn", "gru", "lstm"), _recurrent),
        **dict.fromkeys(("max_pool2d", "avg_pool2d"), _pool),
        **dict.fromkeys(("det", "solve", "cholesky", "qr", "lu", "svd", "eigh"), _factorization),
        **dict.fromkeys(("resize", "resize_by", "grid_sample"), _interpolation),
        "roi_align": _rois,
        "non_max_suppression": _boxes,
    }
)

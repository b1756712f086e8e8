"""Arithmetic of nn ops, counted: what shares of a model run where."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ttc.dialects.core.ir.spec import spec_of
from ttc.dialects.nn import counts
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.counts import Count

_SHAPING = ("reshape", "transpose", "identity", "shape", "slice", "concat", "expand", "pad", "split", "repeat", "bitcast", "range", "probe")
_INDEXING = ("gather", "gather_elements", "gather_nd", "scatter_elements", "scatter_nd", "compress", "non_zero", "one_hot")


def flops_of(op: NNOp) -> int:
    """Operations of floating-point or integer arithmetic, as `ttc.dialects.nn.counts` counts them.

    Ops that only move values count none; those that are not counted by a rule of their own, one for each element of the largest tensor
    that they read or write.  Ops with regions count what stands in these, once each: which branch is taken and how often a loop
    runs is not known.
    """
    if op.regions:
        return sum(flops_of(inner) for region in op.regions for block in region.blocks for inner in block.ops if isinstance(inner, NNOp))
    count = _COUNTS.get(op.name.removeprefix("nn."), counts.one_each)
    operands, results = ([spec_of(value.type).shape for value in values] for values in (op.operands, op.results))
    return count(operands, results, op.plain_attrs())


_COUNTS: Mapping[str, Count] = MappingProxyType(
    {
        **dict.fromkeys((*_SHAPING, *_INDEXING, "reverse_sequence"), counts.nothing),
        **dict.fromkeys(("matmul", "grouped_matmul"), counts.matmul),
        "conv2d": counts.convolution,
        "deform_conv": counts.convolution,
        "conv_transpose2d": counts.transposed_convolution,
        "attention": counts.attention,
        **dict.fromkeys(("rnn", "gru", "lstm"), counts.recurrent),
        **dict.fromkeys(("max_pool2d", "avg_pool2d"), counts.pool),
        **dict.fromkeys(("det", "solve", "cholesky", "qr", "lu", "svd", "eigh"), counts.factorization),
        **dict.fromkeys(("resize", "resize_by", "grid_sample"), counts.interpolation),
        "roi_align": counts.regions,
        "non_max_suppression": counts.boxes,
    }
)

"""The pass that writes pools over whole maps as reductions."""

from __future__ import annotations

from typing import ClassVar

from ttc.dialects.core.records import record
from ttc.dialects.nn.pool import AvgPool2dOp, MaxPool2dOp
from ttc.dialects.nn.reduce import ReduceMaxOp, ReduceMeanOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.match import attr, shape_of, sweep_entries


@record
class LowerPool(Pass):
    """Make a pool whose only window is the whole map a reduction, and a pool of single elements nothing.

    Before:
        (%x: tensor<1x8x7x7xf32>)
        %0 = nn.avg_pool2d(%x) {ceil_mode = false, count_include_pad = false, dilations = [1, 1], kernel = [7, 7], layout = "nchw",
            pads = [0, 0, 0, 0], strides = [1, 1]} : (tensor<1x8x7x7xf32>) -> tensor<1x8x1x1xf32>
        return %0 : tensor<1x8x1x1xf32>
    After:
        (%x: tensor<1x8x7x7xf32>)
        %0 = nn.reduce_mean(%x) {axes = [2, 3], keepdims = true} : (tensor<1x8x7x7xf32>) -> tensor<1x8x1x1xf32>
        return %0 : tensor<1x8x1x1xf32>
    Missed:
        the window covers the whole map, and padding with it.
    """

    name: ClassVar[str] = "lower-pool"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        def lower(op: AvgPool2dOp | MaxPool2dOp) -> None:
            _lower(op, rewriter)

        sweep_entries(unit, rewriter, {AvgPool2dOp: lower, MaxPool2dOp: lower})


def _lower(op: AvgPool2dOp | MaxPool2dOp, rewriter: Rewriter) -> None:
    axes = (2, 3) if attr(op, "layout") == "nchw" else (1, 2)
    x, shape = op.operands[0], shape_of(op.operands[0])
    kernel, strides = tuple(attr(op, "kernel")), tuple(attr(op, "strides"))
    if kernel == strides == (1, 1) and x.type == op.results[0].type and not any(attr(op, "pads")):
        if rewriter.allow("drop-pool", op):
            rewriter.applied(op, "a pool of single elements is nothing")
            rewriter.replace(op, x)
        return
    result = shape_of(op.results[0])
    whole = kernel == tuple(shape[a] for a in axes) and tuple(attr(op, "dilations")) == (1, 1)
    if any(result[a] != 1 for a in axes):
        return
    if not whole or any(attr(op, "pads")):
        rewriter.missed(op, f"the only window of {op.name} is not the map alone")
    elif rewriter.allow("lower-pool", op):
        kind = ReduceMeanOp if isinstance(op, AvgPool2dOp) else ReduceMaxOp
        new = rewriter.build(op, kind, x, axes=axes, keepdims=True)
        rewriter.applied(new, f"{op.name} over the whole map is {kind.name}")
        rewriter.replace(op, new.results[0])

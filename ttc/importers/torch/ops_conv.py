"""Convolutions over one to three spatial dimensions."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttc.importers.common.windows import lift, lower, spatial_rank, window
from ttc.importers.torch.builder import TorchBuilder
from ttc.importers.torch.tables import Rows

Ints = tuple[int, ...]


def conv(
    b: TorchBuilder, x: SSAValue, weight: SSAValue, bias: SSAValue | None, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> SSAValue:
    """x[n, c, spatial...] with weight[o, c / groups, kernel...]."""
    rank = spatial_rank(b, x)
    kernel = b.shape(weight)[2:]
    stride, padding, dilation = (v * (rank if len(v) == 1 else 1) for v in (stride, padding, dilation))
    win = window(b, x, kernel, stride, dilation, (*padding, *padding), "NOTSET")
    attrs = {"strides": win.strides, "pads": win.pads, "dilations": win.dilations, "groups": groups, "layout": "nchw"}
    return lower(b, b.nn("conv2d", lift(b, x), lift(b, weight), bias, **attrs), rank)


ROWS: Rows = {"aten.conv1d.default": conv, "aten.conv2d.default": conv}

"""Pools: images reduced window by window."""

from __future__ import annotations

from typing import Any, ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from ttc.dialects.core.ir.attributes import BOOL, INTS, STR
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.core.kernels.windows import as_layout, channels_last, window_counts, windows
from ttc.dialects.nn.base import TENSOR, NNOp, require_rank
from ttc.dialects.nn.elementwise import FLOATING, NUMERIC, require_kind


class _PoolOp(NNOp):
    """Fields that both pools have, and the independence of their samples.  KINDS: numpy kinds of the dtypes that one takes."""

    KINDS: ClassVar[str] = FLOATING
    x = operand_def(TENSOR)
    kernel = prop_def(INTS)
    strides = prop_def(INTS)
    pads = prop_def(INTS)
    dilations = prop_def(INTS)
    layout = prop_def(STR)
    ceil_mode = prop_def(BOOL)
    y = result_def(TENSOR)

    @classmethod
    def infer(
        cls,
        x: Spec,
        *,
        kernel: tuple[int, ...],
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        dilations: tuple[int, ...],
        layout: str,
        ceil_mode: bool,
    ) -> Spec:
        require_rank(require_kind(x, cls.KINDS), 4)
        n, h, w, c = channels_last(x.shape, layout)
        oh, ow = window_counts((h, w), windows(kernel, strides, pads, dilations, ceil_mode))
        return Spec(as_layout(n, oh, ow, c, layout), x.dtype)


@irdl_op_definition
class MaxPool2dOp(_PoolOp):
    """The largest element of each window: y[n, c, i, j] = max x[n, c, i*s + p*d - pad, j*s + q*d - pad] over the taps p, q inside x.

    Args:    x: tensor[n, c, h, w], or [n, h, w, c] for layout nhwc; numbers.  kernel, strides, dilations: of height and width.
             pads: top, left, bottom, right.  ceil_mode: a last window may reach past the padding if it starts inside x or top/left padding.
    Returns: y: tensor of x's layout and dtype, oh = (h + top + bottom - dilation * (kh - 1) - 1) / stride + 1, rounded down,
             or up with ceil_mode.
    Raises:  E0401 if no window fits, E0402 for an attribute out of range, E0403 for bool.
    Source:  ONNX MaxPool-12; torch.nn.functional.max_pool2d.
    """

    name = "nn.max_pool2d"
    KINDS: ClassVar[str] = NUMERIC


@irdl_op_definition
class AvgPool2dOp(_PoolOp):
    """The mean of each window: y[n, c, i, j] = sum x[n, c, i*s + p*d - pad, j*s + q*d - pad] / count, over the taps p, q inside x.

    count: taps inside x, and with count_include_pad those in the padding too, but never those past it that ceil_mode lets in.

    Args:    x: tensor[n, c, h, w], or [n, h, w, c] for layout nhwc; floating point.  kernel, strides, dilations: of height and width.
             pads: top, left, bottom, right.  ceil_mode: a last window may reach past the padding if it starts inside x or top/left padding.
    Returns: y: tensor of x's layout and dtype, oh = (h + top + bottom - dilation * (kh - 1) - 1) / stride + 1, rounded down,
             or up with ceil_mode; 0 for a window that meets padding alone.
    Raises:  E0401 if no window fits, E0402 for an attribute out of range, E0403 for integers.
    Source:  ONNX AveragePool-19; torch.nn.functional.avg_pool2d.
    """

    name = "nn.avg_pool2d"
    count_include_pad = prop_def(BOOL)

    @classmethod
    def infer(cls, x: Spec, *, count_include_pad: bool, **window: Any) -> Spec:
        return super().infer(x, **window)

"""Convolutions over images as ops of nn."""

from __future__ import annotations

from typing import Any

from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, prop_def, result_def

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import FLOATS, INT, INTS, STR
from ttc.dialects.core.ir.spec import DYNAMIC, Spec
from ttc.dialects.core.kernels.windows import as_layout, channels_last, window_counts, windows
from ttc.dialects.nn.alignment import require_activation
from ttc.dialects.nn.base import TENSOR, NNOp, require_rank, same_dtype
from ttc.dialects.nn.elementwise import FLOATING, NUMERIC, require_kind


class _ConvOp(NNOp):
    """Fields that both convolutions have, and the independence of their samples."""

    x = operand_def(TENSOR)
    w = operand_def(TENSOR)
    bias = opt_operand_def(TENSOR)
    strides = prop_def(INTS)
    pads = prop_def(INTS)
    dilations = prop_def(INTS)
    groups = prop_def(INT)
    layout = prop_def(STR)
    y = result_def(TENSOR)


@irdl_op_definition
class Conv2dOp(_ConvOp):
    """Convolution of images: y[n, o, i, j] = activation(sum x[n, c, i*s + p*d - pad, j*s + q*d - pad] * w[o, c, p, q] + bias[o]).

    Output channels fall into `groups`, each over its own part of the input channels; x is 0 outside.

    Args:    x: tensor[n, c, h, w], or [n, h, w, c] for layout nhwc; numbers (of integers there is no activation).
             w: tensor[o, c/groups, kh, kw], or [kh, kw, c/groups, o].  bias: tensor[o].
             strides, dilations: of height and width, in elements.  pads: top, left, bottom, right.
             activation: mnemonic of a unary op applied to the result, activation_args: its float attributes in the order of its fields.
    Returns: y: tensor[n, o, oh, ow], or [n, oh, ow, o]; oh = (h + top + bottom - dilation * (kh - 1) - 1) // stride + 1.
    Raises:  E0401 if shapes do not fit or the window is larger than the padded input, E0402 for an attribute out of range,
             E0403 for booleans or differing dtypes.
    Source:  ONNX Conv-11, ConvInteger-10 (auto_pad: the importer computes pads); torch.nn.functional.conv2d.
    """

    name = "nn.conv2d"
    activation = opt_prop_def(STR)
    activation_args = opt_prop_def(FLOATS)

    @classmethod
    def infer(
        cls,
        x: Spec,
        w: Spec,
        bias: Spec | None = None,
        *,
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        dilations: tuple[int, ...],
        groups: int,
        layout: str,
        activation: str | None = None,
        activation_args: tuple[float, ...] = (),
    ) -> Spec:
        dtype = _operand_dtype(x, w, bias, NUMERIC)
        n, h, width, channels = channels_last(x.shape, layout)
        kh, kw, depth, outputs = _filter_dims(w, layout)
        _require_groups(groups, outputs, "output channels")
        if channels not in (depth * groups, DYNAMIC):
            raise Error("E0401", f"filter {w} in {groups} groups takes {depth * groups} channels, but the image has {channels}")
        _require_bias(bias, outputs)
        oh, ow = window_counts((h, width), windows((kh, kw), strides, pads, dilations))
        result = Spec(as_layout(n, oh, ow, outputs, layout), dtype)
        require_activation(result, activation, activation_args)
        return result


@irdl_op_definition
class ConvTranspose2dOp(_ConvOp):
    """Transposed convolution: every x[n, c, i, j] adds x * w[c, o, p, q] to y[n, o, i*s + p*d - pad, j*s + q*d - pad]; bias[o] is added.

    Args:    x: tensor[n, c, h, w], or [n, h, w, c] for layout nhwc; floating point.
             w: tensor[c, o/groups, kh, kw], or [kh, kw, o/groups, c].  bias: tensor[o].
             strides, dilations: of height and width, in elements.  pads: cut off at top, left, bottom, right.
             output_padding: rows and columns of zeros added at bottom and right before that.
    Returns: y: tensor[n, o, oh, ow], or [n, oh, ow, o]; oh = (h - 1) * stride + dilation * (kh - 1) + 1 + output_padding - top - bottom.
    Raises:  E0401 if shapes do not fit or the pads leave nothing, E0402 for an attribute out of range,
             E0403 for integers or differing dtypes.
    Source:  ONNX ConvTranspose-11 (output_shape: the importer computes pads); torch.nn.functional.conv_transpose2d.
    """

    name = "nn.conv_transpose2d"
    output_padding = prop_def(INTS)

    @classmethod
    def infer(
        cls,
        x: Spec,
        w: Spec,
        bias: Spec | None = None,
        *,
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        output_padding: tuple[int, ...],
        dilations: tuple[int, ...],
        groups: int,
        layout: str,
    ) -> Spec:
        dtype = _operand_dtype(x, w, bias, FLOATING)
        n, h, width, channels = channels_last(x.shape, layout)
        kh, kw, depth, inputs = _filter_dims(w, layout)
        _require_groups(groups, inputs, "input channels")
        if channels not in (inputs, DYNAMIC):
            raise Error("E0401", f"filter {w} takes {inputs} channels, but the image has {channels}")
        _require_bias(bias, depth * groups)
        if len(output_padding) != 2 or min(output_padding) < 0:
            raise Error("E0402", f"output_padding takes 2 numbers of at least 0, not {list(output_padding)}")
        moves = windows((kh, kw), strides, pads, dilations)
        sizes = zip((h, width), moves, output_padding, strict=True)
        oh, ow = (size if size < 0 else move.reach(size) + extra - move.before - move.after for size, move, extra in sizes)
        if 0 in (oh, ow) or (oh < 0 <= h) or (ow < 0 <= width):
            raise Error("E0401", f"pads {list(pads)} leave nothing of the result")
        return Spec(as_layout(n, oh, ow, depth * groups, layout), dtype)


def _operand_dtype(x: Spec, w: Spec, bias: Spec | None, kinds: str) -> Any:
    """Return the dtype of the operands, of rank 4 both and of these kinds.  Raises E0401, E0403."""
    require_rank(x, 4)
    require_rank(w, 4)
    dtype = same_dtype(x, w, bias)
    require_kind(x, kinds)
    return dtype


def _filter_dims(w: Spec, layout: str) -> tuple[int, ...]:
    """(kh, kw, b, a) of a filter [a, b, kh, kw], or [kh, kw, b, a] for nhwc.  Raises E0401 for sizes that are 0 or dynamic."""
    if min(w.shape) < 1:
        raise Error("E0401", f"filter {w} is empty or dynamic")
    return w.shape if layout == "nhwc" else (w.shape[2], w.shape[3], w.shape[1], w.shape[0])


def _require_groups(groups: int, channels: int, role: str) -> None:
    """Raises E0402 for less than one group, E0401 for channels that do not fall into groups evenly."""
    if groups < 1:
        raise Error("E0402", f"groups is at least 1, not {groups}")
    if channels % groups:
        raise Error("E0401", f"{channels} {role} do not fall into {groups} groups")


def _require_bias(bias: Spec | None, channels: int) -> None:
    """Raises E0401 unless the bias is absent or one number a channel."""
    if bias is not None and bias.shape != (channels,):
        raise Error("E0401", f"bias {bias} is not one number for each of {channels} channels")

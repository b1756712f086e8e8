"""Convolutions over one to three spatial dimensions, and their gradients."""

from __future__ import annotations

from typing import TypeAlias

from xdsl.ir import SSAValue

from ttc.importers.common.convolution import convolution, transposed_convolution
from ttc.importers.common.parts import padded
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.common.windows import Window, flat_window, same_totals, split_pads
from ttc.importers.torch.builder import TorchBuilder
from ttc.importers.torch.tables import Rows

Ints: TypeAlias = tuple[int, ...]


def each(values: Ints, rank: int) -> Ints:
    """One value a dimension, from one for all."""
    return values * rank if len(values) == 1 else values


def conv(
    b: TorchBuilder, x: SSAValue, weight: SSAValue, bias: SSAValue | None, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> SSAValue:
    """x[n, c, spatial...] or without n, with weight[o, c / groups, kernel...]."""
    if len(b.shape(x)) < len(b.shape(weight)):
        one = conv(b, b.reshape(x, 1, *b.shape(x)), weight, bias, stride, padding, dilation, groups)
        return b.reshape(one, *b.shape(one)[1:])
    rank = len(b.shape(weight)) - 2
    pads = each(padding, rank)
    return convolution(b, x, weight, bias, _window(b, x, weight, stride, (*pads, *pads), dilation), groups)


def conv_padding(
    b: TorchBuilder, x: SSAValue, weight: SSAValue, bias: SSAValue | None, stride: Ints, padding: str, dilation: Ints, groups: int
) -> SSAValue:
    """padding: "valid", or "same": an odd element goes to the end."""
    if len(b.shape(x)) < len(b.shape(weight)):
        one = conv_padding(b, b.reshape(x, 1, *b.shape(x)), weight, bias, stride, padding, dilation, groups)
        return b.reshape(one, *b.shape(one)[1:])
    rank = len(b.shape(weight)) - 2
    pads = (0,) * (2 * rank)
    if padding == "same":
        totals = same_totals(b.shape(x)[2:], b.shape(weight)[2:], (1,) * rank, each(dilation, rank))
        pads = split_pads(totals, upper=True)
    return convolution(b, x, weight, bias, _window(b, x, weight, stride, pads, dilation), groups)


def _window(b: TorchBuilder, x: SSAValue, weight: SSAValue, stride: Ints, pads: Ints, dilation: Ints) -> Window:
    rank = len(b.shape(weight)) - 2
    return flat_window(b, x, b.shape(weight)[2:], each(stride, rank), each(dilation, rank), pads, "NOTSET")


def conv_transpose(
    b: TorchBuilder,
    x: SSAValue,
    weight: SSAValue,
    bias: SSAValue | None,
    stride: Ints,
    padding: Ints,
    output_padding: Ints,
    groups: int,
    dilation: Ints,
) -> SSAValue:
    """x[n, c, spatial...] or without n, with weight[c, o / groups, kernel...]."""
    if len(b.shape(x)) < len(b.shape(weight)):
        one = conv_transpose(b, b.reshape(x, 1, *b.shape(x)), weight, bias, stride, padding, output_padding, groups, dilation)
        return b.reshape(one, *b.shape(one)[1:])
    rank = len(b.shape(weight)) - 2
    pads = each(padding, rank)
    win = _window(b, x, weight, stride, (*pads, *pads), dilation)
    return transposed_convolution(b, x, weight, bias, win, each(output_padding, rank), groups)


def any_convolution(
    b: TorchBuilder,
    x: SSAValue,
    weight: SSAValue,
    bias: SSAValue | None,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    output_padding: Ints,
    groups: int,
) -> SSAValue:
    """As decomposed graphs name both kinds."""
    if transposed:
        return conv_transpose(b, x, weight, bias, stride, padding, output_padding, groups, dilation)
    return conv(b, x, weight, bias, stride, padding, dilation, groups)


def convolution_backward(
    b: TorchBuilder,
    grad: SSAValue,
    x: SSAValue,
    weight: SSAValue,
    bias_sizes: Ints | None,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    output_padding: Ints,
    groups: int,
    output_mask: tuple[bool, bool, bool],
) -> tuple[SSAValue | None, ...]:
    """Gradients of x, weight and bias, of those asked for.

    That of x is the transposed convolution of grad; that of weight the convolution of x with grad as its kernel, batch and channels swapped.
    """
    rank = len(b.shape(weight)) - 2
    stride, padding, dilation = each(stride, rank), each(padding, rank), each(dilation, rank)
    if transposed or any(output_padding):
        raise Unsupported("gradients of transposed convolutions")
    sizes, kernel = b.shape(x)[2:], b.shape(weight)[2:]
    found: list[SSAValue | None] = [None, None, None]
    if output_mask[0]:
        rows = zip(sizes, b.shape(grad)[2:], kernel, stride, padding, dilation, strict=True)
        rest = tuple(size - ((g - 1) * s - 2 * p + d * (k - 1) + 1) for size, g, k, s, p, d in rows)
        found[0] = conv_transpose(b, grad, weight, None, stride, padding, rest, groups, dilation)
    if output_mask[1]:
        found[1] = _weight_gradient(b, grad, x, kernel, stride, padding, dilation, groups)
    if output_mask[2]:
        found[2] = b.nn("reduce_sum", grad, axes=(0, *range(2, rank + 2)), keepdims=False)
    return tuple(found)


def _weight_gradient(
    b: TorchBuilder, grad: SSAValue, x: SSAValue, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> SSAValue:
    """[o, c / groups, kernel...]: for each group images are its channels, the batch their channels, and grad the kernels."""
    n, c, *sizes = b.shape(x)
    out, *spatial = b.shape(grad)[1:]
    rank = len(kernel)
    swap = (1, 0, *range(2, rank + 2))
    x = padded(b, x, (0, 0, *padding), (0, 0, *padding))
    # of x only what the windows of all taps cover: with strides the last elements may be in none
    cover = tuple((g - 1) * s + (k - 1) * d + 1 for g, s, k, d in zip(spatial, stride, kernel, dilation, strict=True))
    sizes = b.shape(x)[2:]
    x = padded(b, x, (0,) * (rank + 2), (0, 0, *(min(want - have, 0) for want, have in zip(cover, sizes, strict=True))))
    # channels of x to the batch, the groups side by side: [c / groups, groups * n, ...] and kernels [o, n, ...]
    images = b.reshape(b.nn("transpose", x, perm=swap), groups, c // groups, n, *b.shape(x)[2:])
    images = b.nn("transpose", images, perm=(1, 0, 2, *range(3, rank + 3)))
    images = b.reshape(images, c // groups, groups * n, *b.shape(x)[2:])
    kernels = b.nn("transpose", grad, perm=swap)
    win = Window(tuple(spatial), dilation, stride, (0,) * (2 * rank))
    found = convolution(b, images, kernels, None, win, groups)
    return b.nn("transpose", b.reshape(found, c // groups, out, *kernel), perm=swap)


ROWS: Rows = {
    **{f"aten.conv{n}d.default": conv for n in (1, 2, 3)},
    **{f"aten.conv{n}d.padding": conv_padding for n in (1, 2, 3)},
    "aten.conv_transpose1d.default": conv_transpose,
    "aten.conv_transpose2d.input": conv_transpose,
    "aten.conv_transpose3d.input": conv_transpose,
    "aten.convolution.default": any_convolution,
    "aten.convolution_backward.default": convolution_backward,
}

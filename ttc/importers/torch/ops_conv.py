"""Convolutions over one to three spatial dimensions, and their gradients."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeAlias

from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.convolution import convolution, transposed_convolution
from ttc.importers.common.windows import SpatialWindow, flat_window, same_totals, split_pads
from ttc.importers.torch.builder import TorchBuilder
from ttc.importers.torch.tables import Rows

Ints: TypeAlias = tuple[int, ...]


def each(values: Ints, rank: int) -> Ints:
    """Return one value a dimension, from one for all."""
    return values * rank if len(values) == 1 else values


def batched(row: Callable[..., SSAValue]) -> Callable[..., SSAValue]:
    """Return a row for x with or without n, which the row need not know."""

    @wraps(row)
    def apply(b: TorchBuilder, x: SSAValue, weight: SSAValue, *rest: Any) -> SSAValue:
        if b.rank(x) >= b.rank(weight):
            return row(b, x, weight, *rest)
        one = row(b, b.reshape(x, 1, *b.shape(x)), weight, *rest)
        return b.reshape(one, *b.shape(one)[1:])

    return apply


@batched
def conv(
    b: TorchBuilder, x: SSAValue, weight: SSAValue, bias: SSAValue | None, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> SSAValue:
    """Convolve x[n, c, spatial...], or x without n, with weight[o, c / groups, kernel...]."""
    rank = b.rank(weight) - 2
    pads = each(padding, rank)
    return convolution(b, x, weight, bias, _window(b, x, weight, stride, (*pads, *pads), dilation), groups)


@batched
def conv_padding(
    b: TorchBuilder, x: SSAValue, weight: SSAValue, bias: SSAValue | None, stride: Ints, padding: str, dilation: Ints, groups: int
) -> SSAValue:
    """Convolve with padding "valid", or "same", where an odd element goes to the end."""
    rank = b.rank(weight) - 2
    pads = (0,) * (2 * rank)
    if padding == "same":
        totals = same_totals(b.shape(x)[2:], b.shape(weight)[2:], (1,) * rank, each(dilation, rank))
        pads = split_pads(totals, upper=True)
    return convolution(b, x, weight, bias, _window(b, x, weight, stride, pads, dilation), groups)


def _window(b: TorchBuilder, x: SSAValue, weight: SSAValue, stride: Ints, pads: Ints, dilation: Ints) -> SpatialWindow:
    rank = b.rank(weight) - 2
    return flat_window(b, x, b.shape(weight)[2:], each(stride, rank), each(dilation, rank), pads, "NOTSET")


@batched
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
    """Convolve x[n, c, spatial...], or x without n, transposed, with weight[c, o / groups, kernel...]."""
    rank = b.rank(weight) - 2
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
    """Convolve, transposed or not: decomposed graphs have one op for both."""
    if transposed:
        return conv_transpose(b, x, weight, bias, stride, padding, output_padding, groups, dilation)
    return conv(b, x, weight, bias, stride, padding, dilation, groups)


ROWS: Rows = {
    **{f"aten.conv{n}d.default": conv for n in (1, 2, 3)},
    **{f"aten.conv{n}d.padding": conv_padding for n in (1, 2, 3)},
    "aten.conv_transpose1d.default": conv_transpose,
    "aten.conv_transpose2d.input": conv_transpose,
    "aten.conv_transpose3d.input": conv_transpose,
    "aten.convolution.default": any_convolution,
}

"""Convolutions and pools over one to three spatial dimensions, with channels first, x[n, c, spatial...], or last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.convolution import convolution, mean_pool, pool, transposed_convolution
from ttc.importers.common.windows import SpatialWindow, flat_window
from ttc.ops.tracing import Operand, Tensor, made

Sizes: TypeAlias = "int | Sequence[int]"
Padding: TypeAlias = "int | str | Sequence[int]"
"""The padding of windows: a number for all sides, one a dimension, all beginnings and then all ends, or `same` (odd ones end more) or
`valid`.
"""
_RULES = {"same": "SAME_UPPER", "valid": "VALID"}


def _each(values: Sizes, rank: int, what: str) -> tuple[int, ...]:
    found = (values,) * rank if isinstance(values, int) else tuple(values)
    if len(found) != rank:
        raise Error("E0402", f"{what} {list(found)} is not one for each of {rank} dimensions")
    return found


def _window(b: Builder, x: SSAValue, kernel: tuple[int, ...], stride: Sizes, padding: Padding, dilation: Sizes) -> SpatialWindow:
    rank = len(kernel)
    strides, dilations = _each(stride, rank, "stride"), _each(dilation, rank, "dilation")
    if isinstance(padding, str):
        if padding not in _RULES:
            raise Error("E0402", f"padding is a number, a list, `same` or `valid`, not '{padding[:40]}'")
        return flat_window(b, x, kernel, strides, dilations, (), _RULES[padding])
    sides = padding if isinstance(padding, int) or len(padding) != 2 * rank else None
    pads = tuple(padding) if sides is None else _each(sides, rank, "padding") * 2  # pyright: ignore[reportArgumentType]
    return flat_window(b, x, kernel, strides, dilations, pads, "NOTSET")


def _channels_first(rule: Callable[[SSAValue], SSAValue], b: Builder, x: SSAValue, rank: int, *, last: bool) -> SSAValue:
    """Return the rule of x[n, c, spatial...], for x[n, spatial..., c] if channels come last.  Raises E0401."""
    if b.rank(x) != rank + 2:
        raise Error("E0401", f"needs a batch, channels and {rank} spatial dimensions, not {b.spec(x)}")
    if not last:
        return rule(x)
    first = (0, rank + 1, *range(1, rank + 1))
    return b.nn("transpose", rule(b.nn("transpose", x, perm=first)), perm=(0, *range(2, rank + 2), 1))


class Conv(Protocol):
    """A convolution over as many spatial dimensions as its name says."""

    def __call__(
        self,
        x: Operand,
        weight: Operand,
        bias: Operand | None = None,
        *,
        stride: Sizes = 1,
        padding: Padding = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        channel_last: bool = False,
        name: str | None = None,
    ) -> Tensor: ...


def _conv(rank: int) -> Conv:
    def apply(
        x: Operand,
        weight: Operand,
        bias: Operand | None = None,
        *,
        stride: Sizes = 1,
        padding: Padding = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        channel_last: bool = False,
        name: str | None = None,
    ) -> Tensor:
        def rule(b: Builder, x: SSAValue, w: SSAValue, bias: SSAValue | None) -> SSAValue:
            def of(x: SSAValue) -> SSAValue:
                return convolution(b, x, w, bias, _window(b, x, b.shape(w)[2:], stride, padding, dilation), groups)

            return _channels_first(of, b, x, rank, last=channel_last)

        return made(apply.__name__, name, [x, weight, bias], rule)

    apply.__name__ = apply.__qualname__ = f"conv{rank}d"
    apply.__doc__ = f"""Convolve over {rank} spatial dimension{"s" * (rank > 1)}: weight[o, c / groups, kernel...], bias[o].

    Padding is a number for all sides, one for each dimension, all beginnings and then all ends, `same` or `valid`.
    Raises: E0401, E0402.
    """
    return apply


conv1d, conv2d, conv3d = _conv(1), _conv(2), _conv(3)


class ConvTranspose(Protocol):
    """A transposed convolution over as many spatial dimensions as its name says."""

    def __call__(
        self,
        x: Operand,
        weight: Operand,
        bias: Operand | None = None,
        *,
        stride: Sizes = 1,
        padding: Padding = 0,
        output_padding: Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        channel_last: bool = False,
        name: str | None = None,
    ) -> Tensor: ...


def _conv_transpose(rank: int) -> ConvTranspose:
    def apply(
        x: Operand,
        weight: Operand,
        bias: Operand | None = None,
        *,
        stride: Sizes = 1,
        padding: Padding = 0,
        output_padding: Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        channel_last: bool = False,
        name: str | None = None,
    ) -> Tensor:
        def rule(b: Builder, x: SSAValue, w: SSAValue, bias: SSAValue | None) -> SSAValue:
            def of(x: SSAValue) -> SSAValue:
                win = _window(b, x, b.shape(w)[2:], stride, padding, dilation)
                return transposed_convolution(b, x, w, bias, win, _each(output_padding, rank, "output_padding"), groups)

            return _channels_first(of, b, x, rank, last=channel_last)

        return made(apply.__name__, name, [x, weight, bias], rule)

    apply.__name__ = apply.__qualname__ = f"conv{rank}d_transpose"
    apply.__doc__ = f"""Convolve transposed over {rank} spatial dimension{"s" * (rank > 1)}: weight[c, o / groups, kernel...], bias[o].

    Padding, as in `conv{rank}d`, is what the result loses at its sides; output_padding is added at its ends.
    Raises: E0401, E0402.
    """
    return apply


conv1d_transpose, conv2d_transpose, conv3d_transpose = _conv_transpose(1), _conv_transpose(2), _conv_transpose(3)


class SpatialPool(Protocol):
    """A pool over as many spatial dimensions as its name says."""

    def __call__(
        self,
        x: Operand,
        kernel: Sizes,
        *,
        stride: Sizes | None = None,
        padding: Padding = 0,
        dilation: Sizes = 1,
        ceil_mode: bool = False,
        channel_last: bool = False,
        name: str | None = None,
    ) -> Tensor: ...


def _pooled(
    node: str, name: str | None, x: Operand, rank: int, last: bool, window: tuple[Any, ...], rule: Callable[..., SSAValue]
) -> Tensor:
    kernel, stride, padding, dilation = window

    def apply(b: Builder, x: SSAValue) -> SSAValue:
        def of(x: SSAValue) -> SSAValue:
            sizes = _each(kernel, rank, "kernel")
            return rule(b, x, _window(b, x, sizes, sizes if stride is None else stride, padding, dilation))

        return _channels_first(of, b, x, rank, last=last)

    return made(node, name, [x], apply)


def _max_pool(rank: int) -> SpatialPool:
    def apply(
        x: Operand,
        kernel: Sizes,
        *,
        stride: Sizes | None = None,
        padding: Padding = 0,
        dilation: Sizes = 1,
        ceil_mode: bool = False,
        channel_last: bool = False,
        name: str | None = None,
    ) -> Tensor:
        window = (kernel, stride, padding, dilation)
        return _pooled(apply.__name__, name, x, rank, channel_last, window, lambda b, x, win: pool(b, "max_pool2d", x, win, int(ceil_mode)))

    apply.__name__ = apply.__qualname__ = f"max_pool{rank}d"
    apply.__doc__ = """Return the largest element of each window; padding never is.  stride: default: the kernel.  Raises E0401, E0402."""
    return apply


max_pool1d, max_pool2d, max_pool3d = _max_pool(1), _max_pool(2), _max_pool(3)


class MeanPool(Protocol):
    """A pool of means over as many spatial dimensions as its name says."""

    def __call__(
        self,
        x: Operand,
        kernel: Sizes,
        *,
        stride: Sizes | None = None,
        padding: Padding = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor: float | None = None,
        channel_last: bool = False,
        name: str | None = None,
    ) -> Tensor: ...


def _avg_pool(rank: int) -> MeanPool:
    def apply(
        x: Operand,
        kernel: Sizes,
        *,
        stride: Sizes | None = None,
        padding: Padding = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor: float | None = None,
        channel_last: bool = False,
        name: str | None = None,
    ) -> Tensor:
        def rule(b: Builder, x: SSAValue, win: SpatialWindow) -> SSAValue:
            return mean_pool(b, x, win, ceil=ceil_mode, include_pad=count_include_pad, divisor=divisor)

        return _pooled(apply.__name__, name, x, rank, channel_last, (kernel, stride, padding, 1), rule)

    apply.__name__ = apply.__qualname__ = f"avg_pool{rank}d"
    apply.__doc__ = """Return the mean of each window, or its sum over a divisor.  stride: default: the kernel.  Raises E0401, E0402."""
    return apply


avg_pool1d, avg_pool2d, avg_pool3d = _avg_pool(1), _avg_pool(2), _avg_pool(3)

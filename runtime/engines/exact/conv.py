"""Convolutions as sums over taps: the image lies in SrcB, the filter in SrcA."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.kernels.epilogue import finish
from ttc.dialects.core.plain.interpret import kernel
from ttc.runtime.engines.exact import RULES
from ttc.runtime.engines.exact.core import Core


@RULES.rule("conv2d")
def exact_conv2d(
    core: Core,
    x: NDArray,
    w: NDArray,
    bias: NDArray | None = None,
    *,
    activation: str | None = None,
    activation_args: tuple[float, ...] = (),
    **attrs: Any,
) -> NDArray:
    """activation(convolution + bias) of x[n, h, w, c] with w[kh, kw, c / groups, o], summed by taps and blocks of channels."""
    return finish(_summed(core, "tile.conv2d", x, w, 2, attrs), bias, activation, activation_args)


@RULES.rule("conv_transpose2d")
def exact_conv_transpose2d(core: Core, x: NDArray, w: NDArray, bias: NDArray | None = None, **attrs: Any) -> NDArray:
    """Transposed convolution of x[n, h, w, i] with w[kh, kw, o / groups, i], summed by taps and blocks of channels."""
    return finish(_summed(core, "tile.conv_transpose2d", x, w, 3, attrs), bias, None, ())


def _summed(core: Core, op: str, x: NDArray, w: NDArray, axis: int, attrs: dict[str, Any]) -> NDArray:
    """axis: of the filter, that its sum over channels runs along."""
    function = kernel(op)

    def product(a: NDArray, b: NDArray) -> NDArray:
        return np.asarray(function(b, a, None, **attrs))

    if core.in_one_block or x.dtype != np.float32 or w.size == 0:
        return core.multiply(product, w, x)
    block = core.block if attrs["groups"] == 1 else w.shape[axis]
    return core.accumulate(core.multiply(product, part, x[..., channels]) for part, channels in _blocks(w, axis, block))


def _blocks(w: NDArray, axis: int, size: int) -> Iterator[tuple[NDArray, slice]]:
    """The filter with all but one tap and one block of channels left out, and the channels; all channels where the block is that long."""
    for i, j in np.ndindex(w.shape[:2]):
        tap = np.zeros_like(w)
        tap[i, j] = w[i, j]
        for first in range(0, w.shape[axis], size):
            channels = slice(first, first + size) if size < w.shape[axis] else slice(None)
            yield tap[(slice(None),) * axis + (channels,)], channels

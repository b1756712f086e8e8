"""Numpy semantics of convolutions and pooling over channels-last images."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ttc.dialects.core.plain.interpret import kernel


def conv2d(x: NDArray, w: NDArray, bias: NDArray | None = None, **attrs: Any) -> Any:
    """x[n, h, w, c] convolved with w[kh, kw, c / groups, o]."""
    return kernel("nn.conv2d")(x, w, bias, layout="nhwc", **attrs)


def conv_transpose2d(x: NDArray, w: NDArray, bias: NDArray | None = None, **attrs: Any) -> Any:
    """x[n, h, w, i] through the transpose of a convolution with w[kh, kw, o / groups, i]."""
    return kernel("nn.conv_transpose2d")(x, w, bias, layout="nhwc", **attrs)


def max_pool2d(x: NDArray, **attrs: Any) -> Any:
    """Largest element of each window of x[n, h, w, c]."""
    return kernel("nn.max_pool2d")(x, layout="nhwc", **attrs)


def avg_pool2d(x: NDArray, **attrs: Any) -> Any:
    """Mean of each window of x[n, h, w, c]."""
    return kernel("nn.avg_pool2d")(x, layout="nhwc", **attrs)

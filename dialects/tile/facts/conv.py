"""Facts of convolutions over channels-last images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ttc.dialects.core.errors import Error
from ttc.dialects.core.kernels.windows import transposed_counts, window_counts, windows
from ttc.dialects.core.shapes import Shape, require_broadcastable
from ttc.dialects.nn import counts
from ttc.dialects.tile.facts.base import FLOATS, INT, INTS, STR, Floats, Ints, Role, fact, optional

_NHWC = {"layout": "nhwc"}
_WINDOW = {"strides": INTS, "pads": INTS, "dilations": INTS, "groups": INT}


def _flops(operands: Sequence[Shape], results: Sequence[Shape], attrs: Mapping[str, Any]) -> int:
    return counts.convolution(operands, results, _NHWC)


def _transposed_flops(operands: Sequence[Shape], results: Sequence[Shape], attrs: Mapping[str, Any]) -> int:
    return counts.transposed_convolution(operands, results, _NHWC)


@fact(Role.WINDOW, {**_WINDOW, "activation": optional(STR), "activation_args": optional(FLOATS)}, flops=_flops)
def conv2d(
    x: Shape,
    w: Shape,
    bias: Shape | None = None,
    *,
    strides: Ints,
    pads: Ints,
    dilations: Ints,
    groups: int,
    activation: str | None = None,
    activation_args: Floats | None = (),
) -> Shape:
    """Return [n, h', w', o] for x[n, h, w, c] and w[kh, kw, c / groups, o].  Raises E0401, E0402."""
    _require_images(x, w)
    n, height, width, channels = x
    *kernel, depth, outputs = w
    if groups < 1 or channels != depth * groups or outputs % groups:
        raise Error("E0401", f"{channels} channels in {groups} groups do not fit weights {list(w)}")
    shape = (n, *window_counts((height, width), windows(kernel, strides, pads, dilations)), outputs)
    require_broadcastable(bias, shape)
    return shape


@fact(Role.WINDOW, {**_WINDOW, "output_padding": INTS}, flops=_transposed_flops)
def conv_transpose2d(
    x: Shape,
    w: Shape,
    bias: Shape | None = None,
    *,
    strides: Ints,
    pads: Ints,
    output_padding: Ints,
    dilations: Ints,
    groups: int,
) -> Shape:
    """Return [n, h', w', o] for x[n, h, w, i] and w[kh, kw, o / groups, i].  Raises E0401, E0402."""
    _require_images(x, w)
    n, height, width, channels = x
    *kernel, depth, inputs = w
    if groups < 1 or channels != inputs or channels % groups:
        raise Error("E0401", f"{channels} channels in {groups} groups do not fit weights {list(w)}")
    sizes = transposed_counts((height, width), windows(kernel, strides, pads, dilations), output_padding)
    shape = (n, *sizes, depth * groups)
    require_broadcastable(bias, shape)
    return shape


def _require_images(x: Shape, w: Shape) -> None:
    if len(x) != 4 or len(w) != 4:
        raise Error("E0401", f"a convolution needs operands of rank 4, not {list(x)} and {list(w)}")

"""Facts of pooling over channels-last images."""

from __future__ import annotations

from ttc.dialects.core.errors import Error
from ttc.dialects.core.kernels.windows import window_counts, windows
from ttc.dialects.core.shapes import Shape
from ttc.dialects.tile.facts.base import BOOL, INTS, Ints, Role, fact

_ATTRS = {"kernel": INTS, "strides": INTS, "pads": INTS, "dilations": INTS, "ceil_mode": BOOL}


@fact(Role.WINDOW, _ATTRS)
def max_pool2d(x: Shape, *, kernel: Ints, strides: Ints, pads: Ints, dilations: Ints, ceil_mode: bool) -> Shape:
    """Return [n, h', w', c] for x[n, h, w, c].  Raises E0401, E0402."""
    if len(x) != 4:
        raise Error("E0401", f"pooling needs an image of rank 4, not {list(x)}")
    n, h, w, c = x
    return (n, *window_counts((h, w), windows(kernel, strides, pads, dilations, ceil_mode)), c)


@fact(Role.WINDOW, {**_ATTRS, "count_include_pad": BOOL})
def avg_pool2d(x: Shape, *, kernel: Ints, strides: Ints, pads: Ints, dilations: Ints, ceil_mode: bool, count_include_pad: bool) -> Shape:
    """Return [n, h', w', c] for x[n, h, w, c].  Raises E0401, E0402."""
    return max_pool2d(x, kernel=kernel, strides=strides, pads=pads, dilations=dilations, ceil_mode=ceil_mode)

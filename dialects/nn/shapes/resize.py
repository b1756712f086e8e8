"""Shapes of images sampled anew on a regular grid."""

from __future__ import annotations

from math import isfinite

from ttc.dialects.core.errors import Error
from ttc.dialects.core.kernels.resampling import COORDINATES, MODES, ROUNDINGS
from ttc.dialects.core.shapes import Shape, axes_in, require_length, require_sizes

MAX_TAPS = 1 << 12
"""How many elements one sample of an antialiased dimension may take."""


def resize(
    x: Shape,
    *,
    sizes: tuple[int, ...],
    scales: tuple[float, ...],
    window: tuple[float, ...],
    mode: str,
    coordinates: str,
    rounding: str,
    cubic: float,
    exclude_outside: bool,
    antialias: bool,
    fill: float,
) -> Shape:
    """Return the sizes announced.  Raises E0401, E0402."""
    _require_names(mode, coordinates, rounding)
    require_length(sizes, len(x), "sizes")
    require_length(scales, len(x), "scales")
    require_length(window, 2 * len(x), "window")
    require_sizes(sizes, "sizes")
    if min(x, default=1) < 1:
        raise Error("E0401", f"{list(x)} is empty or dynamic")
    _require_scales(scales, antialias)
    if not all(isfinite(v) for v in (*window, cubic)):
        raise Error("E0402", f"window {list(window)} or coefficient {cubic} is not finite")
    return sizes


def resize_by(
    x: Shape,
    scales: Shape,
    roi: Shape | None = None,
    *,
    axes: tuple[int, ...],
    sizes: tuple[int, ...] | None = None,
    mode: str,
    coordinates: str,
    rounding: str,
    cubic: float,
    exclude_outside: bool,
    antialias: bool,
    fill: float,
) -> Shape:
    """Return the shape of x but for the axes, whose sizes are -1 unless they are announced.  Raises E0401, E0402."""
    _require_names(mode, coordinates, rounding)
    along = axes_in(axes, len(x))
    if min(axes, default=0) < 0:
        raise Error("E0402", f"axes {list(axes)} are not counted from the front")
    windows = (2 * len(axes),) if roi is None else roi
    if scales != (len(axes),) or windows != (2 * len(axes),):
        raise Error("E0401", f"scales {list(scales)} or roi {list(windows)} do not fit axes {list(axes)}")
    if not isfinite(cubic):
        raise Error("E0402", f"coefficient {cubic} is not finite")
    if sizes is not None:
        require_length(sizes, len(along), "sizes")
        require_sizes(sizes, "sizes")
    wanted = dict(zip(axes, sizes or (-1,) * len(axes), strict=True))
    return tuple(wanted.get(i, d) for i, d in enumerate(x))


def _require_names(mode: str, coordinates: str, rounding: str) -> None:
    """Raises E0402."""
    for value, known in ((mode, MODES), (coordinates, COORDINATES), (rounding, ROUNDINGS)):
        if value not in known:
            raise Error("E0402", f"'{value}' is not one of {', '.join(known)}")


def _require_scales(scales: tuple[float, ...], antialias: bool) -> None:
    """Raises E0402 unless scales are positive, finite and, for antialiasing, not so small that samples take very many elements."""
    if not all(0 < s and isfinite(s) for s in scales):
        raise Error("E0402", f"scales {list(scales)} are not positive and finite")
    if antialias and any(1 / s > MAX_TAPS / 4 for s in scales):
        raise Error("E0402", f"scales {list(scales)} are too small to antialias")

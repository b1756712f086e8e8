"""Shapes of discrete Fourier transforms."""

from __future__ import annotations

from ttc.dialects.core.errors import Error
from ttc.dialects.core.shapes import Shape, axis_in

MAX_SIZE = 1 << 27


def fft(real: Shape, imaginary: Shape | None = None, *, axis: int, size: int, inverse: bool, onesided: bool) -> list[Shape]:
    """Return [..., size or size // 2 + 1, ...] twice.  Raises E0401, E0402, E0412."""
    return [_along(real, imaginary, axis, size, size // 2 + 1 if onesided else size)] * 2


def irfft(real: Shape, imaginary: Shape | None = None, *, axis: int, size: int) -> Shape:
    """Return [..., size, ...].  Raises E0401, E0402, E0412."""
    return _along(real, imaginary, axis, size, size)


def _along(real: Shape, imaginary: Shape | None, axis: int, size: int, count: int) -> Shape:
    """Return the shape of real with so many elements along the axis."""
    place = axis_in(axis, len(real))
    if imaginary is not None and imaginary != real:
        raise Error("E0401", f"real parts {list(real)} and imaginary parts {list(imaginary)} differ")
    if real[place] == 0:
        raise Error("E0401", f"there are no elements along axis {axis} of {list(real)}")
    if not 0 < size <= MAX_SIZE:
        raise Error("E0402", f"a transform has 1 to {MAX_SIZE} elements, not {size}")
    return (*real[:place], count, *real[place + 1 :])

"""Fourier transforms, as products with the matrices of cosines and sines of their length; and what is done with spectra."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from ttc.dialects.core.errors import Error
from ttc.dialects.nn.base import axis_in
from ttc.importers.common.builder import Builder
from ttc.importers.common.tracking import MAX_ELEMENTS
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.onnx.control import element, stacked
from ttc.importers.onnx.tensors import DTYPES

MAX_LENGTH = 2048
"""Of a transform: the matrices grow with its square."""


def dft_17(b: Builder, x: SSAValue, length: SSAValue | None = None, *, axis: int = 1, inverse: int = 0, onesided: int = 0) -> SSAValue:
    return _dft(b, x, length, axis, bool(inverse), bool(onesided))


def dft_20(
    b: Builder, x: SSAValue, length: SSAValue | None = None, axis: SSAValue | None = None, *, inverse: int = 0, onesided: int = 0
) -> SSAValue:
    return _dft(b, x, length, -2 if axis is None else int(b.number(axis, "axis")), bool(inverse), bool(onesided))


def _dft(b: Builder, x: SSAValue, length: SSAValue | None, axis: int, inverse: bool, onesided: bool) -> SSAValue:
    """x[..., 1 or 2]: real numbers, or real and imaginary parts.  Inverse and one-sided: from half a spectrum to real numbers."""
    rank = len(b.shape(x))
    at = axis_in(axis, rank)
    if at == rank - 1 or b.shape(x)[-1] not in (1, 2):
        raise Error("E0401", f"{b.spec(x)} does not end in real and imaginary parts beside axis {axis}")
    from_half = inverse and onesided
    size = b.shape(x)[at] if length is None else int(b.number(length, "dft_length"))
    if from_half and length is None:
        size = 2 * (size - 1)
    if not 0 < size <= MAX_LENGTH:
        raise Unsupported(f"a transform of {size} elements")
    parts = [element(b, x, rank - 1, i) for i in range(b.shape(x)[-1])]
    parts = [_to_end(b, _sized(b, part, at, size // 2 + 1 if from_half else size), at) for part in parts]
    bins = size // 2 + 1 if onesided and not inverse else size
    found = _half_inverse(b, parts, size) if from_half else _transformed(b, parts, size, bins, inverse)
    return stacked(b, [_from_end(b, part, at) for part in found], -1)


def stft_17(
    b: Builder, signal: SSAValue, step: SSAValue, window: SSAValue | None = None, length: SSAValue | None = None, *, onesided: int = 1
) -> SSAValue:
    """signal[n, time, 1 or 2] -> [n, frames, bins, 2]: transforms of frames that begin every `step` elements, times the window."""
    if len(b.shape(signal)) != 3 or (window is None and length is None):
        raise Error("E0401", f"takes rank 3 and a window or a frame_length, not {b.spec(signal)}")
    size = int(b.number(length, "frame_length")) if length is not None else b.spec(window).elements if window is not None else 0
    by = int(b.number(step, "frame_step"))
    if by < 1 or not 0 < size <= min(b.shape(signal)[1], MAX_LENGTH) or (window is not None and b.shape(window) != (size,)):
        raise Error("E0402", f"frames of {size} every {by} elements do not fit {b.spec(signal)} and the window")
    if (b.shape(signal)[1] // by + 1) * size > MAX_ELEMENTS:
        raise Unsupported("too many frames")
    starts = np.arange(0, b.shape(signal)[1] - size + 1, by)
    frames = b.nn("gather", signal, b.constant(starts[:, None] + np.arange(size)), axis=1)
    if window is not None:
        frames = b.nn("mul", frames, b.reshape(window, size, 1))
    return _dft(b, frames, None, 2, inverse=False, onesided=bool(onesided))


def _transformed(b: Builder, parts: list[SSAValue], size: int, bins: int, inverse: bool) -> list[SSAValue]:
    """Real and imaginary part along the last dimension: (a + i c)(cos - i sin), or with the other sign over the size."""
    angles = 2 * np.pi * (np.outer(np.arange(size), np.arange(bins)) % size) / size
    cosines, sines = np.cos(angles), -np.sin(angles)
    if inverse:
        cosines, sines = cosines / size, -sines / size
    real, imaginary = _times(b, parts[0], cosines), _times(b, parts[0], sines)
    if len(parts) == 1:
        return [real, imaginary]
    return [b.nn("sub", real, _times(b, parts[1], sines)), b.nn("add", imaginary, _times(b, parts[1], cosines))]


def _half_inverse(b: Builder, parts: list[SSAValue], size: int) -> list[SSAValue]:
    """Real numbers from the first half of a spectrum whose second half is its mirror image, conjugated."""
    bins = size // 2 + 1
    angles = 2 * np.pi * (np.outer(np.arange(bins), np.arange(size)) % size) / size
    weights = np.full((bins, 1), 2.0)
    weights[0] = 1
    if size % 2 == 0:
        weights[-1] = 1
    real = _times(b, parts[0], weights * np.cos(angles) / size)
    return [real if len(parts) == 1 else b.nn("sub", real, _times(b, parts[1], weights * np.sin(angles) / size))]


def _times(b: Builder, x: SSAValue, matrix: np.ndarray) -> SSAValue:
    return b.nn("matmul", x, b.constant(matrix.astype(b.dtype(x))), None, transpose_a=False, transpose_b=False)


def _sized(b: Builder, x: SSAValue, axis: int, size: int) -> SSAValue:
    """x cut or padded with 0 at the end of an axis."""
    shape = b.shape(x)
    if shape[axis] > size:
        sizes = tuple(size if i == axis else d for i, d in enumerate(shape))
        return b.nn("slice", x, starts=(0,) * len(shape), sizes=sizes, steps=(1,) * len(shape))
    if shape[axis] == size:
        return x
    after = tuple(size - d if i == axis else 0 for i, d in enumerate(shape))
    return b.nn("pad", x, before=(0,) * len(shape), after=after, value=0.0, mode="constant")


def _to_end(b: Builder, x: SSAValue, axis: int) -> SSAValue:
    """The axis last; a row for the product where it is the only one."""
    rank = len(b.shape(x))
    if rank == 1:
        return b.reshape(x, 1, *b.shape(x))
    return b.nn("transpose", x, perm=(*(i for i in range(rank) if i != axis), axis)) if axis != rank - 1 else x


def _from_end(b: Builder, x: SSAValue, axis: int) -> SSAValue:
    rank = len(b.shape(x))
    return b.nn("transpose", x, perm=(*range(axis), rank - 1, *range(axis, rank - 1))) if axis != rank - 1 else x


def mel_weight_matrix_17(
    b: Builder, bins: SSAValue, length: SSAValue, rate: SSAValue, low: SSAValue, high: SSAValue, *, output_datatype: int = 1
) -> SSAValue:
    """[length / 2 + 1, bins]: triangles over the elements of a spectrum, whose corners are evenly spaced in mel from low to high hertz."""
    count, size, hertz = (int(b.number(v, what)) for v, what in ((bins, "num_mel_bins"), (length, "dft_length"), (rate, "sample_rate")))
    dtype = DTYPES.get(output_datatype)
    if count < 1 or size < 0 or hertz < 1 or dtype is None:
        raise Error("E0402", f"{count} bins, a dft_length of {size}, a sample_rate of {hertz} or output_datatype {output_datatype}")
    if (size // 2 + 1) * count > MAX_ELEMENTS:
        raise Unsupported(f"{count} bins of {size // 2 + 1} elements")
    corners = _mel_corners(b, count, (size + 1) / hertz, low, high)
    left, peak, right = (b.nn("slice", corners, starts=(i,), sizes=(count,), steps=(1,)) for i in range(3))
    at, zero, one = b.constant(np.arange(size // 2 + 1.0)[:, None]), b.constant(0.0), b.constant(1.0)

    def slope(start: SSAValue, end: SSAValue) -> SSAValue:
        """From 0 at one place to 1 at another."""
        distance = b.nn("sub", end, start)
        return b.nn("div", b.nn("sub", at, start), b.nn("where", b.nn("equal", distance, zero), one, distance))

    rising = b.nn("and", b.nn("greater_equal", at, left), b.nn("less", at, peak))
    falling = b.nn("and", b.nn("greater", at, peak), b.nn("less", at, right))
    y = b.nn("where", rising, slope(left, peak), b.nn("where", falling, slope(right, peak), zero))
    return b.cast(b.nn("where", b.nn("equal", at, peak), one, y), dtype)


def _mel_corners(b: Builder, count: int, elements_a_hertz: float, low: SSAValue, high: SSAValue) -> SSAValue:
    """[count + 2] whole places in the spectrum.  A mel is 2595 log10(1 + f / 700)."""
    scale = 2595 / np.log(10)

    def mel(hertz: SSAValue) -> SSAValue:
        part = b.nn("div", b.cast(b.reshape(hertz), np.dtype(np.float64)), b.constant(700.0))
        return b.nn("mul", b.nn("log", b.nn("add", part, b.constant(1.0))), b.constant(scale))

    start = mel(low)
    step = b.nn("div", b.nn("sub", mel(high), start), b.constant(count + 2.0))
    mels = b.nn("add", b.nn("mul", b.constant(np.arange(count + 2.0)), step), start)
    powers = b.nn("exp", b.nn("div", mels, b.constant(scale)))
    hertz = b.nn("mul", b.nn("sub", powers, b.constant(1.0)), b.constant(700.0))
    return b.nn("floor", b.nn("mul", hertz, b.constant(elements_a_hertz)))

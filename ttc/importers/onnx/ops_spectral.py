"""Fourier transforms, and what is done with spectra."""

from __future__ import annotations

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axis_in
from ttc.importers.common.builder import Builder
from ttc.importers.common.fourier import transform
from ttc.importers.common.parts import element, stacked
from ttc.importers.common.tracking import MAX_ELEMENTS
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.onnx.tables import MAPPINGS
from ttc.importers.onnx.tensors import DTYPES


@MAPPINGS.rule("DFT-17")
def dft_17(b: Builder, x: SSAValue, length: SSAValue | None = None, *, axis: int = 1, inverse: int = 0, onesided: int = 0) -> SSAValue:
    return _dft(b, x, length, axis, bool(inverse), bool(onesided))


@MAPPINGS.rule("DFT-20")
def dft_20(
    b: Builder, x: SSAValue, length: SSAValue | None = None, axis: SSAValue | None = None, *, inverse: int = 0, onesided: int = 0
) -> SSAValue:
    return _dft(b, x, length, -2 if axis is None else int(b.number(axis, "axis")), bool(inverse), bool(onesided))


def _dft(b: Builder, x: SSAValue, length: SSAValue | None, axis: int, inverse: bool, onesided: bool) -> SSAValue:
    """x[..., 1 or 2]: real numbers, or real and imaginary parts.  Inverse and one-sided: from half a spectrum to real numbers."""
    rank = b.rank(x)
    at = axis_in(axis, rank)
    if at == rank - 1 or b.shape(x)[-1] not in (1, 2):
        raise Error("E0401", f"{b.spec(x)} does not end in real and imaginary parts beside axis {axis}")
    size = b.shape(x)[at] if length is None else int(b.number(length, "dft_length"))
    if inverse and onesided and length is None:
        size = 2 * (size - 1)
    parts = [element(b, x, rank - 1, i) for i in range(b.shape(x)[-1])]
    return stacked(b, transform(b, parts, at, size, inverse=inverse, onesided=onesided), -1)


@MAPPINGS.rule("STFT-17")
def stft_17(
    b: Builder, signal: SSAValue, step: SSAValue, window: SSAValue | None = None, length: SSAValue | None = None, *, onesided: int = 1
) -> SSAValue:
    """Return [n, frames, bins, 2] of signal[n, time, 1 or 2]: transforms of frames that begin every `step` elements, times the window."""
    if b.rank(signal) != 3 or (window is None and length is None):
        raise Error("E0401", f"takes rank 3 and a window or a frame_length, not {b.spec(signal)}")
    size = int(b.number(length, "frame_length")) if length is not None else b.spec(window).elements if window is not None else 0
    by = int(b.number(step, "frame_step"))
    if by < 1 or not 0 < size <= b.shape(signal)[1] or (window is not None and b.shape(window) != (size,)):
        raise Error("E0402", f"frames of {size} every {by} elements do not fit {b.spec(signal)} and the window")
    if (b.shape(signal)[1] // by + 1) * size > MAX_ELEMENTS:
        raise Unsupported("too many frames")
    starts = np.arange(0, b.shape(signal)[1] - size + 1, by)
    frames = b.nn("gather", signal, b.constant(starts[:, None] + np.arange(size)), axis=1)
    if window is not None:
        frames = b.nn("mul", frames, b.reshape(window, size, 1))
    return _dft(b, frames, None, 2, inverse=False, onesided=bool(onesided))


@MAPPINGS.rule("MelWeightMatrix-17")
def mel_weight_matrix_17(
    b: Builder, bins: SSAValue, length: SSAValue, rate: SSAValue, low: SSAValue, high: SSAValue, *, output_datatype: int = 1
) -> SSAValue:
    """Return [length / 2 + 1, bins]: triangles over the elements of a spectrum, whose corners are evenly spaced in mel from low to high
    hertz.
    """
    count, size, hertz = (int(b.number(v, what)) for v, what in ((bins, "num_mel_bins"), (length, "dft_length"), (rate, "sample_rate")))
    dtype = DTYPES.get(output_datatype)
    if count < 1 or size < 0 or hertz < 1 or dtype is None:
        raise Error("E0402", f"{count} bins, dft_length {size}, sample_rate {hertz} or output_datatype {output_datatype} is out of range")
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

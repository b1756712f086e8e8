"""Numpy semantics of Fourier transforms: in the precision of the operands, at least that of float32."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.nn.kernels import KERNELS


@KERNELS.rule("fft")
def fft(real: NDArray, imaginary: NDArray | None, *, axis: int, size: int, inverse: bool, onesided: bool) -> tuple[NDArray, NDArray]:
    """Real and imaginary parts of a transform, or of its first half."""
    x = _joined(real, imaginary)
    bins = size // 2 + 1 if onesided else size
    if not inverse and onesided and imaginary is None:
        y = np.fft.rfft(x, size, axis)
    else:
        y = (np.fft.ifft if inverse else np.fft.fft)(x, size, axis)
        y = y[(slice(None),) * (axis % y.ndim) + (slice(bins),)]
    return y.real.astype(real.dtype), y.imag.astype(real.dtype)


@KERNELS.rule("irfft")
def irfft(real: NDArray, imaginary: NDArray | None, *, axis: int, size: int) -> NDArray:
    """Real numbers from the first half of their spectrum."""
    return np.fft.irfft(_joined(real, imaginary), size, axis).astype(real.dtype)


def _joined(real: NDArray, imaginary: NDArray | None) -> NDArray:
    wide = np.float64 if real.dtype == np.float64 else np.float32
    if imaginary is None:
        return real.astype(wide, copy=False)
    x = np.empty(real.shape, np.complex128 if wide is np.float64 else np.complex64)
    x.real, x.imag = real, imaginary
    return x

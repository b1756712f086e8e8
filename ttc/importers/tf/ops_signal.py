"""Fourier transforms over the last dimensions."""

from __future__ import annotations

from collections.abc import Callable

from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.complexes import Complex
from ttc.importers.common.fourier import fourier_sizes, last_axes, real_fourier, transform
from ttc.importers.tf.tables import Rows


def fourier(rank: int, *, inverse: bool) -> Callable[..., Complex]:
    """Return a row from complex to complex numbers, over that many last dimensions."""

    def apply(b: Builder, input: Complex) -> Complex:
        parts = [input.real, input.imaginary]
        for axis in last_axes(b, input.real, rank):
            parts = transform(b, parts, axis, b.shape(parts[0])[axis], inverse=inverse, onesided=False)
        return Complex(*parts)

    return apply


def inverse_real_fourier(rank: int) -> Callable[..., SSAValue]:
    """Return a row from half a spectrum to real numbers."""

    def apply(b: Builder, input: Complex, fft_length: SSAValue) -> SSAValue:
        sizes, axes = fourier_sizes(b, fft_length, rank), last_axes(b, input.real, rank)
        parts = [input.real, input.imaginary]
        for axis, size in zip(axes[:-1], sizes[:-1], strict=True):
            parts = transform(b, parts, axis, size, inverse=True, onesided=False)
        (found,) = transform(b, parts, axes[-1], sizes[-1], inverse=True, onesided=True)
        return found

    return apply


ROWS: Rows = {
    **{f"FFT{d}": fourier(n, inverse=False) for d, n in (("", 1), ("2D", 2), ("3D", 3))},
    **{f"IFFT{d}": fourier(n, inverse=True) for d, n in (("", 1), ("2D", 2), ("3D", 3))},
    **{f"RFFT{d}": real_fourier(n) for d, n in (("", 1), ("2D", 2), ("3D", 3))},
    **{f"IRFFT{d}": inverse_real_fourier(n) for d, n in (("", 1), ("2D", 2), ("3D", 3))},
}

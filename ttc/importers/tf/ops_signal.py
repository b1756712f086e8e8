"""Fourier transforms over the last dimensions."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import SSAValue

from ttc.dialects.core.errors import Error
from ttc.importers.common.builder import Builder
from ttc.importers.common.fourier import transform
from ttc.importers.tf.tables import Rows
from ttc.importers.tf.values import Complex


def fourier(rank: int, *, inverse: bool) -> Callable[..., Complex]:
    """From complex to complex numbers, over that many last dimensions."""

    def apply(b: Builder, input: Complex) -> Complex:
        parts = [input.real, input.imaginary]
        for axis in _last(b, input.real, rank):
            parts = transform(b, parts, axis, b.shape(parts[0])[axis], inverse=inverse, onesided=False)
        return Complex(*parts)

    return apply


def real_fourier(rank: int) -> Callable[..., Complex]:
    """From real numbers to the first half of their spectrum; fft_length cuts the dimensions, or pads them with 0."""

    def apply(b: Builder, input: SSAValue, fft_length: SSAValue) -> Complex:
        sizes, axes = _sizes(b, fft_length, rank), _last(b, input, rank)
        parts = transform(b, [input], axes[-1], sizes[-1], inverse=False, onesided=True)
        for axis, size in zip(axes[:-1], sizes[:-1], strict=True):
            parts = transform(b, parts, axis, size, inverse=False, onesided=False)
        return Complex(*parts)

    return apply


def inverse_real_fourier(rank: int) -> Callable[..., SSAValue]:
    """From half a spectrum to real numbers."""

    def apply(b: Builder, input: Complex, fft_length: SSAValue) -> SSAValue:
        sizes, axes = _sizes(b, fft_length, rank), _last(b, input.real, rank)
        parts = [input.real, input.imaginary]
        for axis, size in zip(axes[:-1], sizes[:-1], strict=True):
            parts = transform(b, parts, axis, size, inverse=True, onesided=False)
        (found,) = transform(b, parts, axes[-1], sizes[-1], inverse=True, onesided=True)
        return found

    return apply


def _last(b: Builder, x: SSAValue, count: int) -> tuple[int, ...]:
    rank = b.rank(x)
    if rank < count:
        raise Error("E0401", f"needs rank {count} or more, not {b.spec(x)}")
    return tuple(range(rank - count, rank))


def _sizes(b: Builder, fft_length: SSAValue, rank: int) -> tuple[int, ...]:
    found = b.ints(fft_length, "fft_length")
    if len(found) != rank:
        raise Error("E0402", f"fft_length {list(found)[:8]} does not fit {rank} dimensions")
    return found


ROWS: Rows = {
    **{f"FFT{d}": fourier(n, inverse=False) for d, n in (("", 1), ("2D", 2), ("3D", 3))},
    **{f"IFFT{d}": fourier(n, inverse=True) for d, n in (("", 1), ("2D", 2), ("3D", 3))},
    **{f"RFFT{d}": real_fourier(n) for d, n in (("", 1), ("2D", 2), ("3D", 3))},
    **{f"IRFFT{d}": inverse_real_fourier(n) for d, n in (("", 1), ("2D", 2), ("3D", 3))},
}

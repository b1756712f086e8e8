"""Fourier transforms of numbers that are real, or pairs of real and imaginary parts."""

from __future__ import annotations

from collections.abc import Callable

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.nn.shapes.spectral import MAX_SIZE
from ttc.importers.common.builder import Builder
from ttc.importers.common.complexes import Complex
from ttc.importers.common.unsupported import Unsupported


def transform(b: Builder, parts: list[SSAValue], axis: int, size: int, *, inverse: bool, onesided: bool) -> list[SSAValue]:
    """Return the transform along an axis of [real] or [real, imaginary], each cut or padded with 0 to the size.

    Inverse: over the size.  One-sided: the first half of the spectrum; with inverse from such a half to real numbers.
    """
    if not 0 < size <= MAX_SIZE:
        raise Unsupported(f"a transform of {size} elements")
    operands = parts[0], parts[1] if len(parts) > 1 else None
    if inverse and onesided:
        return [b.nn("irfft", *operands, axis=axis, size=size)]
    return list(b.nn_all("fft", *operands, axis=axis, size=size, inverse=inverse, onesided=onesided))


def real_fourier(rank: int) -> Callable[..., Complex]:
    """Return a row from real numbers to the first half of their spectrum; fft_length cuts the dimensions, or pads them with 0."""

    def apply(b: Builder, input: SSAValue, fft_length: SSAValue) -> Complex:
        sizes, axes = fourier_sizes(b, fft_length, rank), last_axes(b, input, rank)
        parts = transform(b, [input], axes[-1], sizes[-1], inverse=False, onesided=True)
        for axis, size in zip(axes[:-1], sizes[:-1], strict=True):
            parts = transform(b, parts, axis, size, inverse=False, onesided=False)
        return Complex(*parts)

    return apply


def last_axes(b: Builder, x: SSAValue, count: int) -> tuple[int, ...]:
    """Return the last dimensions, so many.  Raises E0401."""
    rank = b.rank(x)
    if rank < count:
        raise Error("E0401", f"needs rank {count} or more, not {b.spec(x)}")
    return tuple(range(rank - count, rank))


def fourier_sizes(b: Builder, fft_length: SSAValue, rank: int) -> tuple[int, ...]:
    """Return the known sizes of a transform.  Raises E0402."""
    found = b.ints(fft_length, "fft_length")
    if len(found) != rank:
        raise Error("E0402", f"fft_length {list(found)[:8]} does not fit {rank} dimensions")
    return found

"""Fourier transforms of numbers that are real, or pairs of real and imaginary parts."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttc.dialects.nn.spectral import MAX_SIZE
from ttc.importers.common.builder import Builder
from ttc.importers.common.unsupported import Unsupported


def transform(b: Builder, parts: list[SSAValue], axis: int, size: int, *, inverse: bool, onesided: bool) -> list[SSAValue]:
    """The transform along an axis of [real] or [real, imaginary], each cut or padded with 0 to the size.

    Inverse: over the size.  One-sided: the first half of the spectrum; with inverse from such a half to real numbers.
    """
    if not 0 < size <= MAX_SIZE:
        raise Unsupported(f"a transform of {size} elements")
    operands = parts[0], parts[1] if len(parts) > 1 else None
    if inverse and onesided:
        return [b.nn("irfft", *operands, axis=axis, size=size)]
    return list(b.nn_all("fft", *operands, axis=axis, size=size, inverse=inverse, onesided=onesided))

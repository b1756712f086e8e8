"""Fourier transforms, as products with the matrices of cosines and sines of their length."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from ttc.importers.common.builder import Builder
from ttc.importers.common.parts import padded, part
from ttc.importers.common.unsupported import Unsupported

MAX_LENGTH = 2048
"""Of a transform: the matrices grow with its square."""


def transform(b: Builder, parts: list[SSAValue], axis: int, size: int, *, inverse: bool, onesided: bool) -> list[SSAValue]:
    """The transform along an axis of [real] or [real, imaginary], each cut or padded with 0 to the size.

    Inverse: over the size.  One-sided: the first half of the spectrum; with inverse from such a half to real numbers.
    """
    if not 0 < size <= MAX_LENGTH:
        raise Unsupported(f"a transform of {size} elements")
    if b.rank(parts[0]) == 1:  # products take rows
        rows = [b.reshape(x, 1, *b.shape(x)) for x in parts]
        return [b.reshape(x, *b.shape(x)[1:]) for x in transform(b, rows, 1, size, inverse=inverse, onesided=onesided)]
    from_half = inverse and onesided
    lines = [_to_end(b, _sized(b, x, axis, size // 2 + 1 if from_half else size), axis) for x in parts]
    bins = size // 2 + 1 if onesided and not inverse else size
    found = _half_inverse(b, lines, size) if from_half else _transformed(b, lines, size, bins, inverse)
    return [_from_end(b, x, axis) for x in found]


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
        return part(b, x, axis, 0, size)
    return padded(b, x, (0,) * len(shape), tuple(size - d if i == axis else 0 for i, d in enumerate(shape)))


def _to_end(b: Builder, x: SSAValue, axis: int) -> SSAValue:
    """The axis last."""
    rank = b.rank(x)
    return b.nn("transpose", x, perm=(*(i for i in range(rank) if i != axis), axis)) if axis != rank - 1 else x


def _from_end(b: Builder, x: SSAValue, axis: int) -> SSAValue:
    rank = b.rank(x)
    return b.nn("transpose", x, perm=(*range(axis), rank - 1, *range(axis, rank - 1))) if axis != rank - 1 else x

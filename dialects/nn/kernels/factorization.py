"""Numpy semantics of the ops that solve equations and factor matrices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.nn.kernels import KERNELS


@contextmanager
def _solvable() -> Iterator[None]:
    """Turns numpy's refusals of a matrix into E0802."""
    try:
        yield
    except np.linalg.LinAlgError as error:
        raise Error("E0802", f"the matrix has no such factors: {error}") from None


@KERNELS.rule("solve")
def solve(a: NDArray, x: NDArray) -> NDArray:
    """Return y with a y = x."""
    with _solvable():
        return np.asarray(np.linalg.solve(a, x))


@KERNELS.rule("cholesky")
def cholesky(x: NDArray) -> NDArray:
    """Return the lower triangular factor of each matrix."""
    with _solvable():
        return np.asarray(np.linalg.cholesky(x))


@KERNELS.rule("qr")
def qr(x: NDArray, *, complete: bool) -> tuple[NDArray, ...]:
    """Return orthonormal columns q and the upper triangle r."""
    found = np.linalg.qr(x, mode="complete" if complete else "reduced")
    return np.asarray(found[0]), np.asarray(found[1])


@KERNELS.rule("lu")
def lu(x: NDArray) -> tuple[NDArray, ...]:
    """Return both triangles in one matrix, and the rows that were exchanged, counted from 1."""
    m, n = x.shape[-2:]
    count = min(m, n)
    y = x.reshape(int(np.prod(x.shape[:-2])), m, n).copy()
    samples = np.arange(len(y))
    pivots = np.zeros((len(y), count), np.int32)
    for i in range(count):
        rows = i + np.argmax(np.abs(y[:, i:, i]), axis=1)
        pivots[:, i] = rows + 1
        y[samples, rows], y[:, i] = y[:, i].copy(), y[samples, rows].copy()
        divisor = y[:, i, i, None]
        y[:, i + 1 :, i] /= np.where(divisor == 0, 1, divisor)
        y[:, i + 1 :, i + 1 :] -= y[:, i + 1 :, i, None] * y[:, i, None, i + 1 :]
    return y.reshape(x.shape), pivots.reshape(*x.shape[:-2], count)


@KERNELS.rule("svd")
def svd(x: NDArray, *, full: bool) -> tuple[NDArray, ...]:
    """Return left singular vectors as columns, singular values, and right singular vectors as rows."""
    with _solvable():
        found = np.linalg.svd(x, full_matrices=full)
    return np.asarray(found[0]), np.asarray(found[1]), np.asarray(found[2])


@KERNELS.rule("eigh")
def eigh(x: NDArray) -> tuple[NDArray, ...]:
    """Eigenvalues in rising order, and eigenvectors as columns."""
    with _solvable():
        found = np.linalg.eigh(x)
    return np.asarray(found[0]), np.asarray(found[1])

"""Linear algebra: equations, inverses, factors of matrices, and what follows from these."""

from __future__ import annotations

from typing import Any

import numpy as np

from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.parts import part, triangle
from ttc.importers.common.products import matmul
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.torch.builder import TorchBuilder
from ttc.importers.torch.elements import INT64, times
from ttc.importers.torch.ops_index import diagonal
from ttc.importers.torch.ops_shape import transpose_matrix
from ttc.importers.torch.tables import Rows

INT32 = np.dtype(np.int32)


def _zeros(b: TorchBuilder, x: SSAValue, dtype: np.dtype = INT32) -> SSAValue:
    """Return one a matrix: that nothing went wrong."""
    zero = b.constant(np.zeros((), dtype))
    lead = b.shape(x)[:-2]
    return b.nn("expand", zero, shape=lead) if lead else zero


def _identity(b: TorchBuilder, x: SSAValue, size: int) -> SSAValue:
    eye = b.constant(np.eye(size, dtype=b.dtype(x)))
    lead = b.shape(x)[:-2]
    return b.nn("expand", eye, shape=(*lead, size, size)) if lead else eye


def solved(b: TorchBuilder, a: SSAValue, x: SSAValue, *, left: bool = True) -> SSAValue:
    """Return y with a y = x, or y a = x; leading dimensions broadcast."""
    if not left:
        return transpose_matrix(b, solved(b, transpose_matrix(b, a), transpose_matrix(b, x)))
    lead = np.broadcast_shapes(b.shape(a)[:-2], b.shape(x)[:-2])
    a, x = (v if b.shape(v)[:-2] == lead else b.nn("expand", v, shape=(*lead, *b.shape(v)[-2:])) for v in (a, x))
    return b.nn("solve", a, x)


def solve_ex(b: TorchBuilder, a: SSAValue, x: SSAValue, *, left: bool, check_errors: bool) -> tuple[SSAValue | None, ...]:
    """Solve equations for a vector or matrices; x is a vector, or vectors of a batch, where it has no second dimension."""
    vector = b.rank(x) == 1 or (b.rank(x) == b.rank(a) - 1 and b.shape(x) == b.shape(a)[:-1])
    column = b.reshape(x, *b.shape(x), 1) if vector else x
    found = solved(b, a, column, left=left)
    found = b.reshape(found, *b.shape(found)[:-1]) if vector else found
    return found, *(b.nn_all("lu", a) if any(b.outputs[1:3]) else (None, None)), _zeros(b, a)


def inverse(b: TorchBuilder, x: SSAValue) -> SSAValue:
    return b.nn("solve", x, _identity(b, x, b.shape(x)[-1]))


def inv_ex(b: TorchBuilder, x: SSAValue, *, check_errors: bool) -> tuple[SSAValue, SSAValue]:
    return inverse(b, x), _zeros(b, x)


def cholesky(b: TorchBuilder, x: SSAValue, upper: bool) -> SSAValue:
    """Return the lower factor, or the upper one, of which the lower triangle of x is not read."""
    return transpose_matrix(b, b.nn("cholesky", transpose_matrix(b, x))) if upper else b.nn("cholesky", x)


def cholesky_ex(b: TorchBuilder, x: SSAValue, *, upper: bool, check_errors: bool) -> tuple[SSAValue, SSAValue]:
    return cholesky(b, x, upper), _zeros(b, x)


def _product_of_factor(b: TorchBuilder, x: SSAValue, upper: bool) -> SSAValue:
    """Return what the factor is a factor of."""
    factor = triangle(b, x, 0, upper=upper)
    other = transpose_matrix(b, factor)
    return matmul(b, other, factor) if upper else matmul(b, factor, other)


def cholesky_inverse(b: TorchBuilder, x: SSAValue, upper: bool) -> SSAValue:
    return inverse(b, _product_of_factor(b, x, upper))


def cholesky_solve(b: TorchBuilder, x: SSAValue, factor: SSAValue, upper: bool) -> SSAValue:
    return solved(b, _product_of_factor(b, factor, upper), x)


def _triangular(b: TorchBuilder, a: SSAValue, upper: bool, unit: bool) -> SSAValue:
    if not unit:
        return triangle(b, a, 0, upper=upper)
    return b.nn("add", triangle(b, a, 1 if upper else -1, upper=upper), _identity(b, a, b.shape(a)[-1]))


def solve_triangular(b: TorchBuilder, a: SSAValue, x: SSAValue, *, upper: bool, left: bool, unitriangular: bool) -> SSAValue:
    return solved(b, _triangular(b, a, upper, unitriangular), x, left=left)


def triangular_solve(b: TorchBuilder, x: SSAValue, a: SSAValue, upper: bool, transpose: bool, unit: bool) -> tuple[SSAValue, SSAValue]:
    """Return the solution, and the matrix."""
    matrix = _triangular(b, a, upper, unit)
    found = solved(b, transpose_matrix(b, matrix) if transpose else matrix, x)
    lead = b.shape(found)[:-2]
    return found, a if b.shape(a)[:-2] == lead else b.nn("expand", a, shape=(*lead, *b.shape(a)[-2:]))


# ---- LU -----------------------------------------------------------------------------------------------------------------------------


def lu_factor_ex(b: TorchBuilder, x: SSAValue, *, pivot: bool, check_errors: bool) -> tuple[SSAValue, ...]:
    if not pivot:
        raise Unsupported("pivot = False")
    return *b.nn_all("lu", x), _zeros(b, x)


def _unpacked(b: TorchBuilder, lu: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Return the lower triangle with its unit diagonal, and the upper one."""
    m, n = b.shape(lu)[-2:]
    rank, k = b.rank(lu), min(m, n)
    low = triangle(b, part(b, lu, rank - 1, 0, k), -1, upper=False)
    unit = b.constant(np.eye(m, k, dtype=b.dtype(lu)))
    return b.nn("add", low, unit), triangle(b, part(b, lu, rank - 2, 0, k), 0, upper=True)


def _exchanged(b: TorchBuilder, pivots: SSAValue, rows: int) -> SSAValue:
    """[..., rows, rows]: the matrix that undoes the exchanges of rows: P with P L U = x."""
    lead, count = b.shape(pivots)[:-1], b.shape(pivots)[-1]
    if count > 256:
        raise Unsupported(f"{count} exchanges of rows")
    order = b.constant(np.arange(rows))
    order = b.nn("expand", order, shape=(*lead, rows)) if lead else order
    at = len(lead)
    steps = b.constant(np.arange(rows))
    for i in range(count):  # row i takes the place of row pivots[i], and this that of row i
        other = b.nn("sub", b.cast(part(b, pivots, at, i, 1), INT64), b.constant(np.array(1)))
        here, there = part(b, order, at, i, 1), b.nn("gather_elements", order, other, axis=at)
        order = b.nn("where", b.nn("equal", steps, other), here, order)
        order = b.nn("where", b.constant(np.arange(rows) == i), there, order)
    return b.nn("equal", b.reshape(steps, rows, 1), b.reshape(order, *lead, 1, rows))


def lu_unpack(b: TorchBuilder, lu: SSAValue, pivots: SSAValue, data: bool, unpack_pivots: bool) -> tuple[SSAValue, ...]:
    """Return P, L and U; empty where they are not asked for."""
    empty = b.constant(np.zeros(0, b.dtype(lu)))
    lower, upper = _unpacked(b, lu) if data else (empty, empty)
    order = b.cast(_exchanged(b, pivots, b.shape(lu)[-2]), b.dtype(lu)) if unpack_pivots else empty
    return order, lower, upper


def lu(b: TorchBuilder, x: SSAValue, *, pivot: bool) -> tuple[SSAValue, ...]:
    if not pivot:
        raise Unsupported("pivot = False")
    factors, pivots = b.nn_all("lu", x)
    return lu_unpack(b, factors, pivots, True, True)


def lu_solve(b: TorchBuilder, factors: SSAValue, pivots: SSAValue, x: SSAValue, *, left: bool, adjoint: bool) -> SSAValue:
    """Solve by the matrix whose factors are given."""
    lower, upper = _unpacked(b, factors)
    order = b.cast(_exchanged(b, pivots, b.shape(factors)[-2]), b.dtype(factors))
    matrix = matmul(b, order, matmul(b, lower, upper))
    return solved(b, transpose_matrix(b, matrix) if adjoint else matrix, x, left=left)


def _sign_of_exchanges(b: TorchBuilder, pivots: SSAValue, dtype: np.dtype) -> SSAValue:
    at, count = b.rank(pivots) - 1, b.shape(pivots)[-1]
    moved = b.nn("not_equal", pivots, b.constant(np.arange(1, count + 1, dtype=np.int32)))
    times_moved = b.nn("reduce_sum", b.cast(moved, INT64), axes=(at,), keepdims=False)
    odd = b.nn("equal", b.nn("mod", times_moved, b.constant(np.array(2)), fmod=False), b.constant(np.array(1)))
    return b.nn("where", odd, b.constant(np.array(-1, dtype)), b.constant(np.array(1, dtype)))


def det(b: TorchBuilder, x: SSAValue) -> tuple[SSAValue | None, ...]:
    return b.nn("det", x), *(b.nn_all("lu", x) if any(b.outputs[1:]) else (None, None))


def slogdet(b: TorchBuilder, x: SSAValue) -> tuple[SSAValue, ...]:
    """Return sign, and logarithm of the magnitude: of the diagonal of the upper factor."""
    factors, pivots = b.nn_all("lu", x)
    values = diagonal(b, factors, 0, -2, -1)
    axes = (b.rank(values) - 1,)
    sign = b.nn("reduce_prod", b.nn("sign", values), axes=axes, keepdims=False)
    sign = b.nn("mul", sign, _sign_of_exchanges(b, pivots, b.dtype(x)))
    size = b.nn("reduce_sum", b.nn("log", b.nn("abs", values)), axes=axes, keepdims=False)
    return sign, size, factors, pivots


# ---- other factors ----------------------------------------------------------------------------------------------------------------------


def qr(b: TorchBuilder, x: SSAValue, mode: str) -> tuple[SSAValue, ...]:
    q, r = b.nn_all("qr", x, complete=mode == "complete")
    return (b.constant(np.zeros(0, b.dtype(x))), r) if mode == "r" else (q, r)


def svd(b: TorchBuilder, x: SSAValue, full_matrices: bool, compute_uv: bool, *, driver: str | None = None) -> tuple[Any, ...]:
    u, s, v = b.nn_all("svd", x, full=full_matrices)
    return (u, s, v) if compute_uv else (None, s, None)


def eigh(b: TorchBuilder, x: SSAValue, uplo: str, compute_v: bool) -> tuple[Any, ...]:
    values, vectors = b.nn_all("eigh", transpose_matrix(b, x) if uplo.upper() == "U" else x)
    return (values, vectors) if compute_v else (values, None)


def pinv(b: TorchBuilder, x: SSAValue, *, atol: SSAValue | float | None, rtol: SSAValue | float | None, hermitian: bool) -> SSAValue:
    """Return the inverse of what singular values above the tolerances span.  Hermitian: of what the lower triangle says.

    Singular values that are lost are set to the largest one, which makes the rank full, and their part of the inverse is taken away: the
    gradient is right for equal singular values, too, where that of V diag(1 / s) U^T is not.
    """
    if hermitian:
        x = b.nn("add", triangle(b, x, 0, upper=False), transpose_matrix(b, triangle(b, x, -1, upper=False)))
    if not b.spec(x).elements:
        return transpose_matrix(b, x)
    u, s, v = b.nn_all("svd", x, full=False)
    rank = b.rank(s)
    top = part(b, s, rank - 1, 0, 1)
    if rtol is None and atol is None:
        rtol = float(np.finfo(np.float32).eps) * max(b.shape(x)[-2:])
    least = [b.operand(0.0 if t is None else t, b.dtype(x)) for t in (atol, rtol)]
    least = [b.reshape(t, *b.shape(t), 1) if b.shape(t) else t for t in least]
    edge = b.nn("maximum", least[0], b.nn("mul", least[1], top))
    kept = b.nn("greater", s, edge)
    zero, shape = b.scalar(0, s), (*b.shape(s), 1)
    size = b.nn("where", b.nn("greater", top, zero), top, b.scalar(1, s))
    added = b.reshape(b.nn("where", kept, zero, b.nn("sub", size, s)), *shape)
    taken = b.reshape(b.nn("where", kept, zero, b.nn("reciprocal", size)), *shape)
    full = b.nn("add", x, matmul(b, u, b.nn("mul", added, v)))
    return b.nn("sub", _inverse_of_full(b, full), matmul(b, transpose_matrix(b, v), b.nn("mul", taken, transpose_matrix(b, u))))


def _inverse_of_full(b: TorchBuilder, x: SSAValue) -> SSAValue:
    """Return the pseudo-inverse of matrices x[..., m, n] of full rank: r^-1 q^T."""
    m, n = b.shape(x)[-2:]
    if m < n:
        return transpose_matrix(b, _inverse_of_full(b, transpose_matrix(b, x)))
    q, r = b.nn_all("qr", x, complete=False)
    return b.nn("solve", r, transpose_matrix(b, q))


def _reflected(b: TorchBuilder, vectors: SSAValue, tau: SSAValue, x: SSAValue, *, transpose: bool) -> SSAValue:
    """Q x, or Q^T x, for Q the product of reflections 1 - tau v v^T; v are the columns below the diagonal, with 1 on it."""
    count, rank = b.shape(tau)[-1], b.rank(vectors)
    if count > 256:
        raise Unsupported(f"{count} reflections")
    rows = b.shape(vectors)[-2]
    columns = part(b, vectors, rank - 1, 0, count)
    low = b.nn("add", triangle(b, columns, -1, upper=False), b.constant(np.eye(rows, count, dtype=b.dtype(x))))
    for i in range(count) if transpose else reversed(range(count)):
        v = part(b, low, rank - 1, i, 1)
        factor = b.reshape(part(b, tau, b.rank(tau) - 1, i, 1), *b.shape(tau)[:-1], 1, 1)
        x = b.nn("sub", x, b.nn("mul", factor, matmul(b, v, matmul(b, transpose_matrix(b, v), x))))
    return x


def householder_product(b: TorchBuilder, vectors: SSAValue, tau: SSAValue) -> SSAValue:
    """Return the first columns of the product of the reflections."""
    m, n = b.shape(vectors)[-2:]
    eye = b.constant(np.eye(m, n, dtype=b.dtype(vectors)))
    lead = b.shape(vectors)[:-2]
    return _reflected(b, vectors, tau, b.nn("expand", eye, shape=(*lead, m, n)) if lead else eye, transpose=False)


def ormqr(b: TorchBuilder, vectors: SSAValue, tau: SSAValue, x: SSAValue, left: bool, transpose: bool) -> SSAValue:
    """Return Q x or x Q, for Q the product of the reflections, or its transpose."""
    if left:
        return _reflected(b, vectors, tau, x, transpose=transpose)
    return transpose_matrix(b, _reflected(b, vectors, tau, transpose_matrix(b, x), transpose=not transpose))


HALVINGS = 10
TERMS = 9


def matrix_exp(b: TorchBuilder, x: SSAValue) -> SSAValue:
    """Return the series of x / 2^10, squared ten times; in float64."""
    small = times(b, b.cast(x, np.dtype(np.float64)), 2.0**-HALVINGS)
    one = _identity(b, small, b.shape(x)[-1])
    found = b.nn("add", one, times(b, small, 1 / TERMS))
    for k in range(TERMS - 1, 0, -1):
        found = b.nn("add", one, times(b, matmul(b, small, found), 1 / k))
    for _ in range(HALVINGS):
        found = matmul(b, found, found)
    return b.cast(found, b.dtype(x))


ROWS: Rows = {
    "aten._linalg_solve_ex.default": solve_ex,
    "aten.linalg_inv_ex.default": inv_ex,
    "aten.cholesky.default": cholesky,
    "aten.linalg_cholesky_ex.default": cholesky_ex,
    "aten.cholesky_inverse.default": cholesky_inverse,
    "aten.cholesky_solve.default": cholesky_solve,
    "aten.linalg_solve_triangular.default": solve_triangular,
    "aten.triangular_solve.default": triangular_solve,
    "aten.linalg_lu_factor_ex.default": lu_factor_ex,
    "aten.lu_unpack.default": lu_unpack,
    "aten.linalg_lu.default": lu,
    "aten.linalg_lu_solve.default": lu_solve,
    "aten._linalg_det.default": det,
    "aten._linalg_slogdet.default": slogdet,
    "aten.linalg_qr.default": qr,
    "aten.linalg_householder_product.default": householder_product,
    "aten.ormqr.default": ormqr,
    "aten._linalg_svd.default": svd,
    "aten._linalg_eigh.default": eigh,
    "aten.linalg_pinv.atol_rtol_tensor": pinv,
    "aten.linalg_pinv.atol_rtol_float": pinv,
    "aten.linalg_matrix_exp.default": matrix_exp,
}

"""Linear algebra: equations, inverses, factors of matrices."""

from __future__ import annotations

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import broadcast_shapes
from ttc.importers.common.builder import Builder
from ttc.importers.common.parts import part, triangle
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.tf.diagonals import diagonal
from ttc.importers.tf.tables import Rows

INT32 = np.dtype(np.int32)
MAX_EXCHANGES = 256


def transposed(b: Builder, x: SSAValue) -> SSAValue:
    """Return each matrix with rows and columns exchanged.  Raises E0401."""
    rank = b.rank(x)
    if rank < 2:
        raise Error("E0401", f"takes matrices, not {b.spec(x)}")
    return b.nn("transpose", x, perm=(*range(rank - 2), rank - 1, rank - 2))


def _solved(b: Builder, a: SSAValue, x: SSAValue) -> SSAValue:
    """y with a y = x; leading dimensions broadcast."""
    lead = broadcast_shapes(b.shape(a)[:-2], b.shape(x)[:-2])
    a, x = (v if b.shape(v)[:-2] == lead else b.nn("expand", v, shape=(*lead, *b.shape(v)[-2:])) for v in (a, x))
    return b.nn("solve", a, x)


def solve(b: Builder, matrix: SSAValue, rhs: SSAValue, *, adjoint: bool = False) -> SSAValue:
    return _solved(b, transposed(b, matrix) if adjoint else matrix, rhs)


def triangular_solve(b: Builder, matrix: SSAValue, rhs: SSAValue, *, lower: bool = True, adjoint: bool = False) -> SSAValue:
    """Solve equations by one triangle of the matrices; the other triangle is not read."""
    kept = triangle(b, matrix, 0, upper=not lower)
    return _solved(b, transposed(b, kept) if adjoint else kept, rhs)


def inverse(b: Builder, input: SSAValue, *, adjoint: bool = False) -> SSAValue:
    shape = b.shape(input)
    if len(shape) < 2:
        raise Error("E0401", f"takes matrices, not {b.spec(input)}")
    one = b.constant(np.eye(shape[-1], dtype=b.dtype(input)))
    return _solved(b, transposed(b, input) if adjoint else input, one)


def cholesky(b: Builder, input: SSAValue) -> SSAValue:
    return b.nn("cholesky", input)


def determinant(b: Builder, input: SSAValue) -> SSAValue:
    return b.nn("det", input)


def log_determinant(b: Builder, input: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Return sign, and logarithm of the magnitude: of the diagonal of the upper factor."""
    factors, pivots = b.nn_all("lu", input)
    values = diagonal(b, factors, 0)
    axes = (b.rank(values) - 1,)
    sign = b.nn("reduce_prod", b.nn("sign", values), axes=axes, keepdims=False)
    size = b.nn("reduce_sum", b.nn("log", b.nn("abs", values)), axes=axes, keepdims=False)
    rows = b.constant(np.arange(1, b.shape(pivots)[-1] + 1, dtype=np.int32))
    turned = b.nn("where", b.nn("not_equal", pivots, rows), b.scalar(-1, input), b.scalar(1, input))
    return b.nn("mul", sign, b.nn("reduce_prod", turned, axes=axes, keepdims=False)), size


def qr(b: Builder, input: SSAValue, *, full_matrices: bool = False) -> tuple[SSAValue, SSAValue]:
    q, r = b.nn_all("qr", input, complete=full_matrices)
    return q, r


def svd(b: Builder, input: SSAValue, *, compute_uv: bool = True, full_matrices: bool = False) -> tuple[SSAValue, SSAValue, SSAValue]:
    """Return singular values, and both sides' vectors as columns."""
    left, values, right = b.nn_all("svd", input, full=full_matrices)
    return values, left, transposed(b, right)


def eigh(b: Builder, input: SSAValue, *, compute_v: bool = True) -> tuple[SSAValue, SSAValue]:
    """Return eigenvalues, which rise, and eigenvectors of symmetric matrices, of which the lower triangle is read."""
    values, vectors = b.nn_all("eigh", input)
    return values, vectors


def lu(b: Builder, input: SSAValue, *, output_idx_type: np.dtype = INT32) -> tuple[SSAValue, SSAValue]:
    """Return both factors in one matrix, and the row of the operand that each of its rows is."""
    factors, pivots = b.nn_all("lu", input)
    lead, rows = b.shape(input)[:-2], b.shape(input)[-2]
    count, axis = b.shape(pivots)[-1], len(lead)
    if count > MAX_EXCHANGES:
        raise Unsupported(f"{count} exchanges of rows")
    steps = b.constant(np.arange(rows, dtype=np.int32))
    order = b.nn("expand", steps, shape=(*lead, rows)) if lead else steps
    for i in range(count):  # row i takes the place of row pivots[i], and this that of row i
        other = b.nn("sub", part(b, pivots, axis, i, 1), b.constant(np.array(1, np.int32)))
        here, there = part(b, order, axis, i, 1), b.nn("gather_elements", order, other, axis=axis)
        order = b.nn("where", b.nn("equal", steps, other), here, order)
        order = b.nn("where", b.constant(np.arange(rows) == i), there, order)
    return factors, b.cast(order, output_idx_type)


def cross(b: Builder, a: SSAValue, b_: SSAValue) -> SSAValue:
    """Return the cross product of vectors of 3 numbers along the last dimension."""
    axis = b.rank(a) - 1
    if axis < 0 or b.shape(a)[-1] != 3 or b.shape(a) != b.shape(b_):
        raise Error("E0401", f"{b.spec(a)} and {b.spec(b_)} are no vectors of 3 numbers")
    x, y = (b.nn_all("split", v, axis=axis, sizes=(1, 1, 1)) for v in (a, b_))
    found = [b.nn("sub", b.nn("mul", x[i], y[j]), b.nn("mul", x[j], y[i])) for i, j in ((1, 2), (2, 0), (0, 1))]
    return b.nn("concat", *found, axis=axis)


ROWS: Rows = {
    "MatrixSolve": solve,
    "MatrixTriangularSolve": triangular_solve,
    "MatrixInverse": inverse,
    "Cholesky": cholesky,
    "MatrixDeterminant": determinant,
    "LogMatrixDeterminant": log_determinant,
    "Qr": qr,
    "Svd": svd,
    "SelfAdjointEigV2": eigh,
    "Lu": lu,
    "Cross": cross,
}

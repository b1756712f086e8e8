"""Systems of linear equations, and factors of matrices, over the last two dimensions."""

from __future__ import annotations

import numpy as np
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import BOOL
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.nn.base import TENSOR, NNOp, require_float, same_dtype


def _matrices(x: Spec) -> Spec:
    """Raises E0401 unless the operand has two dimensions at least, E0403 unless it is of floating point."""
    if require_float(x).rank < 2:
        raise Error("E0401", f"{x} does not hold matrices")
    return x


def _square(x: Spec) -> Spec:
    if _matrices(x).shape[-1] != x.shape[-2]:
        raise Error("E0401", f"{x} does not hold square matrices")
    return x


@irdl_op_definition
class SolveOp(NNOp):
    """Solutions of linear equations: a y = x.

    Args:    a: tensor[..., n, n], floating point.  x: tensor[..., n, k], of the same leading dimensions.
    Returns: y: tensor[..., n, k], x's dtype.  A matrix without an inverse is E0802 when the op runs.
    Raises:  E0401 if the shapes do not fit, E0403 for integers or differing dtypes.
    Source:  torch.linalg.solve; tf.linalg.solve.
    """

    name = "nn.solve"
    a = operand_def(TENSOR)
    x = operand_def(TENSOR)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, a: Spec, x: Spec) -> Spec:
        same_dtype(_square(a), _matrices(x))
        if a.shape[:-1] != x.shape[:-1]:
            raise Error("E0401", f"matrices {a} do not fit {x}")
        return x


@irdl_op_definition
class CholeskyOp(NNOp):
    """Lower triangular factors of symmetric matrices: y y^T = x.  The upper triangle of x is not read.

    Args:    x: tensor[..., n, n], floating point.
    Returns: y: of x's type.  A matrix that is not positive definite is E0802 when the op runs.
    Raises:  E0401 unless the last two dimensions are equal, E0403 for integers.
    Source:  torch.linalg.cholesky; tf.linalg.cholesky.
    """

    name = "nn.cholesky"
    x = operand_def(TENSOR)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, x: Spec) -> Spec:
        return _square(x)


@irdl_op_definition
class QrOp(NNOp):
    """Matrices as products q r of orthonormal columns and an upper triangle, by Householder's reflections.

    Args:    x: tensor[..., m, n], floating point.  complete: whether q is square, and r as high as x.
    Returns: q: tensor[..., m, k], k = m if complete, else min(m, n).  r: tensor[..., k, n].
    Raises:  E0401 unless x has two dimensions, E0403 for integers.
    Source:  torch.linalg.qr; tf.linalg.qr.
    """

    name = "nn.qr"
    x = operand_def(TENSOR)
    complete = prop_def(BOOL)
    q = result_def(TENSOR)
    r = result_def(TENSOR)

    @classmethod
    def infer(cls, x: Spec, *, complete: bool) -> tuple[Spec, ...]:
        *lead, m, n = _matrices(x).shape
        k = m if complete else min(m, n)
        return Spec((*lead, m, k), x.dtype), Spec((*lead, k, n), x.dtype)


@irdl_op_definition
class LuOp(NNOp):
    """Matrices with rows in another order as products of a lower triangle of unit diagonal and an upper one, by partial pivoting.

    Args:    x: tensor[..., m, n], floating point.
    Returns: y: of x's type: both triangles in one matrix.  pivots: tensor[..., min(m, n)], int32: the row, counted from 1, that row i
             was exchanged with in step i.
    Raises:  E0401 unless x has two dimensions, E0403 for integers.
    Source:  torch.linalg.lu_factor; LAPACK getrf.
    """

    name = "nn.lu"
    x = operand_def(TENSOR)
    y = result_def(TENSOR)
    pivots = result_def(TENSOR)

    @classmethod
    def infer(cls, x: Spec) -> tuple[Spec, ...]:
        shape = _matrices(x).shape
        return x, Spec((*shape[:-2], min(shape[-2:])), np.dtype(np.int32))


@irdl_op_definition
class SvdOp(NNOp):
    """Singular values: x = u diag(s) v of orthonormal columns u and rows v.

    Args:    x: tensor[..., m, n], floating point.  full: whether u and v are square.
    Returns: u: tensor[..., m, m], or [..., m, k] with k = min(m, n).  s: tensor[..., k], falling.  v: tensor[..., n, n], or [..., k, n].
             Signs of the columns of u, with the rows of v, are any.
    Raises:  E0401 unless x has two dimensions, E0403 for integers.
    Source:  torch.linalg.svd; tf.linalg.svd.
    """

    name = "nn.svd"
    x = operand_def(TENSOR)
    full = prop_def(BOOL)
    u = result_def(TENSOR)
    s = result_def(TENSOR)
    v = result_def(TENSOR)

    @classmethod
    def infer(cls, x: Spec, *, full: bool) -> tuple[Spec, ...]:
        *lead, m, n = _matrices(x).shape
        k = min(m, n)
        u, v = ((m, m), (n, n)) if full else ((m, k), (k, n))
        return Spec((*lead, *u), x.dtype), Spec((*lead, k), x.dtype), Spec((*lead, *v), x.dtype)


@irdl_op_definition
class EighOp(NNOp):
    """Eigenvalues and eigenvectors of symmetric matrices: x v = v diag(y).  The upper triangle of x is not read.

    Args:    x: tensor[..., n, n], floating point.
    Returns: y: tensor[..., n], rising.  v: tensor[..., n, n]: eigenvectors as columns, their signs are any.
    Raises:  E0401 unless the last two dimensions are equal, E0403 for integers.
    Source:  torch.linalg.eigh; tf.linalg.eigh.
    """

    name = "nn.eigh"
    x = operand_def(TENSOR)
    y = result_def(TENSOR)
    v = result_def(TENSOR)

    @classmethod
    def infer(cls, x: Spec) -> tuple[Spec, ...]:
        return Spec(_square(x).shape[:-1], x.dtype), x

"""Products of matrices and vectors."""

from __future__ import annotations

import numpy as np

from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.einsum import einsum as joined
from ttc.importers.common.products import matmul
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.torch.builder import TorchBuilder
from ttc.importers.torch.elements import INT64, binary, times
from ttc.importers.torch.tables import Rows


def product(b: TorchBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    """Return x @ y, of any ranks."""
    return matmul(b, x, y)


def linear(b: TorchBuilder, x: SSAValue, weight: SSAValue, bias: SSAValue | None) -> SSAValue:
    """Return x[..., i] times weight[o, i] transposed, plus bias[o]; a weight of rank 1 is a row whose dimension the result lacks."""
    if b.rank(weight) == 1:
        found = matmul(b, x, weight)
        return found if bias is None else b.nn("add", found, bias)
    if b.rank(x) == 1:
        found = b.nn("matmul", b.reshape(x, 1, *b.shape(x)), weight, bias, transpose_a=False, transpose_b=True)
        return b.reshape(found, b.shape(weight)[0])
    return b.nn("matmul", x, weight, bias, transpose_a=False, transpose_b=True)


def _added(b: TorchBuilder, x: SSAValue, found: SSAValue, beta: float, alpha: float) -> SSAValue:
    """beta x + alpha found; x is not seen where beta is 0."""
    found = times(b, found, alpha)
    if beta == 0:
        return found
    return b.nn("add", times(b, b.cast(x, b.dtype(found)), beta), found)


def addmm(b: TorchBuilder, x: SSAValue, left: SSAValue, right: SSAValue, *, beta: float, alpha: float) -> SSAValue:
    """Return beta x + alpha left @ right; a row as x is the product's bias."""
    bias = (b.shape(right)[-1],)
    if beta == alpha == 1 and b.shape(x) in (bias, (1, *bias)) and b.dtype(x).kind in "fV":
        return b.nn("matmul", left, right, b.reshape(x, *bias), transpose_a=False, transpose_b=False)
    return _added(b, x, matmul(b, left, right), beta, alpha)


def add_product(b: TorchBuilder, x: SSAValue, left: SSAValue, right: SSAValue, *, beta: float, alpha: float) -> SSAValue:
    """Return beta x + alpha left @ right, of batches or with a vector."""
    return _added(b, x, matmul(b, left, right), beta, alpha)


def addbmm(b: TorchBuilder, x: SSAValue, left: SSAValue, right: SSAValue, *, beta: float, alpha: float) -> SSAValue:
    """Return beta x + alpha times the sum of the batch's products."""
    return _added(b, x, b.nn("reduce_sum", matmul(b, left, right), axes=(0,), keepdims=False), beta, alpha)


def addr(b: TorchBuilder, x: SSAValue, left: SSAValue, right: SSAValue, *, beta: float, alpha: float) -> SSAValue:
    return _added(b, x, outer(b, left, right), beta, alpha)


def outer(b: TorchBuilder, left: SSAValue, right: SSAValue) -> SSAValue:
    """Return the outer product in the dtype that both vectors promote to."""
    return binary("mul", "and")(b, b.reshape(left, b.spec(left).elements, 1), right)


def einsum(b: TorchBuilder, equation: str, tensors: tuple[SSAValue, ...], *, path: tuple[int, ...] | None) -> SSAValue:
    """Return an einsum in the order of the operands, whatever the path."""
    return joined(b, tensors, equation)


def trilinear(
    b: TorchBuilder,
    x: SSAValue,
    y: SSAValue,
    z: SSAValue,
    expand1: tuple[int, ...],
    expand2: tuple[int, ...],
    expand3: tuple[int, ...],
    sums: tuple[int, ...],
    unroll_dim: int,
) -> SSAValue:
    """Return the product of three tensors with dimensions of 1 put in, summed over some: as einsum of letters for the others."""
    rank = b.rank(x) + len(expand1)
    letters = "abcdefghijklmnop"[:rank]
    terms = ["".join(c for i, c in enumerate(letters) if i not in added) for added in (expand1, expand2, expand3)]
    result = "".join(c for i, c in enumerate(letters) if i not in sums)
    return joined(b, (x, y, z), f"{','.join(terms)}->{result}")


def grouped_product(
    b: TorchBuilder, x: SSAValue, y: SSAValue, ends: SSAValue | None, bias: SSAValue | None = None, out_dtype: np.dtype | None = None
) -> SSAValue:
    """Return x[r, i] @ y[g, i, o] with the matrix g of the group that row r lies in; rows after the last end are 0.  ends: [g], rising."""
    if ends is None and b.rank(x) == b.rank(y) == 3 and bias is None:
        found = matmul(b, x, y)
        return found if out_dtype is None else b.cast(found, out_dtype)
    if ends is None or bias is not None or (b.rank(x), b.rank(y)) != (2, 3):
        raise Unsupported("groups other than of the left operand's rows")
    rows, groups = b.shape(x)[0], b.shape(y)[0]
    ended = b.nn("less_equal", b.cast(ends, INT64), b.constant(np.arange(rows)[:, None]))
    mine = b.nn("reduce_sum", b.cast(b.reshape(ended, rows, groups), INT64), axes=(1,), keepdims=False)
    found = b.nn("grouped_matmul", x, y, mine, transpose_w=False)
    return found if out_dtype is None else b.cast(found, out_dtype)


ROWS: Rows = {
    **{f"aten.{op}.default": product for op in ("matmul", "mm", "bmm", "mv", "dot", "vdot")},
    "aten.linear.default": linear,
    "aten.addmm.default": addmm,
    "aten.baddbmm.default": add_product,
    "aten.addmv.default": add_product,
    "aten.addbmm.default": addbmm,
    "aten.addr.default": addr,
    "aten.outer.default": outer,
    "aten.einsum.default": einsum,
    "aten._trilinear.default": trilinear,
    "aten._grouped_mm.default": grouped_product,
    "transformers.grouped_mm_fallback.default": grouped_product,
}

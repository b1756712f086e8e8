"""Products of matrices, sums of products, and attention."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from ttc.importers.common.einsum import einsum as join
from ttc.ops.tracing import Operand, Tensor, made


def matmul(
    a: Operand, b: Operand, bias: Operand | None = None, *, transpose_a: bool = False, transpose_b: bool = False, name: str | None = None
) -> Tensor:
    """Return a @ b + bias.

    Args:
        a: [..., m, k], or [..., k, m] with transpose_a.
        b: [..., k, n], or [..., n, k] with transpose_b; leading dimensions broadcast.
        bias: broadcasts to the result.
    Raises: E0401, E0403.
    """
    flags: dict[str, Any] = {"transpose_a": transpose_a, "transpose_b": transpose_b}
    return made("matmul", name, [a, b, bias], lambda m, x, y, z: m.nn("matmul", x, y, z, **flags))


def linear(x: Operand, weight: Operand, bias: Operand | None = None, *, name: str | None = None) -> Tensor:
    """Return x[..., k] times the transpose of weight[n, k], plus bias[n].  Raises E0401, E0403."""
    flags: dict[str, Any] = {"transpose_a": False, "transpose_b": True}
    return made("linear", name, [x, weight, bias], lambda m, x, y, z: m.nn("matmul", x, y, z, **flags))


def sparse_matmul(sparse: Any, dense: Operand, *, name: str | None = None) -> Tensor:
    """Return the product of a sparse matrix, known when the model is traced, and a dense one [..., k, n].

    sparse: a matrix of SciPy, a sparse tensor of PyTorch, or an array; zeros in it cost what the target's kernels make of them.
    Raises: E0401, E0403.
    """
    known = sparse.toarray() if hasattr(sparse, "toarray") else sparse.to_dense() if hasattr(sparse, "to_dense") else sparse
    flags: dict[str, Any] = {"transpose_a": False, "transpose_b": False}
    return made("sparse_matmul", name, [known, dense], lambda m, x, y: m.nn("matmul", x, y, None, **flags))


def einsum(equation: str, *operands: Operand, name: str | None = None) -> Tensor:
    """Return the sum of products that an equation such as `bij,bjk->bik` says.  Raises E0401, E0402."""
    return made("einsum", name, operands, lambda m, *values: join(m, values, equation))


def attention(
    q: Operand, k: Operand, v: Operand, mask: Operand | None = None, *, scale: float | None = None, name: str | None = None
) -> Tensor:
    """Return softmax(scale q k^T + mask) v.

    Args:
        q, k, v: [..., length, size].
        mask: booleans that tell what is seen, or numbers to add; broadcasts to [..., length of q, length of k].
        scale: default: 1 / sqrt(size).
    Raises: E0401, E0403.
    """
    size = np.shape(q)[-1] if isinstance(q, np.ndarray) else q.shape[-1]
    factor = 1 / sqrt(size) if scale is None else float(scale)
    return made("attention", name, [q, k, v, mask], lambda m, *values: m.nn("attention", *values, scale=factor, zero_masked=False))

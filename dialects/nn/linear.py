"""Ops of nn on matrices: products and determinants."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, prop_def, result_def

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import BOOL, FLOATS, STR
from ttc.dialects.core.ir.spec import DYNAMIC, STORED_ONLY, Spec
from ttc.dialects.core.shapes import broadcast_shapes
from ttc.dialects.nn.alignment import require_activation, require_broadcastable
from ttc.dialects.nn.base import TENSOR, NNOp, require_float, require_rank, same_dtype
from ttc.dialects.nn.index import require_indices
from ttc.dialects.nn.shapes import linear as shapes


@irdl_op_definition
class MatmulOp(NNOp):
    """Matrix product over the last two dimensions: y = activation(a @ b + bias).

    Args:    a: tensor[..., m, k], or [..., k, m] with transpose_a.  b: tensor[..., k, n], or [..., n, k] with transpose_b; leading
             dimensions broadcast; numbers.  bias: broadcasts to the result.
             activation: mnemonic of a unary op applied to the result, activation_args: its float attributes in the order of its fields.
    Returns: y: tensor[..., m, n] of a's dtype.
    Raises:  E0401 if the shapes do not fit, E0402 for an unusable activation, E0403 for bool or differing dtypes.
    Source:  ONNX MatMul-13, Gemm-13 (alpha and beta: the importer multiplies); torch.matmul, addmm, linear.
    """

    name = "nn.matmul"
    a = operand_def(TENSOR)
    b = operand_def(TENSOR)
    bias = opt_operand_def(TENSOR)
    transpose_a = prop_def(BOOL)
    transpose_b = prop_def(BOOL)
    activation = opt_prop_def(STR)
    activation_args = opt_prop_def(FLOATS)
    y = result_def(TENSOR)

    @classmethod
    def infer(
        cls,
        a: Spec,
        b: Spec,
        bias: Spec | None = None,
        *,
        transpose_a: bool,
        transpose_b: bool,
        activation: str | None = None,
        activation_args: tuple[float, ...] = (),
    ) -> Spec:
        dtype = same_dtype(a, b, bias)
        if dtype.kind not in "fViu" or dtype in STORED_ONLY:
            raise Error("E0403", f"a matmul takes numbers, not {dtype}")
        if min(a.rank, b.rank) < 2:
            raise Error("E0401", f"a matmul takes operands of rank 2 or more, not {a} and {b}")
        m, k = reversed(a.shape[-2:]) if transpose_a else a.shape[-2:]
        k_of_b, n = reversed(b.shape[-2:]) if transpose_b else b.shape[-2:]
        if k != k_of_b and DYNAMIC not in (k, k_of_b):
            raise Error("E0401", f"a matmul of {a} and {b} sums over {k} elements of a but {k_of_b} of b")
        result = Spec((*broadcast_shapes(a.shape[:-2], b.shape[:-2]), m, n), dtype)
        require_broadcastable(bias, result.shape, "bias")
        require_activation(result, activation, activation_args)
        return result


@irdl_op_definition
class GroupedMatmulOp(NNOp):
    """Product of each row with the matrix of its group: y[i] = x[i] @ w[groups[i]].

    What a layer of experts computes: work grows with the rows, not with the groups.

    Args:    x: tensor[r, k], floating point.  w: tensor[g, k, n], or [g, n, k] with transpose_w.  groups: tensor[r], int32 or int64:
             the matrix of each row.
    Returns: y: tensor[r, n] of x's dtype; 0 for rows whose group is not in [0, g).
    Raises:  E0401 if the shapes do not fit, E0403 for other or differing dtypes.
    Source:  torch.nn.functional.grouped_mm (whose groups are runs of rows); com.microsoft MoE.
    """

    name = "nn.grouped_matmul"
    x = operand_def(TENSOR)
    w = operand_def(TENSOR)
    groups = operand_def(TENSOR)
    transpose_w = prop_def(BOOL)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, x: Spec, w: Spec, groups: Spec, *, transpose_w: bool) -> Spec:
        same_dtype(require_float(require_rank(x, 2)), require_rank(w, 3))
        require_indices(require_rank(groups, 1))
        k, n = reversed(w.shape[1:]) if transpose_w else w.shape[1:]
        rows = x.shape[0] if groups.shape[0] == DYNAMIC else groups.shape[0]
        if x.shape[0] not in (rows, DYNAMIC) or (k != x.shape[1] and DYNAMIC not in (k, x.shape[1])):
            raise Error("E0401", f"{x}, {w} and {groups} do not fit each other")
        return Spec((rows, n), x.dtype)


@irdl_op_definition
class DetOp(NNOp):
    """Determinants of a batch of square matrices.

    Args:    x: tensor[..., n, n], floating point.
    Returns: y: tensor[...], x's dtype.
    Raises:  E0401 unless the last two dimensions are equal, E0403 for integers.
    Source:  ONNX Det-22; torch.linalg.det.
    """

    name = "nn.det"
    x = operand_def(TENSOR)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, x: Spec) -> Spec:
        return Spec(shapes.det(require_float(x).shape), x.dtype)

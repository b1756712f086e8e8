"""The pass that folds transposes into the matmuls that can read their operands transposed."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import SSAValue

from ttc.dialects.core.records import record
from ttc.dialects.nn.linear import MatmulOp
from ttc.dialects.nn.shape import TransposeOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.match import attr, composed, is_identity, owner, perm_of, rebuilt, swap_last_two, sweep_entries


@record
class FoldTranspose(Pass):
    """Fold an exchange of the last two dimensions into the flags of the matmul that reads it.

    Before:
        (%x: tensor<4x8xf32>, %w: tensor<3x8xf32>)
        %1 = nn.transpose(%w) {perm = [1, 0]} : (tensor<3x8xf32>) -> tensor<8x3xf32>
        %2 = nn.matmul(%x, %1, _) {transpose_a = false, transpose_b = false} : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
        return %2 : tensor<4x3xf32>
    After:
        (%x: tensor<4x8xf32>, %w: tensor<3x8xf32>)
        %2 = nn.matmul(%x, %w, _) {transpose_a = false, transpose_b = true} : (tensor<4x8xf32>, tensor<3x8xf32>) -> tensor<4x3xf32>
        return %2 : tensor<4x3xf32>
    Missed:
        the transpose moves other dimensions than the last two.
    """

    name: ClassVar[str] = "fold-transpose"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        sweep_entries(unit, rewriter, {MatmulOp: lambda op: _fold(op, rewriter)})


def _fold(matmul: MatmulOp, rewriter: Rewriter) -> None:
    a, b, bias = matmul.named_operands()
    new_a, new_b = _untransposed(a, matmul, rewriter), _untransposed(b, matmul, rewriter)
    if (new_a is None and new_b is None) or not rewriter.allow("fold-transpose", matmul):
        return
    sources = [x.owner for x, new in ((a, new_a), (b, new_b)) if new is not None and x is not None]
    flags = {
        "transpose_a": attr(matmul, "transpose_a") != (new_a is not None),
        "transpose_b": attr(matmul, "transpose_b") != (new_b is not None),
    }
    operands = (a if new_a is None else new_a, b if new_b is None else new_b, bias)
    transposes = [op for op in sources if isinstance(op, TransposeOp)]
    new = rebuilt(rewriter, matmul, matmul, operands, (*transposes, matmul), **flags)
    rewriter.applied(new, "transpose folded into the matmul")
    rewriter.replace(matmul, new.results[0])
    for op in dict.fromkeys(transposes):
        rewriter.erase_dead(op)


def _untransposed(value: SSAValue | None, matmul: MatmulOp, rewriter: Rewriter) -> SSAValue | None:
    """Return what an exchange of the last two dimensions is applied to; None if the value is no such exchange."""
    op = None if value is None else owner(value, TransposeOp)
    if op is None:
        return None
    perm = perm_of(op)
    if is_identity(composed(perm, swap_last_two(len(perm)))):
        return op.operands[0]
    if perm[-1] != len(perm) - 1:
        rewriter.missed(matmul, f"a transpose by {list(perm)} does more than exchange the last two dimensions")
    return None

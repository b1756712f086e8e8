"""The pass that brings transposes together which a product of rows stands between."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import SSAValue

from ttc.dialects.core.records import record
from ttc.dialects.nn.binary import AddOp, DivOp, MulOp
from ttc.dialects.nn.linear import MatmulOp
from ttc.dialects.nn.pieces import SliceOp, SplitOp
from ttc.dialects.nn.shape import ReshapeOp, TransposeOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.match import attr, owner, perm_of, rebuilt, reshaped, shape_of, sole_user, sweep_entries, users
from ttc.passes.nn.rules import static

REACH = 32
"""The most ops after a product among which another transpose is looked for."""


@record
class JoinTransposes(Pass):
    """Move transposes that take samples out of the first dimension through a product of rows, to another transpose, with which they merge.

    `torch.nn.MultiheadAttention` computes its products with samples in the second dimension, and transposes heads beside them.

    Before:
        (%x: tensor<8x6x4xf32>, %w: tensor<4x10xf32>)
        %0 = nn.transpose(%x) {perm = [1, 0, 2]} : (tensor<8x6x4xf32>) -> tensor<6x8x4xf32>
        %1 = nn.matmul(%0, %w, _) {transpose_a = false, transpose_b = false} : (tensor<6x8x4xf32>, tensor<4x10xf32>) -> tensor<6x8x10xf32>
        %2 = nn.reshape(%1) {shape = [6, 16, 5]} : (tensor<6x8x10xf32>) -> tensor<6x16x5xf32>
        %3 = nn.transpose(%2) {perm = [1, 0, 2]} : (tensor<6x16x5xf32>) -> tensor<16x6x5xf32>
        return %3 : tensor<16x6x5xf32>
    After:
        (%x: tensor<8x6x4xf32>, %w: tensor<4x10xf32>)
        %0 = nn.matmul(%x, %w, _) {transpose_a = false, transpose_b = false} : (tensor<8x6x4xf32>, tensor<4x10xf32>) -> tensor<8x6x10xf32>
        %1 = nn.transpose(%0) {perm = [1, 0, 2]} : (tensor<8x6x10xf32>) -> tensor<6x8x10xf32>
        %2 = nn.reshape(%1) {shape = [6, 16, 5]} : (tensor<6x8x10xf32>) -> tensor<6x16x5xf32>
        %3 = nn.transpose(%2) {perm = [1, 0, 2]} : (tensor<6x16x5xf32>) -> tensor<16x6x5xf32>
        return %3 : tensor<16x6x5xf32>
    Missed:
        other ops read what is transposed, the product is of each sample with a matrix of its own, or no other transpose is near.
    """

    name: ClassVar[str] = "join-transposes"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        sweep_entries(unit, rewriter, {MatmulOp: lambda op: _sink(op, rewriter), TransposeOp: lambda op: _raise(op, rewriter)})


def _sink(matmul: MatmulOp, rewriter: Rewriter) -> None:
    """Move the transpose before a product behind it, if another one follows."""
    a, b, bias = matmul.named_operands()
    transpose = None if a is None else owner(_before_view(a), TransposeOp)
    if a is None or transpose is None or not _moves_samples(transpose) or not _is_of_rows(matmul) or not _is_followed(matmul.results[0]):
        return
    if shape_of(a)[-1] != shape_of(transpose.results[0])[-1] or not all(isinstance(user, MatmulOp) for user in users(a)):
        return
    if not rewriter.allow("join-transposes", matmul):
        return
    product = rebuilt(rewriter, matmul, matmul, (transpose.operands[0], b, bias), (matmul,)).results[0]
    moved = rewriter.build(matmul, TransposeOp, product, sources=(transpose,), perm=perm_of(transpose))
    rewriter.applied(moved, "moved behind the product of its rows, to the next transpose")
    rewriter.replace(matmul, reshaped(rewriter, matmul, moved.results[0], shape_of(matmul.results[0])))
    if isinstance(a.owner, ReshapeOp | TransposeOp):
        rewriter.erase_dead(a.owner)


def _raise(transpose: TransposeOp, rewriter: Rewriter) -> None:
    """Move the transpose behind a product before it, if another one comes first."""
    value = transpose.operands[0]
    matmul = owner(_before_view(value), MatmulOp)
    if matmul is None or not _moves_samples(transpose) or not _is_of_rows(matmul) or shape_of(value)[-1] != shape_of(matmul.results[0])[-1]:
        return
    a, b, bias = matmul.named_operands()
    if a is None or owner(_before_view(a), TransposeOp) is None or sole_user(value) is None or sole_user(matmul.results[0]) is None:
        return
    if not static(a) or not rewriter.allow("join-transposes", transpose):
        return
    rows = reshaped(rewriter, transpose, a, (*shape_of(value)[:-1], shape_of(a)[-1]))
    moved = rewriter.build(transpose, TransposeOp, rows, sources=(transpose,), perm=perm_of(transpose))
    rewriter.applied(moved, "moved before the product of its rows, to the transpose before it")
    rewriter.replace(transpose, rebuilt(rewriter, transpose, matmul, (moved.results[0], b, bias), (matmul,)).results[0])
    if isinstance(value.owner, ReshapeOp | MatmulOp):
        rewriter.erase_dead(value.owner)


def _before_view(value: SSAValue) -> SSAValue:
    """Return what a reshape reads that is read nowhere else; the value itself if there is none."""
    view = owner(value, ReshapeOp)
    return value if view is None or not static(value) or sole_user(view.operands[0]) is None else view.operands[0]


def _moves_samples(transpose: TransposeOp) -> bool:
    """Return whether a transpose moves the first dimension away, or another one there, and leaves rows whole."""
    perm = perm_of(transpose)
    return perm[0] != 0 and perm[-1] == len(perm) - 1 and static(transpose.results[0])


def _is_of_rows(matmul: MatmulOp) -> bool:
    """Return whether a product treats each row of its first operand by itself: one matrix, and one number a column, serve all."""
    a, b, bias = matmul.named_operands()
    if a is None or b is None or attr(matmul, "transpose_a") or not static(matmul.results[0]):
        return False
    return len(shape_of(a)) > 1 and len(shape_of(b)) == 2 and (bias is None or len(shape_of(bias)) == 1)


def _is_followed(value: SSAValue) -> bool:
    """Return whether a transpose reads a value, or pieces, views and multiples of it."""
    pending, seen = [value], 0
    while pending and seen < REACH:
        for user in users(pending.pop()):
            seen += 1
            if isinstance(user, TransposeOp):
                return True
            if isinstance(user, ReshapeOp | SliceOp | SplitOp | MulOp | DivOp | AddOp):
                pending.extend(user.results)
    return False

"""Elementwise arithmetic."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttc.importers.torch.builder import Operand, TorchBuilder
from ttc.importers.torch.tables import Row, Rows


def unary(op: str) -> Row:
    """An nn op of one operand; integers are computed in the result's floating point."""

    def apply(b: TorchBuilder, x: SSAValue) -> SSAValue:
        return b.nn(op, b.cast(x, b.result))

    return apply


def binary(op: str) -> Row:
    """An nn op of two operands in the dtype that PyTorch promotes them to."""

    def apply(b: TorchBuilder, x: Operand, other: Operand) -> SSAValue:
        return b.nn(op, b.operand(x, b.result), b.operand(other, b.result))

    return apply


def scaled(op: str) -> Row:
    """The sum or difference of x and alpha times the other."""

    def apply(b: TorchBuilder, x: Operand, other: Operand, alpha: float = 1) -> SSAValue:
        second = b.operand(other, b.result)
        if alpha != 1:
            second = b.nn("mul", second, b.scalar(alpha, second))
        return b.nn(op, b.operand(x, b.result), second)

    return apply


ROWS: Rows = {
    **{f"aten.{op}.default": unary(op) for op in ("relu", "exp", "sigmoid", "tanh", "sqrt", "rsqrt", "neg", "abs")},
    "aten.add.Tensor": scaled("add"),
    "aten.sub.Tensor": scaled("sub"),
    "aten.mul.Tensor": binary("mul"),
    "aten.div.Tensor": binary("div"),
}

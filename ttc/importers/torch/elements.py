"""What rows of elementwise ops share: operands of floating point, truth values, and rows made from the name of an nn op."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.torch.builder import Operand, TorchBuilder

FLOAT32 = np.dtype(np.float32)
INT64 = np.dtype(np.int64)
BOOL = np.dtype(np.bool_)

Unary: TypeAlias = Callable[[TorchBuilder, SSAValue], SSAValue]
Binary: TypeAlias = Callable[[TorchBuilder, Operand, Operand], SSAValue]


def is_float(b: TorchBuilder, x: SSAValue) -> bool:
    """Return whether x is of floating point."""
    return b.dtype(x).kind in "fV"


def floating(b: TorchBuilder, x: SSAValue) -> SSAValue:
    """Return x; integers and truth values as float32, PyTorch's default."""
    return x if is_float(b, x) else b.cast(x, FLOAT32)


def truth(b: TorchBuilder, x: SSAValue) -> SSAValue:
    """Return whether x is not 0."""
    return x if b.dtype(x) == BOOL else b.nn("not_equal", x, b.scalar(0, x))


def times(b: TorchBuilder, x: SSAValue, factor: float) -> SSAValue:
    """Return x times a number; x itself if that is 1."""
    return x if factor == 1 else b.nn("mul", x, b.scalar(factor, x))


def plus(b: TorchBuilder, x: SSAValue, term: float) -> SSAValue:
    """Return x plus a number, elementwise."""
    return b.nn("add", x, b.scalar(term, x))


def unary(op: str) -> Unary:
    """Return the nn op of that name over floating point."""
    return lambda b, x: b.nn(op, floating(b, x))


def of_floating(function: Callable[[Builder, SSAValue], SSAValue]) -> Unary:
    """Return the function over floating point."""
    return lambda b, x: function(b, floating(b, x))


def unary_number(op: str) -> Unary:
    """Return the nn op of that name, which takes integers too."""
    return lambda b, x: b.nn(op, x)


def whole(op: str) -> Unary:
    """Return a rounding: integers are whole."""
    return lambda b, x: b.nn(op, x) if is_float(b, x) else x


def binary(op: str, logic: str | None = None) -> Binary:
    """Return the nn op of that name over promoted operands; for truth values the one of name `logic`, if there is one."""

    def row(b: TorchBuilder, x: Operand, y: Operand) -> SSAValue:
        left, right = b.promoted(x, y)
        if logic is not None and b.dtype(left) == BOOL:
            return b.nn(logic, left, right)
        return b.nn(op, left, right)

    return row


def binary_floating(op: str) -> Binary:
    """Return the nn op of that name over promoted operands of floating point."""

    def row(b: TorchBuilder, x: Operand, y: Operand) -> SSAValue:
        left, right = (floating(b, v) for v in b.promoted(x, y))
        return b.nn(op, left, right)

    return row


def logical(op: str) -> Binary:
    """Return the nn op of that name over truth values."""

    def row(b: TorchBuilder, x: Operand, y: Operand) -> SSAValue:
        left, right = (truth(b, v) if isinstance(v, SSAValue) else b.constant(np.array(bool(v))) for v in (x, y))
        return b.nn(op, left, right)

    return row

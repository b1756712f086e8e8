"""Values and variables of a kernel, with the operators of Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from llvmlite import ir

from ttc.runtime.engines.native.ir.dtypes import Type

Operand: TypeAlias = "Value | int | float"
"""A value, or a Python number that takes the type of the value beside it."""


@dataclass(frozen=True, slots=True)
class Value:
    """The result of an instruction.  Operators work lane by lane; a scalar beside a vector is spread over its lanes.

    f: the `Writer` that it belongs to (which imports this module).
    """

    f: Any
    llvm: Any
    type: Type

    def __add__(self, other: Operand) -> Value:
        return self.f.arithmetic("add", self, other)

    def __radd__(self, other: Operand) -> Value:
        return self.f.arithmetic("add", other, self)

    def __sub__(self, other: Operand) -> Value:
        return self.f.arithmetic("sub", self, other)

    def __rsub__(self, other: Operand) -> Value:
        return self.f.arithmetic("sub", other, self)

    def __mul__(self, other: Operand) -> Value:
        return self.f.arithmetic("mul", self, other)

    def __rmul__(self, other: Operand) -> Value:
        return self.f.arithmetic("mul", other, self)

    def __truediv__(self, other: Operand) -> Value:
        """Divide two floating-point values, elementwise."""
        return self.f.arithmetic("div", self, other)

    def __rtruediv__(self, other: Operand) -> Value:
        return self.f.arithmetic("div", other, self)

    def __floordiv__(self, other: Operand) -> Value:
        """Divide integers toward zero, elementwise; they must not be negative."""
        return self.f.arithmetic("div", self, other)

    def __mod__(self, other: Operand) -> Value:
        """Return the remainder of integers, elementwise; they must not be negative."""
        return self.f.arithmetic("rem", self, other)

    def __and__(self, other: Operand) -> Value:
        return self.f.arithmetic("and", self, other)

    def __or__(self, other: Operand) -> Value:
        return self.f.arithmetic("or", self, other)

    def __xor__(self, other: Operand) -> Value:
        return self.f.arithmetic("xor", self, other)

    def __lshift__(self, other: Operand) -> Value:
        return self.f.arithmetic("shl", self, other)

    def __rshift__(self, other: Operand) -> Value:
        """Keeps the sign of signed integers."""
        return self.f.arithmetic("shr", self, other)

    def __neg__(self) -> Value:
        return self.f.negated(self)

    def __lt__(self, other: Operand) -> Value:
        return self.f.compared("<", self, other)

    def __le__(self, other: Operand) -> Value:
        return self.f.compared("<=", self, other)

    def __gt__(self, other: Operand) -> Value:
        return self.f.compared(">", self, other)

    def __ge__(self, other: Operand) -> Value:
        return self.f.compared(">=", self, other)

    def equals(self, other: Operand) -> Value:
        """Return whether two values are equal; NaN equals nothing."""
        return self.f.compared("==", self, other)

    def differs(self, other: Operand) -> Value:
        """Return whether two values differ; NaN differs from everything."""
        return self.f.compared("!=", self, other)

    def is_within(self, size: Value) -> Value:
        """Return whether an index is at least 0 and less than a size, by one comparison: without a sign, a negative one is large."""
        return self.f.converted(self, "u64") < self.f.converted(size, "u64")


@dataclass(frozen=True, slots=True)
class CodeValue(Value):
    """A code that a number was quantized to.

    number: the code less zero, in float32, which dequantizing it needs.  zero: of the quantization.
    """

    number: Value
    zero: int


@dataclass(frozen=True, slots=True)
class LocalVariable:
    """A place for values of one type that loops and branches change; it lives in a register."""

    f: Any
    slot: ir.Value
    type: Type

    def get(self) -> Value:
        return Value(self.f, self.f.builder.load(self.slot, typ=self.type.llvm), self.type)

    def set(self, value: Operand) -> None:
        self.f.builder.store(self.f.as_type(value, self.type).llvm, self.slot)

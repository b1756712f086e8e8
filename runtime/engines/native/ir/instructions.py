"""Arithmetic, comparisons and conversions between registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from llvmlite import ir

from ttc.runtime.engines.native.ir.dtypes import Dtype, Type, size_bytes
from ttc.runtime.engines.native.ir.values import Operand, Value

if TYPE_CHECKING:
    from ttc.runtime.engines.native.codegen.features import Cpu

_FLOATING = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_SIGNED = {"add": "add", "sub": "sub", "mul": "mul", "div": "sdiv", "rem": "srem", "and": "and_", "or": "or_", "xor": "xor", "shl": "shl"}
_SIGNED["shr"] = "ashr"
_SHIFTING, _SHIFTING_BITS = 1.5 * 2**23, 0x4B400000
"""A float32 beside which others are rounded to whole numbers, and its bits: the lowest ones then count on from there."""
_UNSIGNED = {**_SIGNED, "div": "udiv", "rem": "urem", "shr": "lshr"}


class Instructions:
    """What a `Writer` can do with values in registers."""

    cpu: Cpu
    builder: ir.IRBuilder
    module: ir.Module

    # ---- constants ---------------------------------------------------------------------------------------------------------------------

    def constant(self, value: float, dtype: Dtype, lanes: int = 1) -> Value:
        """Return a number, in every lane."""
        type_ = Type(dtype, lanes)
        element = ir.Constant(Type(dtype).llvm, _number(value, dtype))
        return Value(self, element if lanes == 1 else ir.Constant(type_.llvm, [element] * lanes), type_)

    def constants(self, values: Sequence[float], dtype: Dtype) -> Value:
        """Return a vector of constant numbers."""
        elements = [ir.Constant(Type(dtype).llvm, _number(v, dtype)) for v in values]
        type_ = Type(dtype, len(values))
        return Value(self, ir.Constant(type_.llvm, elements), type_)

    def known(self, a: Value) -> float | None:
        """Return the number of a scalar constant; None for other values."""
        return a.llvm.constant if isinstance(a.llvm, ir.Constant) and isinstance(a.llvm.constant, int | float) else None

    # ---- arithmetic ----------------------------------------------------------------------------------------------------------------------

    def arithmetic(self, op: str, a: Operand, b: Operand) -> Value:
        """Return add, sub, mul, div, rem, and, or, xor, shl or shr of two values of one type."""
        a, b = self._alike(a, b)
        table = _FLOATING if a.type.is_float else _SIGNED if a.type.is_signed else _UNSIGNED
        return self._value(getattr(self.builder, table[op])(a.llvm, b.llvm), a.type)

    def negated(self, a: Value) -> Value:
        """Return the negative -a, elementwise."""
        return self._value(self.builder.fneg(a.llvm), a.type) if a.type.is_float else self.arithmetic("sub", 0, a)

    def inverted(self, a: Value) -> Value:
        """Return an integer or truth value with all its bits flipped."""
        return self._value(self.builder.not_(a.llvm), a.type)

    def compared(self, op: str, a: Operand, b: Operand) -> Value:
        """Return a truth value a lane.  Comparisons with NaN are false, but for `!=`."""
        a, b = self._alike(a, b)
        if a.type.is_float:
            compare = self.builder.fcmp_unordered if op == "!=" else self.builder.fcmp_ordered
        else:
            compare = self.builder.icmp_signed if a.type.is_signed else self.builder.icmp_unsigned
        return self._value(compare(op, a.llvm, b.llvm), a.type.of("i1"))

    def select(self, condition: Value, then: Operand, otherwise: Operand) -> Value:
        """Return one value or the other, lane by lane; a scalar condition chooses whole vectors."""
        a, b = self._alike(then, otherwise)
        if condition.type.lanes > 1 and a.type.lanes == 1:
            a, b = self.spread(a, condition.type.lanes), self.spread(b, condition.type.lanes)
        return self._value(self.builder.select(condition.llvm, a.llvm, b.llvm), a.type)

    def fma(self, a: Operand, b: Operand, c: Operand) -> Value:
        """Return a * b + c, rounded once where the CPU can, else twice."""
        a, b = self._alike(a, b)
        b, c = self._alike(b, c)
        a, c = self._alike(a, c)
        name = "llvm.fma" if self.cpu.has("fma") else "llvm.fmuladd"
        return self.intrinsic(f"{name}.{suffix(a.type)}", a.type, [a, self.spread_like(b, a), c])

    def minimum(self, a: Operand, b: Operand) -> Value:
        """Return the smaller one; NaN if either is."""
        return self._extreme("<", a, b)

    def maximum(self, a: Operand, b: Operand) -> Value:
        """Return the larger one; NaN if either is."""
        return self._extreme(">", a, b)

    def larger(self, a: Operand, b: Operand) -> Value:
        """Return the larger one, in one instruction: b if either is NaN."""
        a, b = self._alike(a, b)
        return self.select(self.compared(">", a, b), a, b)

    def smaller(self, a: Operand, b: Operand) -> Value:
        """Return the smaller one, in one instruction: b if either is NaN."""
        a, b = self._alike(a, b)
        return self.select(self.compared("<", a, b), a, b)

    def unary(self, name: str, a: Value) -> Value:
        """Return sqrt, fabs, floor, ceil, trunc or rint (ties to even) of floating-point values."""
        return self.intrinsic(f"llvm.{name}.{suffix(a.type)}", a.type, [a])

    def intrinsic(self, name: str, result: Type | None, operands: Sequence[Value], immediates: Sequence[int] = ()) -> Value:
        """Call an LLVM intrinsic by its full name.  immediates: 32-bit (a bool: 1-bit) constants after the operands."""
        numbers = [ir.Constant(ir.IntType(1) if isinstance(n, bool) else ir.IntType(32), int(n)) for n in immediates]
        arguments = [x.llvm for x in operands] + numbers
        returned = ir.VoidType() if result is None else result.llvm
        function = self.module.globals.get(name)
        if function is None:
            function = ir.Function(self.module, ir.FunctionType(returned, [x.type for x in arguments]), name)
        return self._value(self.builder.call(function, arguments), result or Type("i1"))

    def assembly(
        self, text: str, constraints: Sequence[str], results: Sequence[Type], operands: Sequence[Value], *, acts: bool = False
    ) -> list[Value]:
        """Emit instructions in a given order, which no pass changes, and return their results.  acts: they do more than compute these.

        Source: LLVM Language Reference, inline assembler expressions.
        """
        returned = results[0].llvm if len(results) == 1 else ir.LiteralStructType([type_.llvm for type_ in results])
        signature = ir.FunctionType(returned, [operand.type.llvm for operand in operands])
        code = ir.InlineAsm(signature, text.replace("\n", "\\0A"), ",".join(constraints), side_effect=acts)
        found = self.builder.call(code, [operand.llvm for operand in operands])
        if len(results) == 1:
            return [self._value(found, results[0])]
        return [self._value(self.builder.extract_value(found, i), type_) for i, type_ in enumerate(results)]

    # ---- lanes -------------------------------------------------------------------------------------------------------------------------

    def spread(self, a: Value, lanes: int) -> Value:
        """Return a scalar in every lane of a vector."""
        if a.type.lanes == lanes:
            return a
        vector = Type(a.type.dtype, lanes)
        first = self.builder.insert_element(ir.Constant(vector.llvm, ir.Undefined), a.llvm, ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
        return self._value(self.builder.shuffle_vector(first, ir.Constant(vector.llvm, ir.Undefined), zeros), vector)

    def spread_like(self, a: Value, other: Value) -> Value:
        """Return a scalar in as many lanes as another value has."""
        return self.spread(a, other.type.lanes)

    def shuffled(self, a: Value, b: Value, order: Sequence[int]) -> Value:
        """Return lanes of a (0 ...) and b (lanes ...) in that order."""
        mask = ir.Constant(ir.VectorType(ir.IntType(32), len(order)), list(order))
        return self._value(self.builder.shuffle_vector(a.llvm, b.llvm, mask), Type(a.type.dtype, len(order)))

    def lane(self, a: Value, index: int) -> Value:
        """Return one lane as a scalar."""
        return self._value(self.builder.extract_element(a.llvm, ir.Constant(ir.IntType(32), index)), Type(a.type.dtype))

    def lane_numbers(self, lanes: int, dtype: Dtype = "i64") -> Value:
        """Return the vector 0, 1, 2, ... of so many lanes."""
        return self.constants(range(lanes), dtype)

    def mask(self, count: Operand, lanes: int) -> Value:
        """Return truth values that hold in the first `count` (an i64) lanes."""
        number = self.as_type(count, Type("i64"))
        if lanes > 16:  # in numbers of one vector, which are compared at once
            dtype = "i16" if lanes <= 32 else "i8"
            number = self.converted(self.smaller(self.larger(number, 0), lanes), dtype)
        return self.compared("<", self.lane_numbers(lanes, number.type.dtype), self.spread(number, lanes))

    def folded(self, op: str, a: Value) -> Value:
        """Return all lanes of a vector in one scalar, halves joined pairwise; op: add, mul, maximum, minimum, larger, smaller, and, or."""
        while a.type.lanes > 1:
            half = a.type.lanes // 2
            low, high = (self.shuffled(a, a, range(start, start + half)) for start in (0, half))
            if half == 1:
                low, high = self.lane(a, 0), self.lane(a, 1)
            a = getattr(self, op)(low, high) if hasattr(type(self), op) else self.arithmetic(op, low, high)
        return a

    # ---- conversions -------------------------------------------------------------------------------------------------------------------

    def bits(self, a: Value, dtype: Dtype) -> Value:
        """Return the bits of a as another type of that size."""
        type_ = a.type.of(dtype)
        return a if type_ == a.type else self._value(self.builder.bitcast(a.llvm, type_.llvm), type_)

    def magnitude(self, a: Value) -> Value:
        """Return magnitudes of float32 as integers (u32) of the same order; NaN is the largest."""
        return self.bits(a, "u32") & 0x7FFFFFFF

    def converted(self, a: Value, dtype: Dtype) -> Value:
        """Return the number as another type: floats to integers toward zero, saturating (NaN: 0); integers wrap; i1: whether it is not
        0.
        """
        source, target = a.type, a.type.of(dtype)
        if source.dtype == dtype:
            return a
        if dtype == "i1":
            return self.compared("!=", a, 0)
        if source.is_float and target.is_float:
            cast_ = self.builder.fpext if dtype == "f64" else self.builder.fptrunc
        elif source.is_float and size_bytes(dtype) < 4:
            return self._narrow_integer(a, target)
        elif source.is_float:
            name = "fptosi" if target.is_signed else "fptoui"
            return self.intrinsic(f"llvm.{name}.sat.{suffix(target)}.{suffix(source)}", target, [a])
        elif target.is_float:
            cast_ = self.builder.sitofp if source.is_signed else self.builder.uitofp
        elif size_bytes(dtype) == size_bytes(source.dtype) and source.dtype != "i1":
            return self._value(a.llvm, target)
        elif size_bytes(dtype) < size_bytes(source.dtype):
            cast_ = self.builder.trunc
        else:
            cast_ = self.builder.sext if source.is_signed else self.builder.zext
        return self._value(cast_(a.llvm, target.llvm), target)

    def truncated(self, a: Value) -> Value:
        """Return floats as i32, toward zero, in one instruction; the result for floats beyond i32 is undefined."""
        type_ = a.type.of("i32")
        return self._value(self.builder.fptosi(a.llvm, type_.llvm), type_)

    def nearest_integer(self, a: Value) -> Value:
        """Return float32 of magnitudes up to 2^22 as i32, to nearest, ties to even: in two instructions."""
        return self.shifted_integer(self.shifted(a))

    def shifted(self, a: Value) -> Value:
        """Return float32 of magnitudes up to 2^22, rounded to nearest, ties to even, for `shifted_integer` and `shifted_number`."""
        return a + _SHIFTING

    def shifted_integer(self, a: Value) -> Value:
        """Return what `shifted` rounded as i32."""
        return self.bits(a, "i32") - _SHIFTING_BITS

    def shifted_number(self, a: Value) -> Value:
        """Return what `shifted` rounded as float32; zero without a sign."""
        return a - _SHIFTING

    def as_type(self, a: Operand, type_: Type) -> Value:
        """Return a number as a constant of that type; a scalar of its element type spread."""
        if isinstance(a, int | float):
            return self.constant(a, type_.dtype, type_.lanes)
        return self.spread(a, type_.lanes)

    def _narrow_integer(self, a: Value, target: Type) -> Value:
        """Return integers of 8 or 16 bits by way of 32: LLVM saturates them lane by lane."""
        low, high = (-(2 ** (8 * size_bytes(target.dtype) - 1)), 2 ** (8 * size_bytes(target.dtype) - 1) - 1)
        if not target.is_signed:
            low, high = 0, high - low
        number = self.select(self.compared("==", a, a), a, 0.0)
        inside = self.smaller(float(high), self.larger(float(low), number))
        return self.converted(self.truncated(inside), target.dtype)

    # ---- inside ------------------------------------------------------------------------------------------------------------------------

    def _value(self, llvm: object, type_: Type) -> Value:
        return Value(self, llvm, type_)

    def _alike(self, a: Operand, b: Operand) -> tuple[Value, Value]:
        if isinstance(a, int | float):
            if isinstance(b, int | float):
                raise TypeError("two numbers have no type of their own")
            return self.as_type(a, b.type), b
        if isinstance(b, int | float):
            return a, self.as_type(b, a.type)
        lanes = max(a.type.lanes, b.type.lanes)
        return self.spread(a, lanes), self.spread(b, lanes)

    def _extreme(self, op: str, a: Operand, b: Operand) -> Value:
        a, b = self._alike(a, b)
        chosen = self.select(self.compared(op, a, b), a, b)
        return self.select(self.compared("!=", a, a), a, chosen) if a.type.is_float else chosen


def _number(value: float, dtype: Dtype) -> Any:
    return float(value) if dtype in ("f32", "f64", "f16") else int(value)


def suffix(type_: Type) -> str:
    """Return how names of LLVM's intrinsics on values of a type end."""
    number = {"f32": "f32", "f64": "f64", "f16": "f16"}.get(type_.dtype) or f"i{1 if type_.dtype == 'i1' else 8 * size_bytes(type_.dtype)}"
    return number if type_.lanes == 1 else f"v{type_.lanes}{number}"

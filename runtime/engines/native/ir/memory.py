"""Reading and writing memory, and the element types that only memory has."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ttc.runtime.engines.native.ir.dtypes import Dtype, Type, size_bytes
from ttc.runtime.engines.native.ir.half import converts_half, narrowed_half, widened_half
from ttc.runtime.engines.native.ir.instructions import Instructions
from ttc.runtime.engines.native.ir.values import Operand, Value


class Memory(Instructions):
    """What a `Writer` can do with memory.  No access is taken to be aligned beyond one element."""

    def at(self, pointer: Value, index: Operand, dtype: Dtype) -> Value:
        """Return the address of an element of a row of them.  index: of type i64."""
        element = Type("i8" if dtype == "bool" else dtype).llvm if dtype != "i1" else ir.IntType(8)
        offset = self.as_type(index, Type("i64"))
        return Value(self, self.builder.gep(pointer.llvm, [offset.llvm], source_etype=element), Type("ptr"))

    def load(self, pointer: Value, dtype: Dtype, lanes: int = 1, mask: Value | None = None) -> Value:
        """Return elements as they lie there; with a mask, 0 in lanes that are off, whose memory is not touched."""
        type_ = Type(dtype, lanes)
        if mask is None:
            return Value(self, self.builder.load(pointer.llvm, typ=type_.llvm, align=_align(dtype)), type_)
        zero = ir.Constant(type_.llvm, None)
        name = f"llvm.masked.load.{_name(type_)}.p0"
        return _masked(self, name, type_.llvm, [pointer.llvm, ir.Constant(ir.IntType(32), _align(dtype)), mask.llvm, zero], type_)

    def store(self, value: Value, pointer: Value, mask: Value | None = None) -> None:
        """Write a value as it is; with a mask, only lanes that are on are written."""
        align = _align(value.type.dtype)
        if mask is None:
            self.builder.store(value.llvm, pointer.llvm, align=align)
            return
        name = f"llvm.masked.store.{_name(value.type)}.p0"
        _masked(self, name, ir.VoidType(), [value.llvm, pointer.llvm, ir.Constant(ir.IntType(32), align), mask.llvm], value.type)

    def prefetch(self, pointer: Value, locality: int = 3) -> None:
        """Bring a cache line near: locality 3 to all levels of the cache, 2 to the second."""
        self.intrinsic("llvm.prefetch.p0", None, [pointer], (0, locality, 1))

    def looked_up(self, table: Value, index: Value, dtype: Dtype) -> Value:
        """Return elements of 32 bits of a table by their numbers, a u32 a lane, less than 2^31."""
        lanes = index.type.lanes
        if lanes == 1:
            return self.load(self.at(table, self.converted(index, "i64"), dtype), dtype)
        if lanes == 16 and self.cpu.vector_bytes == 64:
            zero, every = self.constant(0, "i32", lanes), self.constant(1, "i1", lanes)
            name = "llvm.x86.avx512.mask.gather.dpi.512"
            return self.bits(self.intrinsic(name, Type("i32", lanes), [zero, table, self.bits(index, "i32"), every], (4,)), dtype)
        found = self.constant(0, dtype, lanes).llvm
        for i in range(lanes):
            element = self.looked_up(table, self.lane(index, i), dtype)
            found = self.builder.insert_element(found, element.llvm, ir.Constant(ir.IntType(32), i))
        return Value(self, found, Type(dtype, lanes))

    # ---- elements of memory as numbers to compute with --------------------------------------------------------------------------------

    def read(self, pointer: Value, storage: Dtype, lanes: int = 1, mask: Value | None = None) -> Value:
        """Return elements in the type they are computed in: f16 and bf16 as f32, bool as i1, all others as they are."""
        return self.widened(self.load(pointer, storage, lanes, mask))

    def write(self, value: Value, pointer: Value, storage: Dtype, mask: Value | None = None) -> None:
        """Write elements, rounded to the storage type (to nearest, ties to even) if they are of another."""
        self.store(self.narrowed(value, storage), pointer, mask)

    def widened(self, a: Value) -> Value:
        """Return what memory holds as a type that is computed in."""
        if a.type.dtype == "bf16":
            wide = self.builder.zext(a.llvm, a.type.of("u32").llvm)
            return self.bits(Value(self, wide, a.type.of("u32")) << 16, "f32")
        if a.type.dtype == "f16":
            if not converts_half(self):
                return widened_half(self, self.bits(a, "u16"))
            return Value(self, self.builder.fpext(a.llvm, a.type.of("f32").llvm), a.type.of("f32"))
        return self.compared("!=", Value(self, a.llvm, a.type.of("u8")), 0) if a.type.dtype == "bool" else a

    def narrowed(self, a: Value, storage: Dtype) -> Value:
        """Return a number as memory holds it; a NaN stays a NaN."""
        if storage == a.type.dtype:
            return a
        if storage == "bool":
            truth = self.converted(a, "i1")
            return Value(self, self.builder.zext(truth.llvm, a.type.of("bool").llvm), a.type.of("bool"))
        if storage in ("bf16", "f16"):
            a = a if a.type.dtype == "f32" else self.converted(a, "f32")
        if storage == "f16":
            if not converts_half(self):
                return self.bits(narrowed_half(self, a), "f16")
            return Value(self, self.builder.fptrunc(a.llvm, a.type.of("f16").llvm), a.type.of("f16"))
        if storage != "bf16":
            return self.converted(a, storage)
        bits = self.bits(a, "u32")
        rounded = bits + (((bits >> 16) & 1) + 0x7FFF)
        chosen = self.select(a.differs(a), bits | 0x400000, rounded) >> 16
        return Value(self, self.builder.trunc(chosen.llvm, a.type.of("bf16").llvm), a.type.of("bf16"))

    def rounded(self, a: Value, storage: Dtype) -> Value:
        """Return a number as it would be read again after it was written."""
        return a if storage == a.type.dtype else self.widened(self.narrowed(a, storage))


def _align(dtype: Dtype) -> int:
    return size_bytes(dtype)


def _name(type_: Type) -> str:
    floats = {"f32": "f32", "f64": "f64", "f16": "f16"}
    element = floats.get(type_.dtype) or f"i{8 * size_bytes(type_.dtype)}"
    return f"v{type_.lanes}{element}"


def _masked(f: Instructions, name: str, returned: ir.Type, arguments: list[Any], type_: Type) -> Value:
    function = f.module.globals.get(name)
    if function is None:
        function = ir.Function(f.module, ir.FunctionType(returned, [x.type for x in arguments]), name)
    return Value(f, f.builder.call(function, arguments), type_)

"""What threads need of each other: atomic memory, waiting, and calls through addresses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from ttc.runtime.engines.native.ir.dtypes import Type
from ttc.runtime.engines.native.ir.instructions import Instructions
from ttc.runtime.engines.native.ir.values import Operand, Value

_WORD = Type("i64")


class Atomics(Instructions):
    """What a `Writer` can do with words that several threads change; every access is sequentially consistent."""

    def atomic_add(self, pointer: Value, value: Operand) -> Value:
        """Add to the i64 at a pointer; returns what it was before."""
        return Value(self, self.builder.atomic_rmw("add", pointer.llvm, self.as_type(value, _WORD).llvm, "seq_cst"), _WORD)

    def atomic_load(self, pointer: Value) -> Value:
        """Return the i64 at a pointer, read atomically."""
        return Value(self, self.builder.load_atomic(pointer.llvm, "seq_cst", 8, typ=_WORD.llvm), _WORD)

    def atomic_store(self, value: Operand, pointer: Value) -> None:
        """Set the i64 at a pointer atomically."""
        self.builder.atomic_rmw("xchg", pointer.llvm, self.as_type(value, _WORD).llvm, "seq_cst")

    def pause(self) -> None:
        """Tell the core that this thread waits in a loop."""
        if self.cpu.arch == "x86-64":
            self.intrinsic("llvm.x86.sse2.pause", None, [])
        elif self.cpu.arch == "aarch64":
            self.intrinsic("llvm.aarch64.hint", None, [], (1,))

    def call(self, address: Value, arguments: Sequence[Value], result: Type | None = None) -> Value:
        """Call a C function by its address."""
        returned = ir.VoidType() if result is None else result.llvm
        signature = ir.FunctionType(returned, [x.type.llvm for x in arguments])
        return Value(self, self.builder.call(_Callee(address.llvm, signature), [x.llvm for x in arguments]), result or _WORD)


class _Callee:
    """An address with the type of the function there: llvmlite knows that of functions it has declared alone."""

    def __init__(self, address: Any, signature: ir.FunctionType) -> None:
        self.type = address.type
        self.function_type = signature
        self.get_reference = address.get_reference

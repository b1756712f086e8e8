"""The loop-nest builder: writes one function of LLVM IR.

Kernels use its methods and the operators of values; raw intrinsics go through `intrinsic`.  There is no implicit fast mathematics: a
fused multiply-add is written where it is meant, and NaN and infinities behave as IEEE 754 says.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from llvmlite import ir

from ttc.runtime.engines.native.ir.atomics import Atomics
from ttc.runtime.engines.native.ir.dtypes import Dtype, Type, size_bytes
from ttc.runtime.engines.native.ir.mathematics import Mathematics
from ttc.runtime.engines.native.ir.memory import Memory
from ttc.runtime.engines.native.ir.values import LocalVariable, Operand, Value

if TYPE_CHECKING:
    from ttc.runtime.engines.native.codegen.features import Cpu

_WORD = Type("i64")
_POINTER = Type("ptr")


class Writer(Memory, Atomics, Mathematics):
    """Writes `void name(ptr words, i64 begin, i64 end, ptr scratch)`.

    Args:
        name: of the function.
        cpu: what the code may use.
        module: that the function belongs to, if it is not the first one of its module.

    begin, end: the tasks to compute.  scratch: memory of the thread, 64-byte aligned.  words: address of what the job gives, 8 bytes each.
    """

    def __init__(self, name: str, cpu: Cpu, module: ir.Module | None = None) -> None:
        self.cpu = cpu
        self.module = ir.Module(name) if module is None else module
        signature = ir.FunctionType(ir.VoidType(), [t.llvm for t in (_POINTER, _WORD, _WORD, _POINTER)])
        self.function = ir.Function(self.module, signature, name)
        for attribute in ("nounwind",):
            self.function.attributes.add(attribute)
        entry = self.function.append_basic_block("entry")
        body = self.function.append_basic_block("body")
        self._slots = ir.IRBuilder(entry)
        self._slots.branch(body)
        self._slots.position_before(entry.terminator)
        self.builder = ir.IRBuilder(body)
        words, begin, end, scratch = self.function.args
        self.words = Value(self, words, _POINTER)
        self.begin, self.end = Value(self, begin, _WORD), Value(self, end, _WORD)
        self.scratch = Value(self, scratch, _POINTER)

    def text(self) -> str:
        """The module as text, once all of the function is written."""
        self.builder.ret_void()
        return str(self.module)

    # ---- what the CPU has --------------------------------------------------------------------------------------------------------------

    @property
    def lanes(self) -> int:
        """The elements of float32 in a vector."""
        return max(self.cpu.vector_bytes // 4, 4)

    # ---- parameters of the job ---------------------------------------------------------------------------------------------------------

    def word(self, index: int) -> Value:
        """Return the integer in the word of that name."""
        return self.load(self.at(self.words, index, "i64"), "i64")

    def pointer(self, index: int) -> Value:
        """Return the address in the word of that name."""
        return self.load(self.at(self.words, index, "i64"), "ptr")

    def real(self, index: int) -> Value:
        """Return the float32 in the low half of the word of that name."""
        return self.load(self.at(self.words, index, "i64"), "f32")

    def as_pointer(self, number: Value) -> Value:
        """Return an i64 as an address."""
        return Value(self, self.builder.inttoptr(number.llvm, _POINTER.llvm), _POINTER)

    def as_integer(self, pointer: Value) -> Value:
        """Return an address as an i64."""
        return Value(self, self.builder.ptrtoint(pointer.llvm, _WORD.llvm), _WORD)

    # ---- control -----------------------------------------------------------------------------------------------------------------------

    @contextmanager
    def loop(self, begin: Operand, end: Operand, step: Operand = 1) -> Iterator[Value]:
        """Emit a loop for i in range(begin, end, step), and yield i. Bounds are read once; what changes between rounds is a
        `LocalVariable`.
        """
        index = self.variable(self.as_type(begin, _WORD))
        last, stride = self.as_type(end, _WORD), self.as_type(step, _WORD)
        head, body, after = (self.function.append_basic_block(n) for n in ("loop", "round", "after"))
        self.builder.branch(head)
        self.builder.position_at_end(head)
        i = index.get()
        self.builder.cbranch((i < last).llvm, body, after)
        self.builder.position_at_end(body)
        yield i
        index.set(i + stride)
        self.builder.branch(head)
        self.builder.position_at_end(after)

    @contextmanager
    def while_(self) -> Iterator[Any]:
        """Emit a loop until `stop(condition)` holds, and yield that function, which may be called several times."""
        head, after = (self.function.append_basic_block(n) for n in ("repeat", "after"))
        self.builder.branch(head)
        self.builder.position_at_end(head)

        def stop(condition: Value) -> None:
            go_on = self.function.append_basic_block("on")
            self.builder.cbranch(condition.llvm, after, go_on)
            self.builder.position_at_end(go_on)

        yield stop
        self.builder.branch(head)
        self.builder.position_at_end(after)

    @contextmanager
    def when(self, condition: Value) -> Iterator[None]:
        """Emit the block's code so that it runs only if the scalar condition holds."""
        then, after = self.function.append_basic_block("then"), self.function.append_basic_block("after")
        self.builder.cbranch(condition.llvm, then, after)
        self.builder.position_at_end(then)
        yield
        self.builder.branch(after)
        self.builder.position_at_end(after)

    @contextmanager
    def choice(self, condition: Value) -> Iterator[tuple[Any, Any]]:
        """Yield two branches: `with f.choice(c) as (then, otherwise): with then: ...; with otherwise: ...`."""
        blocks = [self.function.append_basic_block(n) for n in ("then", "otherwise", "after")]
        self.builder.cbranch(condition.llvm, blocks[0], blocks[1])

        @contextmanager
        def branch(block: ir.Block) -> Iterator[None]:
            self.builder.position_at_end(block)
            yield
            self.builder.branch(blocks[2])

        yield branch(blocks[0]), branch(blocks[1])
        self.builder.position_at_end(blocks[2])

    # ---- variables ---------------------------------------------------------------------------------------------------------------------

    def variable(self, value: Value) -> LocalVariable:
        """Return a variable with a first value."""
        found = LocalVariable(self, self._slots.alloca(value.type.llvm), value.type)
        found.set(value)
        return found

    def static_array(self, dtype: Dtype, count: int) -> Value:
        """Return the address of memory in the frame, of so many elements, 64-byte aligned; for small tables only."""
        slot = self._slots.alloca(ir.ArrayType(ir.IntType(8), count * size_bytes(dtype)))
        slot.align = 64  # pyright: ignore[reportAttributeAccessIssue]
        number = self._slots.ptrtoint(slot, _WORD.llvm)  # llvmlite takes a pointer to an array for one that holds nothing else
        return Value(self, self._slots.inttoptr(number, _POINTER.llvm), _POINTER)

"""Products of bfloat16 pairs: the one instruction whose operand type llvmlite does not know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llvmlite import ir

from ttc.runtime.engines.native.ir.values import Value

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.writer import Writer

_WIDTHS = {4: "128", 8: "256", 16: "512"}


class _Bfloat(ir.Type):
    """LLVM's type `bfloat`, which llvmlite lacks."""

    def _to_string(self) -> str:
        return "bfloat"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Bfloat)

    def __hash__(self) -> int:
        return hash(_Bfloat)


def dot_pairs(f: Writer, total: Value, a: Value, b: Value) -> Value:
    """Return total + a0 * b0 + a1 * b1 a lane, where a lane (u32) of a and b holds two bfloat16, low half first.

    Needs feature `avx512bf16`.  Denormal operands and results count as zero, sums are rounded to nearest even (Intel SDM, VDPBF16PS).
    """
    lanes = total.type.lanes
    pairs = ir.VectorType(_Bfloat(), 2 * lanes)
    name = f"llvm.x86.avx512bf16.dpbf16ps.{_WIDTHS[lanes]}"
    arguments = [total.llvm, *(f.builder.bitcast(x.llvm, pairs) for x in (a, b))]
    function = f.module.globals.get(name)
    if function is None:
        function = ir.Function(f.module, ir.FunctionType(total.type.llvm, [x.type for x in arguments]), name)
    return Value(f, f.builder.call(function, arguments), total.type)

"""Exact sums of products of 16-bit integers: the instructions that add two of them a lane."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ttc.runtime.engines.native.ir.dtypes import Type
from ttc.runtime.engines.native.ir.values import Value

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.writer import Writer

_VNNI = {4: "128", 8: "256", 16: "512"}
_MULTIPLY_ADD = {4: "sse2.pmadd.wd", 8: "avx2.pmadd.wd", 16: "avx512.pmaddw.d.512"}


def add_products(f: Writer, total: Value, a: Value, b: Value) -> Value:
    """total + a0 * b0 + a1 * b1 a lane, modulo 2^32.

    Args: total: i32, of as many lanes as a vector has.  a, b: i16, twice as many: those of lane i are at 2 i and 2 i + 1.

    Source: Intel SDM, VPDPWSSD and VPMADDWD: neither saturates; of the latter, two products of -2^15 by itself wrap, as the sum does.
    """
    lanes = total.type.lanes
    if _has_dot(f, lanes):
        return f.intrinsic(f"llvm.x86.avx512.vpdpwssd.{_VNNI[lanes]}", total.type, [total, a, b])
    if f.cpu.arch == "x86-64" and f.cpu.vector_bytes >= 4 * lanes and lanes in _MULTIPLY_ADD:
        return total + f.intrinsic(f"llvm.x86.{_MULTIPLY_ADD[lanes]}", Type("i32", lanes), [a, b])
    products = f.converted(a, "i32") * f.converted(b, "i32")
    even, odd = (f.shuffled(products, products, range(first, 2 * lanes, 2)) for first in (0, 1))
    return total + even + odd


def pairs(f: Writer, words: Value) -> Value:
    """Lanes of 32 bits as twice as many i16."""
    type_ = Type("i16", 2 * words.type.lanes)
    return Value(f, f.builder.bitcast(words.llvm, type_.llvm), type_)


def _has_dot(f: Writer, lanes: int) -> bool:
    if lanes == 16:
        return f.cpu.vector_bytes == 64 and f.cpu.has("avx512vnni")
    return lanes in _VNNI and (f.cpu.has("avxvnni") or f.cpu.has("avx512vnni", "avx512vl"))

"""Exact sums of products of 16-bit integers: the instructions that add two of them a lane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.ir.dtypes import Dtype, Type
from ttc.runtime.engines.native.ir.values import Value

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.writer import Writer

_VNNI = {4: "128", 8: "256", 16: "512"}
_MULTIPLY_ADD = {4: "sse2.pmadd.wd", 8: "avx2.pmadd.wd", 16: "avx512.pmaddw.d.512"}


def pairs_a_round(f: Writer) -> int:
    """Neighbouring pairs for each call of `add_pairs`: one where LLVM would take chains of the instruction that adds apart again."""
    return 4 if _is_ordered(f) else 1


def add_pairs(
    f: Writer, totals: Sequence[Sequence[Value]], rows: Sequence[Value], k: Value, panel: Value, stored: Dtype, count: int
) -> list[list[Value]]:
    """For each row and each vector of the panel, total + the products of `count` neighbouring pairs of channels.

    Args:
        totals: by row, i32, of as many lanes as a vector has.
        rows: addresses of rows of pairs of i16; k: the number of the first pair in them.
        panel: address of what they are multiplied with: for each pair, vectors of pairs.
        stored: as what these lie there, i8 or i16.
    """
    lanes, width = totals[0][0].type.lanes, len(totals[0])
    if _is_ordered(f):
        return _in_order(f, totals, rows, k, panel, stored, count)
    found = [list(row) for row in totals]
    for i in range(count):
        places = [f.at(panel, (i * width + v) * 2 * lanes, stored) for v in range(width)]
        right = [f.converted(f.load(place, stored, 2 * lanes), "i16") for place in places]
        for r, row in enumerate(rows):
            left = pairs(f, f.spread(f.load(f.at(row, k + i, "i32"), "i32"), lanes))
            found[r] = [add_products(f, total, left, b) for total, b in zip(found[r], right, strict=True)]
    return found


def _is_ordered(f: Writer) -> bool:
    return f.cpu.arch == "x86-64" and f.cpu.vector_bytes == 32 and not _has_dot(f, 8)


def _in_order(
    f: Writer, totals: Sequence[Sequence[Value]], rows: Sequence[Value], k: Value, panel: Value, stored: Dtype, count: int
) -> list[list[Value]]:
    """The same in assembly, which keeps an order that LLVM does not: all products of a row, then their sums, and no loads ahead.

    Measured on a core of AMD Zen 3, 128 x 768 x 3072: 119 GFLOP/s as LLVM orders it, 128 so; products of float32 reach 89.
    """
    height, width = len(totals), len(totals[0])
    sums = height * width
    right, products = range(sums, sums + width), range(sums + width, sums + 2 * width)
    addresses, first, panel_place = range(products.stop, products.stop + height), products.stop + height, products.stop + height + 1
    load, size = ("vpmovsxbw", 16) if stored == "i8" else ("vmovdqu", 32)
    lines: list[str] = []
    for i in range(count):
        lines += [f"{load} {(i * width + v) * size}(${panel_place}), ${place}" for v, place in enumerate(right)]
        for r, address in enumerate(addresses):
            left = products[-1]
            lines.append(f"vpbroadcastd {4 * i}(${address},${first},4), ${left}")
            lines += [f"vpmaddwd ${b}, ${left}, ${product}" for b, product in zip(right, products, strict=True)]
            lines += [f"vpaddd ${product}, ${r * width + v}, ${r * width + v}" for v, product in enumerate(products)]
    constraints = ["=&x"] * products.stop + ["r"] * (height + 2) + [str(i) for i in range(sums)]
    flat = [total for row in totals for total in row]
    found = f.assembly("\n".join(lines), constraints, [flat[0].type] * products.stop, [*rows, k, panel, *flat])
    return [found[start : start + width] for start in range(0, sums, width)]


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

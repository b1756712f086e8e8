"""Exact sums of products of 16-bit integers: the instructions that add two of them a lane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.ir.dtypes import Dtype, Type
from ttc.runtime.engines.native.ir.values import Value

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.writer import Writer

_MULTIPLY_ADD = {4: "sse2.pmadd.wd", 8: "avx2.pmadd.wd", 16: "avx512.pmaddw.d.512"}


def pairs_a_round(f: Writer) -> int:
    """Return how many neighbouring pairs each call of `add_pairs` should add."""
    return 4 if adds_in_order(f) else 1


def add_pairs(
    f: Writer, totals: Sequence[Sequence[Value]], rows: Sequence[Value], k: Value, panel: Value, stored: Dtype, count: int
) -> list[list[Value]]:
    """Return, for each row and vector of the panel, total + the products of `count` neighbouring pairs of channels.

    Args:
        totals: by row, i32, of as many lanes as a vector has.
        rows: addresses of rows of pairs of i16; k: the number of the first pair in them.
        panel: address of what they are multiplied with: for each pair, vectors of pairs.
        stored: as what these lie there, i8 or i16.
    """
    lanes, width = totals[0][0].type.lanes, len(totals[0])
    if adds_in_order(f):
        return _in_order(f, totals, rows, k, panel, stored, count)
    found = [list(row) for row in totals]
    for i in range(count):
        places = [f.at(panel, (i * width + v) * 2 * lanes, stored) for v in range(width)]
        right = [f.converted(f.load(place, stored, 2 * lanes), "i16") for place in places]
        for r, row in enumerate(rows):
            left = pairs(f, f.spread(f.load(f.at(row, k + i, "i32"), "i32"), lanes))
            found[r] = [add_products(f, total, left, b) for total, b in zip(found[r], right, strict=True)]
    return found


def adds_in_order(f: Writer) -> bool:
    """Return whether products are added by an instruction of their own, in vectors of 32 bytes: the order of multiplying and adding then
    counts.
    """
    return f.cpu.arch == "x86-64" and f.cpu.vector_bytes == 32 and not _has_dot(f, 8)


@dataclass(frozen=True)
class Places:
    """The numbers of assembly's operands: sums of each row, vectors of the right operand and of products, rows' addresses, their first
    pair, the panel.

    The last vector of products holds the left operand before.
    """

    sums: tuple[range, ...]
    right: range
    products: range
    rows: range
    word: int
    panel: int

    @staticmethod
    def of(height: int, width: int) -> Places:
        """Return the places for so many rows and vectors."""
        end = height * width
        sums = tuple(range(start, start + width) for start in range(0, end, width))
        right, products = range(end, end + width), range(end + width, end + 2 * width)
        rows = range(products.stop, products.stop + height)
        return Places(sums, right, products, rows, rows.stop, rows.stop + 1)

    def pair(self, number: int, stored: Dtype, *, adds: bool = True) -> list[str]:
        """Return lines for a pair of channels: products of a row, then their sums, if it adds any.  number: of the pair, behind the
        first.
        """
        load, size = ("vpmovsxbw", 16) if stored == "i8" else ("vmovdqu", 32)
        width, left = len(self.right), self.products[-1]
        lines = [f"{load} {(number * width + v) * size}(${self.panel}), ${place}" for v, place in enumerate(self.right)]
        for row, sums in zip(self.rows, self.sums, strict=True):
            lines.append(f"vpbroadcastd {4 * number}(${row},${self.word},4), ${left}")
            found = self.products if adds else sums
            lines += [f"vpmaddwd ${b}, ${left}, ${place}" for b, place in zip(self.right, found, strict=True)]
            lines += [f"vpaddd ${place}, ${total}, ${total}" for place, total in zip(found, sums, strict=True) if adds]
        return lines


def _in_order(
    f: Writer, totals: Sequence[Sequence[Value]], rows: Sequence[Value], k: Value, panel: Value, stored: Dtype, count: int
) -> list[list[Value]]:
    """Add products in assembly, which keeps an order that LLVM does not: all products of a row, then their sums, and no loads ahead.

    Measured on a core of AMD Zen 3, 128 x 768 x 3072: 119 GFLOP/s as LLVM orders it, 128 so; products of float32 reach 89.
    """
    places = Places.of(len(totals), len(totals[0]))
    flat = [total for row in totals for total in row]
    lines = [line for i in range(count) for line in places.pair(i, stored)]
    constraints = ["=&x"] * places.products.stop + ["r"] * (len(rows) + 2) + [str(i) for i in range(len(flat))]
    types = [flat[0].type] * places.products.stop
    found = f.assembly("\n".join(lines), constraints, types, [*rows, k, panel, *flat])
    return [[found[i] for i in row] for row in places.sums]


def add_products(f: Writer, total: Value, a: Value, b: Value) -> Value:
    """Return total + a0 * b0 + a1 * b1 a lane, modulo 2^32.

    Args: total: i32, of as many lanes as a vector has.  a, b: i16, twice as many: those of lane i are at 2 i and 2 i + 1.

    Source: Intel SDM, VPDPWSSD and VPMADDWD: neither saturates; of the latter, two products of -2^15 by itself wrap, as the sum does.
    """
    lanes = total.type.lanes
    if _has_dot(f, lanes):
        return _dot(f, total, a, b)
    if f.cpu.arch == "x86-64" and f.cpu.vector_bytes >= 4 * lanes and lanes in _MULTIPLY_ADD:
        return total + f.intrinsic(f"llvm.x86.{_MULTIPLY_ADD[lanes]}", Type("i32", lanes), [a, b])
    products = f.converted(a, "i32") * f.converted(b, "i32")
    even, odd = (f.shuffled(products, products, range(first, 2 * lanes, 2)) for first in (0, 1))
    return total + even + odd


def _dot(f: Writer, total: Value, a: Value, b: Value) -> Value:
    """VPDPWSSD, in assembly: LLVM takes many a one apart, into a product and a sum, in the belief that this is faster."""
    prefix, register = ("", "v") if total.type.lanes == 16 or f.cpu.has("avx512vnni", "avx512vl") else ("{vex} ", "x")
    return f.assembly(f"{prefix}vpdpwssd $2, $1, $0", [f"={register}", register, register, "0"], [total.type], [a, b, total])[0]


def pairs(f: Writer, words: Value) -> Value:
    """Return lanes of 32 bits as twice as many i16."""
    type_ = Type("i16", 2 * words.type.lanes)
    return Value(f, f.builder.bitcast(words.llvm, type_.llvm), type_)


def _has_dot(f: Writer, lanes: int) -> bool:
    if lanes == 16:
        return f.cpu.vector_bytes == 64 and f.cpu.has("avx512vnni")
    return lanes in _MULTIPLY_ADD and (f.cpu.has("avxvnni") or f.cpu.has("avx512vnni", "avx512vl"))

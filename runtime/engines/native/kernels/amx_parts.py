"""Numbers as sums of bfloat16: what products in tiles are made of.

A float32 a is a1 + a2 + a3 exactly, each a bfloat16: a1 is a rounded, a2 what is left rounded, a3 the rest.  Of the nine products of two
such sums, those are added up whose numbers of parts count:

    1 part   a1 b1                                         8 bits of each operand
    2 parts  a1 b1 + a1 b2 + a2 b1                         products to about 2^-16
    3 parts  the former + a2 b2 + a1 b3 + a3 b1            products to about 2^-24: as exact as float32

Source: G. Henry, P. T. P. Tang, A. Heinecke, "Leveraging the bfloat16 Artificial Intelligence Datatype For Higher-Precision
Computations", 2019.

Where numbers are too large (infinities, NaN, what rounds to an infinity) or so small that products of parts would be denormal, which the
CPU takes for zero, this is not so.  Rows of the left and panels of the right operand in which the largest magnitude (of a row; of any
column) is not between `LEAST` and `MOST` are therefore kept as they are, upper and lower halves of float32 in the place of the first two
parts, and marked: products with them are computed in float32 (`amx_exact`).  Within these bounds no sum of fewer than 2^30 products
overflows, and what a product loses for being small is about 2^-30 of that of the largest numbers of its row and column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer

DEPTH = 32
"""The channels that one tile holds."""
HEADER_BYTES = 64
"""The bytes of the mark (u32) before the parts of a row, and before a panel: 0 if these are sums of parts."""
LANES = 16
PRODUCTS: dict[int, tuple[tuple[int, int], ...]] = {
    1: ((0, 0),),
    2: ((0, 1), (0, 0), (1, 0)),
    3: ((0, 2), (0, 1), (1, 1), (1, 0), (2, 0), (0, 0)),
}
"""The parts that are multiplied, by number of parts, in such an order that each product shares a part with the one before."""

MOST, LEAST = (127 + 48) << 23, (127 - 48) << 23
"""The bounds of magnitudes that are sums of parts: the patterns of 2^48 and 2^-48 as float32."""


def split(f: Writer, x: Value, parts: int) -> list[Value]:
    """Return patterns (u32, of which the low halves count) of the parts of a vector of float32, each rounded to nearest, ties away from
    zero.
    """
    found: list[Value] = []
    for _ in range(parts):
        near = f.bits(x, "u32") + 0x8000
        found.append(near >> 16)
        x = x - f.bits(near & 0xFFFF0000, "f32")
    return found


def halves(f: Writer, x: Value, parts: int) -> list[Value]:
    """Return what stands in the place of parts where there are none: upper and lower halves (u32, of which the low halves count), and
    zeros.
    """
    bits = f.bits(x, "u32")
    return [bits >> 16, bits & 0xFFFF, f.constant(0, "u32", x.type.lanes)][:parts]


def joined(f: Writer, parts: Sequence[Value], raw: Value) -> Value:
    """Return the float32 that parts were made of, from patterns in the low halves of u32; of two parts, as precisely as these have it.

    raw: whether they are `halves`, a truth value.
    """
    total = f.bits(parts[-1] << 16, "f32")
    for part in reversed(parts[:-1]):
        total = total + f.bits(part << 16, "f32")
    return f.select(raw, f.bits((parts[0] << 16) | parts[1], "f32"), total)


def mark(f: Writer, largest: Value) -> Value:
    """Return 1 (u32) if any lane of a vector of largest magnitudes is neither 0 nor between LEAST and MOST."""
    wild = (largest > MOST) | ((largest < LEAST) & largest.differs(0))
    return f.folded("larger", f.select(wild, f.constant(1, "u32", largest.type.lanes), f.constant(0, "u32", largest.type.lanes)))

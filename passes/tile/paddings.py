"""What lies in the padding of tiles, as far as ops of the Buda vocabulary say.

A matrix of R x C elements fills whole tiles; the rows and columns beyond it are padding.  Buda's ops compute on all of a tile, so what the
padding holds decides whether a sum or a maximum over it is right.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from xdsl.ir import SSAValue

from ttc.dialects.tile.base import Tile, tile_of
from ttc.dialects.tile.shape import BroadcastOp
from ttc.passes.tile_to_netlist.grouping import is_literal


class Fill(IntEnum):
    """What padding along one dimension holds, from what serves best to what serves least.

    ZERO: zeros, or there is no padding.  LOOSE: some numbers.  WILD: numbers that may be infinite or none at all.
    """

    ZERO = 0
    LOOSE = 1
    WILD = 2


class Padding(NamedTuple):
    """What the padding of a value's matrices holds, in its rows and in its columns."""

    rows: Fill
    columns: Fill


CLEAN = Padding(Fill.ZERO, Fill.ZERO)
KEEPING_ZERO = frozenset(
    {"abs", "add", "clip", "gelu", "gelu_tanh", "identity", "leaky_relu", "maximum", "mul", "relu", "sin", "sqrt", "sub", "tanh"}
)
"""Functions whose result is 0 where all operands are 0."""
UNBOUNDED = frozenset({"exp", "log", "reciprocal"})
"""Functions whose values may be out of range where their operand is any number."""


def is_matrix_of_one_number(value: SSAValue) -> bool:
    """Return whether a value is a literal number, broadcast to a shape: zero beyond it."""
    owner = value.owner
    return isinstance(owner, BroadcastOp) and is_number(owner.x)


def is_number(value: SSAValue) -> bool:
    """Return whether a value is a literal of one element, which fills a tile."""
    return is_literal(value.owner) and tile_of(value).elements == 1


def padded(tile: Tile, padding: Padding) -> Padding:
    """Return the padding of a tile, ZERO along dimensions that fill their tiles."""
    height, width = tile.tile or (1, 1)
    _, rows, columns = tile.matrix()
    return Padding(padding.rows if rows % height else Fill.ZERO, padding.columns if columns % width else Fill.ZERO)


def after_function(fn: str, fills: Sequence[Fill]) -> Fill:
    """Return what padding along one dimension holds after an elementwise function of operands with such fills; a product with zero is
    zero.
    """
    if fn == "mul" and Fill.ZERO in fills:
        return Fill.ZERO
    worst = max(fills)
    if worst == Fill.ZERO:
        return Fill.ZERO if fn in KEEPING_ZERO else Fill.LOOSE
    return Fill.WILD if worst == Fill.WILD or fn in UNBOUNDED else Fill.LOOSE


def worst(paddings: Sequence[Padding]) -> Padding:
    """Return the fill that holds for all of several values, laid on each other."""
    return Padding(max(p.rows for p in paddings), max(p.columns for p in paddings))


def reordered(source: Tile, result: Tile, padding: Padding) -> Padding:
    """Return the padding after a view that keeps the order of elements: matrices of the same size keep theirs."""
    same = source.matrix()[1:] == result.matrix()[1:]
    return padding if same else Padding(max(padding.rows, Fill.LOOSE), max(padding.columns, Fill.LOOSE))

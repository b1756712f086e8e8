"""Facts of pieces of several tensors in turn."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.dialects.core.shapes import Shape
from ttc.dialects.tile.facts.base import INT, INTS, STR, Ints, Role, fact, optional

_BLOCKS = dict.fromkeys(("grid", "mblock", "block"), optional(INTS))

MAX_UNITS = 1 << 22
"""Bound on the pieces of a splice."""


@record
class Pieces:
    """Which units a splice takes of its operands, one operand after the other.

    Args:    numbers: index, length and stride of each operand: a turn drops `index` units of it, takes `length`, and drops the rest of
             `stride`.
    """

    numbers: tuple[int, ...]

    def taken(self, available: Sequence[int], units: int) -> list[tuple[int, int, int]]:
        """Yield every step as (operand, first unit, how many).

        Args:    available: units of each operand.  units: of the result.
        Raises:  E0402 if the steps do not use up the operands as they fill the result.
        """
        steps: list[tuple[int, int, int]] = []
        specs = [self.numbers[3 * i : 3 * i + 3] for i in range(len(available))]
        if not specs or any(index < 0 or not 0 < length <= stride for index, length, stride in specs) or units > MAX_UNITS:
            raise Error("E0402", f"pieces {list(self.numbers)} are not an index, a length and a stride of at least that for each operand")
        at, filled = [0] * len(specs), 0
        while filled < units:
            for i, (index, length, stride) in enumerate(specs):
                steps.append((i, at[i] + index, length))
                at[i] += index + stride
                filled += length
        if filled != units or at != list(available):
            raise Error("E0402", f"pieces {list(self.numbers)} use {at} of {list(available)} units and fill {filled} of {units}")
        return steps


@fact(Role.MOVEMENT, {"pieces": INTS, "units": INT, "granularity": STR, **_BLOCKS, "order": optional(STR)}, rearranges=True)
def splice(
    *xs: Shape,
    pieces: Ints,
    units: int,
    granularity: str,
    grid: Ints = (1, 1),
    mblock: Ints = (1, 1),
    block: Ints = (1, 1),
    order: str = "r",
) -> Shape:
    """Return [units, rows, columns], or [t, rows, columns] of the blocks.  Raises E0401, E0402."""
    if granularity not in ("t", "ublock") or order not in ("r", "c"):
        raise Error("E0402", f"there is no splice of granularity '{granularity}' in order '{order}'")
    if not xs or any(len(x) != 3 for x in xs) or len(pieces) != 3 * len(xs):
        raise Error("E0401", f"a splice with pieces {list(pieces)} does not take {', '.join(str(list(x)) for x in xs)}")
    if granularity == "t":
        if len({x[1:] for x in xs}) != 1:
            raise Error("E0401", f"matrices of {', '.join(str(list(x[1:])) for x in xs)} cannot be spliced")
        Pieces(pieces).taken([x[0] for x in xs], units)
        return (units, *xs[0][1:])
    sides = (*grid, *mblock, *block)
    if len(sides) != 6 or min(sides) < 1 or units != prod(mblock):
        raise Error("E0402", f"{units} blocks of {list(block)} do not fill {list(mblock)} on a grid of {list(grid)}")
    share = (grid[0] * block[0], grid[1] * block[1])
    if any(x[0] != xs[0][0] or x[1] % share[0] or x[2] % share[1] for x in xs):
        raise Error("E0401", f"{', '.join(str(list(x)) for x in xs)} cannot be cut into blocks of {list(block)}")
    Pieces(pieces).taken([x[1] // share[0] * (x[2] // share[1]) for x in xs], units)
    return (xs[0][0], share[0] * mblock[0], share[1] * mblock[1])

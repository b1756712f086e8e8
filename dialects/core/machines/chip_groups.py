"""Chips that divide the tensors of layers: which chip has which part, so that data takes few steps between them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

from ttc.dialects.core.machines.chip_rows import near_chips
from ttc.dialects.core.machines.targets import Target
from ttc.dialects.core.machines.ways import ways_from
from ttc.dialects.core.records import record

SUMS, GATHERS, CROSSINGS = 2, 1, 3
"""How often a layer of a transformer adds up sums over columns, gathers rows, and goes on to the next group of chips."""


@record
class ChipGroups:
    """How chips divide the tensors of layers.

    Args:
        groups: of chips; each divides all tensors, and they take epochs in turn.
        rows: how many parts of the rows there are.  The chips of a group that have the same rows stand together, and divide columns.
    """

    groups: tuple[tuple[int, ...], ...]
    rows: int = 1

    @property
    def chips(self) -> tuple[int, ...]:
        """All of them, one group after another."""
        return tuple(chip for group in self.groups for chip in group)

    @property
    def columns(self) -> int:
        """How many chips divide the columns of the same rows."""
        return len(self.groups[0]) // self.rows


def near_groups(target: Target, chips: Sequence[int], groups: int, rows: int) -> ChipGroups:
    """Return so many groups of all of some chips, in each of which as many parts of the rows stand, with few steps between its chips.

    From orders of the chips along their numbers, and from chips near each other, pairs of places are exchanged as long as that saves steps.
    """
    columns = len(chips) // (groups * rows)
    steps = {(a, b): len(way) for a in chips for b, way in ways_from(target.links, a).items()}
    far = len(chips) + 1
    shape = (groups, rows, columns)
    best: tuple[int, list[int]] | None = None
    for start in [*(_laid(sorted(chips), shape, order) for order in permutations(range(3))), _near(target, chips, columns)]:
        found = _improved(start, shape, steps, far)
        if best is None or found[0] < best[0]:
            best = found
    order = list(chips) if best is None else best[1]
    size = rows * columns
    return ChipGroups(tuple(tuple(order[begin : begin + size]) for begin in range(0, len(order), size)), rows)


def _near(target: Target, chips: Sequence[int], count: int) -> list[int]:
    """Return the chips in parts of so many that are near each other."""
    left, found = sorted(chips), list[int]()
    while left:
        part = sorted(near_chips(target, left, count))
        found += part
        left = [chip for chip in left if chip not in part]
    return found


def _laid(chips: Sequence[int], shape: tuple[int, int, int], order: Sequence[int]) -> list[int]:
    """Return the chips by group, row and column, if they are numbered along these dimensions in another order, the last one fastest."""
    strides, stride = [0, 0, 0], 1
    for dim in reversed(order):
        strides[dim], stride = stride, stride * shape[dim]
    places = ((g, r, c) for g in range(shape[0]) for r in range(shape[1]) for c in range(shape[2]))
    return [chips[sum(at * step for at, step in zip(place, strides, strict=True))] for place in places]


def _improved(chips: list[int], shape: tuple[int, int, int], steps: dict[tuple[int, int], int], far: int) -> tuple[int, list[int]]:
    """Return the steps of a layer, and chips in an order in which no exchange of two saves any."""
    cost = _steps(chips, shape, steps, far)
    better = True
    while better:
        better = False
        for a in range(len(chips)):
            for b in range(a + 1, len(chips)):
                chips[a], chips[b] = chips[b], chips[a]
                found = _steps(chips, shape, steps, far)
                if found < cost:
                    cost, better = found, True
                else:
                    chips[a], chips[b] = chips[b], chips[a]
    return cost, chips


def _steps(chips: Sequence[int], shape: tuple[int, int, int], steps: dict[tuple[int, int], int], far: int) -> int:
    """Return the steps that data takes in as many layers as there are groups."""
    groups, rows, columns = shape
    size = rows * columns
    total = 0
    for g in range(groups):
        group = chips[g * size : (g + 1) * size]
        following = chips[(g + 1) % groups * size :][:size]
        total += SUMS * max(_farthest(group[r * columns : (r + 1) * columns], steps, far) for r in range(rows))
        total += GATHERS * max(_farthest(group[c::columns], steps, far) for c in range(columns))
        total += CROSSINGS * max(steps.get(pair, far) for pair in zip(group, following, strict=True))
    return total


def _farthest(chips: Sequence[int], steps: dict[tuple[int, int], int], far: int) -> int:
    """Return the most steps between two of some chips."""
    return max((steps.get((a, b), far) for a in chips for b in chips), default=0)

"""One op while chips are given parts of it: what rules of sharding ask."""

from __future__ import annotations

from dataclasses import field

from ttc.dialects.core.plain.functions import Plain, Work
from ttc.dialects.core.records import record

Dim = int | None
TILE = 32
"""Rows and columns of a tile: sums are scattered where every chip gets whole tiles, and so are parts that are not equal."""


def part_size(size: int, chips: int) -> int:
    """Return how much of a dimension a chip has: an equal part, or else whole tiles, of which the last chip's are filled up."""
    return size // chips if size % chips == 0 else -(-size // (TILE * chips)) * TILE


@record
class Division:
    """How chips divide an op.

    Args:
        operands: the dimension of each that is divided; None: every chip has all of it.
        results: the same.
        attrs: what changes of the op's attributes for the part of a chip.
        partial: whether the chips' results have to be added; the third operand, a bias, is added behind that.
        starts: whether operands that every chip has give results that are divided: a choice, which may be taken back.
        filled: whether parts of dimensions that the chips do not divide are filled up.
    """

    operands: tuple[Dim, ...]
    results: tuple[Dim, ...]
    attrs: dict[str, Plain] = field(default_factory=dict)
    partial: bool = False
    starts: bool = False
    filled: bool = False


@record
class DividedOp:
    """An op, and how its operands are divided where they come from.

    Args:
        work: the op for all chips.
        shapes: of the operands; empty where one is absent.
        splits: the dimension of each that is divided.
        constants: whether each is a constant, which can be stored in parts.
        variables: whether each is a variable that nothing else reads, which can be kept in parts.
        chips: how many divide it.
        may_start: whether the op may divide what all have.
        by_rows: whether it then divides the rows that it works on, instead of the columns of a weight.
        fills: whether the last chip's part may be filled up, so that parts are equal.
    """

    work: Work
    shapes: tuple[tuple[int, ...], ...]
    splits: tuple[Dim, ...]
    constants: tuple[bool, ...]
    variables: tuple[bool, ...]
    chips: int
    may_start: bool
    by_rows: bool = False
    fills: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the first result."""
        return self.work.results[0].shape

    def has(self, index: int) -> bool:
        """Return whether an operand is present."""
        return index < len(self.work.operands) and self.work.operands[index] is not None

    def divides(self, size: int) -> bool:
        """Return whether each chip can have as much of a dimension; rows are filled up for that."""
        return self.are_equal(size) or (self.by_rows and self.can_fill(size))

    def are_equal(self, size: int) -> bool:
        """Return whether each chip has as much of a dimension as it is."""
        return size % self.chips == 0 and size >= self.chips

    def can_fill(self, size: int) -> bool:
        """Return whether each chip can have whole tiles of a dimension, the last one some that are filled up."""
        return self.fills and part_size(size, self.chips) * (self.chips - 1) < size

    def rows(self) -> Division | None:
        """Return a start that divides the rows of the first operand, all else being every chip's; None where chips do not divide them."""
        dim = len(self.shape) - 2
        if dim < 0 or self.shapes[0][-2:-1] != self.shape[-2:-1] or not self.divides(self.shape[dim]):
            return None
        others = (None,) * (len(self.shapes) - 1)
        return Division((len(self.shapes[0]) - 2, *others), (dim,), starts=True)

    def alongside(self, index: int, from_end: int) -> Dim:
        """Return the dimension of an operand that meets one of the result, counted from the end; None where it is of size 1 or absent."""
        shape = self.shapes[index]
        place = len(shape) + from_end
        return place if place >= 0 and shape[place] != 1 else None

"""One op while chips are given parts of it: what rules of sharding ask."""

from __future__ import annotations

from dataclasses import field

from ttc.dialects.core.plain.functions import Plain, Work
from ttc.dialects.core.records import record

Dim = int | None


@record
class Division:
    """How chips divide an op.

    Args:
        operands: the dimension of each that is divided; None: every chip has all of it.
        results: the same.
        attrs: what changes of the op's attributes for the part of a chip.
        partial: whether the chips' results have to be added; the third operand, a bias, is added behind that.
        starts: whether operands that every chip has give results that are divided: a choice, which may be taken back.
    """

    operands: tuple[Dim, ...]
    results: tuple[Dim, ...]
    attrs: dict[str, Plain] = field(default_factory=dict)
    partial: bool = False
    starts: bool = False


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
    """

    work: Work
    shapes: tuple[tuple[int, ...], ...]
    splits: tuple[Dim, ...]
    constants: tuple[bool, ...]
    variables: tuple[bool, ...]
    chips: int
    may_start: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the first result."""
        return self.work.results[0].shape

    def has(self, index: int) -> bool:
        """Return whether an operand is present."""
        return index < len(self.work.operands) and self.work.operands[index] is not None

    def divides(self, size: int) -> bool:
        """Return whether each chip can have as much of a dimension."""
        return size % self.chips == 0 and size >= self.chips

    def alongside(self, index: int, from_end: int) -> Dim:
        """Return the dimension of an operand that meets one of the result, counted from the end; None where it is of size 1 or absent."""
        shape = self.shapes[index]
        place = len(shape) + from_end
        return place if place >= 0 and shape[place] != 1 else None

"""Regions of ops: what combines two elements, or says which of two comes first."""

from __future__ import annotations

import numpy as np

from ttc.exporters.stablehlo.literals import tensor_text

NAMES = ("lhs", "rhs", "lhs_place", "rhs_place", *(f"step_{number}" for number in range(16)))
"""Names of values inside of regions, which no value around them may have."""
BIT = tensor_text((), np.dtype(bool))


class ScalarRegion:
    """Lines of a region of scalars while they are written.

    Args:
        arguments: their types by name.
    """

    def __init__(self, **arguments: str) -> None:
        self._types = dict(arguments)
        self.lines = [f"^bb0({', '.join(f'%{name}: {kind}' for name, kind in arguments.items())}):"]

    def make(self, op: str, *names: str, kind: str | None = None, attrs: str = "") -> str:
        """Write an op of values by name; returns the name of its result, which is of the first one's type if no other is given."""
        result = f"step_{len(self.lines) - 1}"
        self._types[result] = kind or self._types[names[0]]
        self.lines.append(
            f'  %{result} = "stablehlo.{op}"{self._operands(names)}{attrs} : {self._signature(names)} -> {self._types[result]}'
        )
        return result

    def compare(self, direction: str, left: str, right: str) -> str:
        """Write a comparison: `LT`, `EQ`."""
        return self.make(
            "compare", left, right, kind=BIT, attrs=f" {{comparison_direction = #stablehlo<comparison_direction {direction}>}}"
        )

    def done(self, *names: str) -> list[str]:
        """Write the end, which gives values by name; returns all lines."""
        return [*self.lines, f'  "stablehlo.return"{self._operands(names)} : {self._signature(names)} -> ()']

    @staticmethod
    def _operands(names: tuple[str, ...]) -> str:
        return f"({', '.join(f'%{name}' for name in names)})"

    def _signature(self, names: tuple[str, ...]) -> str:
        return f"({', '.join(self._types[name] for name in names)})"


def combining(op: str | None, dtype: np.dtype) -> list[str]:
    """Return a region that combines two elements by an op; without one the second stays."""
    scalar = tensor_text((), dtype)
    region = ScalarRegion(lhs=scalar, rhs=scalar)
    return region.done("rhs" if op is None else region.make(op, "lhs", "rhs"))


def extreme(dtype: np.dtype, places: np.dtype, *, largest: bool, last: bool) -> list[str]:
    """Return a region that chooses the larger or smaller of two elements with places; one that is no number wins.

    Args:
        last: of equal ones that at the later place, not at the earlier.
    """
    scalar, index = tensor_text((), dtype), tensor_text((), places)
    region = ScalarRegion(lhs=scalar, lhs_place=index, rhs=scalar, rhs_place=index)
    wins, same = region.compare("GT" if largest else "LT", "lhs", "rhs"), region.compare("EQ", "lhs", "rhs")
    if not _is_whole(dtype):
        odd, other = region.compare("NE", "lhs", "lhs"), region.compare("NE", "rhs", "rhs")
        same = region.make("or", same, region.make("and", odd, other))
        wins = region.make("or", wins, odd)
    near = region.compare("GT" if last else "LT", "lhs_place", "rhs_place")
    first = region.make("select", same, near, wins, kind=BIT)
    return region.done(
        *(region.make("select", first, f"lhs{end}", f"rhs{end}", kind=kind) for end, kind in (("", scalar), ("_place", index)))
    )


def order(dtype: np.dtype, places: np.dtype, *, descending: bool) -> list[str]:
    """Return a region that says whether the first of two elements with places comes before the second; what is no number comes last."""
    scalar, index = tensor_text((), dtype), tensor_text((), places)
    region = ScalarRegion(lhs=scalar, rhs=scalar, lhs_place=index, rhs_place=index)
    before = region.compare("GT" if descending else "LT", "lhs", "rhs")
    if not _is_whole(dtype):
        number, odd = region.compare("EQ", "lhs", "lhs"), region.compare("NE", "rhs", "rhs")
        before = region.make("or", before, region.make("and", number, odd))
    return region.done(before)


def _is_whole(dtype: np.dtype) -> bool:
    return dtype.kind in "iub"

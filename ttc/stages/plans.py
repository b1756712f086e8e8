"""Plans of stages: lines that say by names which modules of a model, or which parts of a file, are of which stage."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.dialects.core.rules.patterns import REGEX, checked, fits

StagePlan: TypeAlias = "Mapping[str, int]"
"""Stages by names of modules: dotted names, with shell patterns and ranges (`layer.0-5`), `re:` expressions, or `kind:` and a class."""
KIND = "kind:"
"""The beginning of a pattern of the class of modules."""
_RANGE = re.compile(r"(\d{1,9})-(\d{1,9})")


@record(slots=True)
class PlanLine:
    """One line of a plan.

    Args:
        pattern: as it was given.
        stage: of the modules that fit.
    """

    pattern: str
    stage: int

    def matches(self, path: str, kind: str) -> bool:
        """Return whether the line is about a module of that dotted name and class."""
        if self.pattern.startswith(KIND):
            return fits(self.pattern.removeprefix(KIND), kind)
        return fits(self.pattern, path) if self.pattern.startswith(REGEX) else _is_named(self.pattern, path)


def rows_of(plan: StagePlan) -> tuple[PlanLine, ...]:
    """Return the lines of a plan.  Raises E0101 for what is no name or no number of a stage."""
    if not isinstance(plan, Mapping) or not plan:
        raise Error("E0101", f"a {type(plan).__name__} is no plan of stages", hint='{"encoder.layer.0-5": 0, "re:head.*": 1}')
    for pattern, stage in plan.items():
        if not isinstance(pattern, str) or not pattern:
            raise Error("E0101", f"a plan of stages names modules, not {pattern!r:.80}")
        if type(stage) is not int or stage < 0:
            raise Error("E0101", f"'{pattern[:80]}' cannot be of stage {stage!r:.20}", hint="stages are counted from 0")
        checked(pattern)
    return tuple(PlanLine(pattern, stage) for pattern, stage in plan.items())


def stage_of(rows: tuple[PlanLine, ...], path: str, kind: str) -> int | None:
    """Return the stage that a plan gives a module; a later line overrides an earlier one; None: no line is about it."""
    return next((row.stage for row in reversed(rows) if row.matches(path, kind)), None)


def _is_named(pattern: str, path: str) -> bool:
    """Return whether each piece of a dotted name fits: numbers in a range, or a shell pattern."""
    wanted, given = pattern.split("."), path.split(".")
    return len(wanted) == len(given) and all(_fits_piece(a, b) for a, b in zip(wanted, given, strict=True))


def _fits_piece(pattern: str, piece: str) -> bool:
    bounds = _RANGE.fullmatch(pattern)
    if bounds is None:
        return fits(pattern, piece)
    return piece.isdecimal() and int(bounds[1]) <= int(piece[:9]) <= int(bounds[2])

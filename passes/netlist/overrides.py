"""Rules of placement, and the ops of device graphs that they are about."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field
from difflib import get_close_matches

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.locations import source_names
from ttc.dialects.core.records import record
from ttc.dialects.core.rules.placement import PlacementRule, settle
from ttc.dialects.netlist.ops import NetlistOp
from ttc.passes.tile_to_netlist.limits import PlacementLimits

EFFORT_LAYOUTS = (1, 2, 6)
"""How many layouts with one number of cores are tried, by effort."""
THOROUGH = 2
"""The effort from which on candidates that are hardly ever the best are tried, too."""


@record(frozen=False)
class Overrides:
    """Settles what rules ask of ops, and notes which rules are about some op.

    Args:
        rules: in order; a later one overrides an earlier one.
        effort: of the search.
    """

    rules: tuple[PlacementRule, ...] = ()
    effort: int = 1
    matched: set[PlacementRule] = field(default_factory=set)
    names: set[str] = field(default_factory=set)

    def limits(self, op: NetlistOp) -> PlacementLimits:
        """Return the limits that rules set on the candidates of an op."""
        layouts, thorough = EFFORT_LAYOUTS[self.effort], self.effort >= THOROUGH
        if not self.rules:
            return PlacementLimits(layouts=layouts, thorough=thorough)
        names = op_names(op)
        self.names.update(names)
        about = [rule for rule in self.rules if rule.matches(op.type, names)]
        self.matched.update(about)
        asked = settle(about, op.type, names)
        placing = [rule.shown for rule in about if rule.settings.keys() - {"epoch_break", "chip_break"}]
        stream = asked.stream
        return PlacementLimits(
            layouts=layouts,
            thorough=thorough,
            grid=asked.grid,
            start=asked.start,
            transposed=asked.transpose,
            stream=stream,
            inner=asked.u_kt,
            policy=asked.policy,
            buffer=asked.buffer,
            text="; ".join(dict.fromkeys(placing)),
        )

    def breaks(self, ops: Sequence[NetlistOp], what: str) -> set[int]:
        """Return the numbers of ops with which an epoch (`epoch_break`) or a chip's part (`chip_break`) must begin."""
        return breaks(self.rules, ops, what)

    def require_matched(self) -> None:
        """Raises E0504 for a rule that is about no op of a device graph, naming the nearest source name."""
        for rule in self.rules:
            if rule not in self.matched:
                raise Error("E0504", f"no op on the device matches the rule of placement: {rule.shown}", hint=self.near(rule))

    def near(self, rule: PlacementRule) -> str | None:
        """Return the source name that comes closest to what a rule means."""
        plain = re.sub(r"[*?\[\]]", "", rule.name)
        if not plain or not self.names:
            return None
        lower = {name.lower(): name for name in sorted(self.names)}
        close = get_close_matches(plain.lower(), lower, n=1, cutoff=0.0)
        return f"the nearest source name: '{lower[close[0]]}'" if close else None


def breaks(rules: Sequence[PlacementRule], ops: Sequence[NetlistOp], what: str) -> set[int]:
    """Return numbers of ops that a rule with that setting matches while it does not match the op before."""
    found: set[int] = set()
    breaking = [rule for rule in rules if getattr(rule, what) is not None]
    for number, op in enumerate(ops) if breaking else ():
        names = op_names(op)
        last = next((rule for rule in reversed(breaking) if rule.matches(op.type, names)), None)
        before = ops[number - 1] if number else None
        if last is not None and getattr(last, what) and (before is None or not last.matches(before.type, op_names(before))):
            found.add(number)
    return found


def op_names(op: NetlistOp) -> tuple[str, ...]:
    """Return what rules may call an op: its source names and its own."""
    return (*source_names(op.location), op.sym)

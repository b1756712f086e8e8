"""Formats of single ops, as rules of precision ask for them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.formats import FORMATS
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.ir.locations import source_names
from ttc.dialects.core.machines.targets import Target
from ttc.dialects.core.records import record
from ttc.dialects.core.rules.precision import PrecisionRule
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.precision import assign, computing, kinds, retype


@record
class OverrideFormats(Pass):
    """Give results and weights of the ops that a rule matches the format it asks for; views hold what they look at.

    Args:
        rules: in order; a later one overrides an earlier one.

    Before:
        (%x: !tile.tensor<"4x8xFloat32", "rows">)
        %0 = tile.map(%x) {fn = "relu"} : (!tile.tensor<"4x8xFloat32", "rows">) -> !tile.tensor<"4x8xFloat32", "rows">
        %1 = tile.map(%0) {fn = "exp"} : (!tile.tensor<"4x8xFloat32", "rows">) -> !tile.tensor<"4x8xFloat32", "rows">
        return %1 : !tile.tensor<"4x8xFloat32", "rows">
    After:
        (%x: !tile.tensor<"4x8xFloat32", "rows">)
        %0 = tile.map(%x) {fn = "relu"} : (!tile.tensor<"4x8xFloat32", "rows">) -> !tile.tensor<"4x8xFloat16_b", "rows">
        %1 = tile.map(%0) {fn = "exp"} : (!tile.tensor<"4x8xFloat16_b", "rows">) -> !tile.tensor<"4x8xFloat32", "rows">
        return %1 : !tile.tensor<"4x8xFloat32", "rows">
    Missed:  a rule matches no op; a weight has another reader that asks for a wider format; a rule of a level of mixed precision meets
             a mask or the scores of a softmax, which block formats would spoil (a rule of a file: E0503).
    """

    name = "override-formats"
    rules: tuple[PrecisionRule, ...] = ()

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        if not self.rules:
            return
        _require_held(self.rules, unit.target)
        found = assign(unit.module, self.rules, lambda op: rewriter.allow(self.name, op))
        for op, applied, message, rule in found.notes:
            (rewriter.applied if applied else rewriter.missed)(op, message, rule=rule.text)
        retype(unit.module, found.formats)
        for rule in self.rules:
            if rule not in found.matched and not rule.preset:
                hint = _near(rule, unit.module)
                rewriter.missed(unit.module, f"rule '{rule.text}' matches no op{hint and '; ' + hint}", warning=True)


def _require_held(rules: Sequence[PrecisionRule], target: Target) -> None:
    """Raises E0607 for a format that the target lacks."""
    for rule in rules:
        for key, value in rule.settings.items():
            if key in ("output", "weights", "intermediate") and value not in target.formats:
                hint = nearest(value, [f for f in target.formats if FORMATS[f].is_float])
                raise Error("E0607", f"{target.name} does not have the format '{value}' (rule '{rule.text}')", hint=hint)


def _near(rule: PrecisionRule, module: ModuleOp) -> str:
    """Return a hint naming the op or source name nearest to what a rule is about."""
    ops = [op for function in entry_functions(module) for op in computing(function)]
    known = {kind for op in ops for kind in kinds(op)}
    if not any(rule.matches([kind], [rule.name]) for kind in known):
        return nearest(rule.op, known) or ""
    return nearest(rule.name, {name for op in ops for name in source_names(op.location)}) or ""

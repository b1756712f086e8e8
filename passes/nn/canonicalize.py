"""The plainest form of the same computation."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cache
from typing import Any, ClassVar

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation

from ttc.dialects.core.ir.adapter import TtcOp, blocks_of
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.ir.leaves import is_unread
from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.core.records import record
from ttc.dialects.nn.pieces import SplitOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn import rules_algebra, rules_indexing, rules_pieces, rules_regroup, rules_views
from ttc.passes.nn.rules import RewriteRule


@record
class Canonicalize(Pass):
    """Drop what changes nothing, merge views of views, and compute equal things once and unused things never.

    Results stay the same to the last bit: x * 1 goes, x + 0 stays, as it turns -0 into 0.

    Before:
        (%x: tensor<2x12x4x8xf32>, %y: tensor<2x12x4x8xf32>)
        %1 = ttc.constant() {value = #ttc.literal<[1.0], tensor<f32>>} : () -> tensor<f32>
        %2 = nn.mul(%x, %1) : (tensor<2x12x4x8xf32>, tensor<f32>) -> tensor<2x12x4x8xf32>
        %3 = nn.reshape(%2) {shape = [24, 4, 8]} : (tensor<2x12x4x8xf32>) -> tensor<24x4x8xf32>
        %4 = nn.transpose(%3) {perm = [0, 2, 1]} : (tensor<24x4x8xf32>) -> tensor<24x8x4xf32>
        %5 = nn.reshape(%4) {shape = [2, 12, 8, 4]} : (tensor<24x8x4xf32>) -> tensor<2x12x8x4xf32>
        %6 = nn.exp(%y) : (tensor<2x12x4x8xf32>) -> tensor<2x12x4x8xf32>
        return %5 : tensor<2x12x8x4xf32>
    After:
        (%x: tensor<2x12x4x8xf32>, %y: tensor<2x12x4x8xf32>)
        %5 = nn.transpose(%x) {perm = [0, 1, 3, 2]} : (tensor<2x12x4x8xf32>) -> tensor<2x12x8x4xf32>
        return %5 : tensor<2x12x8x4xf32>
    Missed:
        neutral constants of more than a million elements; shapes that depend on data; parameters, whose value may change.
    """

    name: ClassVar[str] = "canonicalize"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        for function in entry_functions(unit.module):
            _simplify(function, unit.weights, rewriter)
            for block in blocks_of(function):
                _merge_equal(block, rewriter)
                _drop_unused(block, rewriter)


@cache
def _rules() -> dict[type[Operation], list[RewriteRule]]:
    """Rules by the op they look at, in the order they are tried."""
    table: dict[type[Operation], list[RewriteRule]] = {}
    for rule in (*rules_algebra.rules(), *rules_views.rules(), *rules_regroup.rules(), *rules_pieces.rules(), *rules_indexing.rules()):
        for kind in rule.kinds:
            table.setdefault(kind, []).append(rule)
    return table


def _simplify(function: FuncOp, weights: WeightStore, rewriter: Rewriter) -> None:
    """One sweep in program order.  What a rule builds is looked at once more, so that merged views vanish in place."""

    def handle(op: Operation) -> None:
        new: Operation | None = op
        for _ in range(4):
            new = None if new is None else _apply_rules(new, weights, rewriter)

    def unsplit(op: SplitOp) -> None:
        parts = rules_pieces.joined(op)
        if parts is not None and rewriter.allow("joined", op):
            rewriter.applied(op, "joined: nn.split takes apart what nn.concat joined")
            rewriter.replace(op, parts)
        elif parts is None:
            handle(op)

    handlers: dict[type[Operation], Callable[[Any], None]] = {**dict.fromkeys(_rules(), handle), SplitOp: unsplit}
    rewriter.sweep(function, handlers)


def _apply_rules(op: Operation, weights: WeightStore, rewriter: Rewriter) -> Operation | None:
    """Apply the first rule that fits; returns the op now in its place, where that is worth another look."""
    for rule in _rules().get(type(op), ()):
        build = rule.check(op, weights)
        if build is None or not rewriter.allow(rule.name, op):
            continue
        value = build(rewriter)
        rewriter.applied(op, f"{rule.name}: {op.name} simplified")
        rewriter.replace(op, value)
        return value.owner if isinstance(value.owner, TtcOp) else None
    return None


def _merge_equal(block: Block, rewriter: Rewriter) -> None:
    """Common subexpressions: the first of equal ops stands for all."""
    seen: dict[Hashable, Operation] = {}
    for op in list(block.ops):
        if not isinstance(op, TtcOp) or op.regions:
            continue
        key = (op.name, tuple(op.operands), tuple(sorted(op.properties.items(), key=lambda p: p[0])), tuple(r.type for r in op.results))
        first = seen.setdefault(key, op)
        if first is not op and rewriter.allow("merge-equal", op):
            rewriter.replace(op, first.results)


def _drop_unused(block: Block, rewriter: Rewriter) -> None:
    """Dead code: ops whose results nothing reads."""
    for op in reversed(list(block.ops)):
        if is_unread(op) and op.results and rewriter.allow("drop-unused", op):
            op.detach()
            op.erase()

"""The pass that rewrites tile ops in the vocabulary of Buda netlists."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.ir import Operation, SSAValue

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import FORMATS
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.ir.leaves import LeafOp
from ttc.dialects.core.ir.locations import where
from ttc.dialects.core.ir.spec import Spec, tensor_type
from ttc.dialects.core.records import record
from ttc.dialects.nn.base import ops as nn_ops
from ttc.dialects.tile.base import TileOp, tile_of
from ttc.dialects.tile.buda import OPS, foreign
from ttc.dialects.tile.eltwise import CastOp, MapOp
from ttc.dialects.tile.facts import fact_of
from ttc.dialects.tile.host import FromHostOp, ToHostOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.declined import Declined
from ttc.passes.tile.expand import EXPANSIONS
from ttc.passes.tile.expand.expansion import Expansion
from ttc.passes.tile.expand.normalization import expand_rows
from ttc.passes.tile.expand.truths import keep_numbers

MAX_DEPTH = 16
"""How deep expansions may lie within expansions."""


@record
class ExpandComposites(Pass):
    """Express every op on the device in the ops, functions and tile manipulations that Buda netlists have.

    Intermediates of floating-point computations are held in Float32 where the target has it.

    Before:
        (%x: Float32[32, 64])
        %0 = tile.softmax(%x) {axis = -1} : (Float32[32, 64]) -> Float32[32, 64]
        return %0 : Float32[32, 64]
    After:
        (%x: Float32[32, 64])
        %0 = tile.reshape(%x) {shape = [1, 32, 64]} : (Float32[32, 64]) -> Float32[1, 32, 64]
        %1 = tile.reduce(%0) {axes = [2], fn = "max", keepdims = true} : (Float32[1, 32, 64]) -> Float32[1, 32, 1]
        %2 = tile.reshape(%1) {shape = [32, 1]} : (Float32[1, 32, 1]) -> Float32[32, 1]
        %3 = tile.map(%x, %2) {fn = "sub"} : (Float32[32, 64], Float32[32, 1]) -> Float32[32, 64]
        %4 = tile.map(%3) {fn = "exp"} : (Float32[32, 64]) -> Float32[32, 64]
        %5 = ttc.constant() {value = #ttc.literal<[1.0], f32[]>} : () -> Float32[]
        %6 = tile.broadcast(%5) {shape = [64, 1]} : (Float32[]) -> Float32[64, 1]
        %7 = tile.matmul(%4, %6, _) {transpose_a = false, transpose_b = false} : (Float32[32, 64], Float32[64, 1]) -> Float32[32, 1]
        %8 = tile.map(%7) {fn = "reciprocal"} : (Float32[32, 1]) -> Float32[32, 1]
        %9 = tile.map(%4, %8) {fn = "mul"} : (Float32[32, 64], Float32[32, 1]) -> Float32[32, 64]
        return %9 : Float32[32, 64]
    Missed:  a function has no terms in the vocabulary: it runs on the host.
    """

    name = "expand-composites"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        for function in entry_functions(unit.module):
            _expand_function(function, unit, rewriter)


def _expand_function(function: func.FuncOp, unit: Unit, rewriter: Rewriter) -> None:
    """Expand ops, and what their expansions hold, depth first; then drop what nothing reads any more."""
    keep_numbers(function)
    block = function.body.block
    pending = [(op, 0) for op in reversed(list(block.ops))]
    while pending:
        op, depth = pending.pop()
        if op.parent is None or not isinstance(op, TileOp) or foreign(op) is None:
            continue
        if depth > MAX_DEPTH:
            raise Error("E0901", f"the expansion of {op.name} does not end", where=where(op))
        pending.extend((made, depth + 1) for made in reversed(_expand(op, unit, rewriter)))
    for op in reversed(list(block.ops)):
        if isinstance(op, LeafOp | TileOp):
            rewriter.erase_dead(op)


def _expand(op: TileOp, unit: Unit, rewriter: Rewriter) -> list[Operation]:
    """Replace one op; the ops that took its place, in order."""
    mnemonic = op.name.partition(".")[2]
    rule = expand_rows if fact_of(mnemonic).steps else EXPANSIONS.get(mnemonic)
    if rule is None and not fact_of(mnemonic).rows_only and mnemonic not in OPS:
        rule = EXPANSIONS.of(mnemonic)
    if rule is None:
        raise Error("E0503", f"kernel set 'buda' lacks {foreign(op)}", where=where(op), hint="compile with --kernels fused")
    if not rewriter.allow(f"expand-{mnemonic}", op):
        return []
    before = op.prev_op
    try:
        value = rule(op, Expansion(op, unit, rewriter))
    except Declined as declined:
        value = _on_host(op, str(declined), rewriter)
    if value.type != op.results[0].type:
        raise Error("E0901", f"the expansion of {op.name} gives {value.type}, not {op.results[0].type}", where=where(op))
    made = _between(before, op)
    names = [m.name for m in made if not isinstance(m, LeafOp)]
    rewriter.applied(op, f"{op.name} is expressed by {len(names)} ops", ops=names)
    rewriter.replace(op, value)
    return made


def _between(first: Operation | None, last: Operation) -> list[Operation]:
    """Return the ops after one (None: from the start of the block) and before another."""
    found: list[Operation] = []
    op = last.prev_op
    while op is not None and op is not first:
        found.append(op)
        op = op.prev_op
    return found[::-1]


def _on_host(op: TileOp, reason: str, rewriter: Rewriter) -> SSAValue:
    """Return the function, or the cast, as an nn op between borders.  Raises E0503 for another op."""
    attrs = op.plain_attrs()
    fn = "cast" if isinstance(op, CastOp) else str(attrs.get("fn"))
    kind = nn_ops().get(fn) if isinstance(op, MapOp | CastOp) else None
    if kind is None:
        raise Error("E0503", f"kernel set 'buda' lacks {foreign(op)}: {reason}", where=where(op), hint="compile with --kernels fused")
    rewriter.missed(op, f"{fn} runs on the host: {reason}")
    operands: list[SSAValue] = []
    for x in op.operands:
        tile = tile_of(x)
        type_ = tensor_type(Spec(tile.shape, FORMATS[tile.format].compute))
        operands.append(rewriter.insert(op, ToHostOp.make((x,), {}, (type_,), op.location)).y)
    given: dict[str, Any] = dict(zip(attrs.get("names") or (), attrs.get("values") or (), strict=True))
    if isinstance(op, CastOp):
        given = {"dtype": np.dtype(str(attrs["to"])) if "to" in attrs else FORMATS[tile_of(op.y).format].compute}
    made = rewriter.insert(op, kind.build(*operands, location=op.location, **given))
    return rewriter.insert(op, FromHostOp.make((made.results[0],), {}, (op.results[0].type,), op.location)).y

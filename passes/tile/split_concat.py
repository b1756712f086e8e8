"""Concatenations of more tensors than a core can read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.ir import SSAValue

from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.records import record
from ttc.dialects.tile.base import tile_of
from ttc.dialects.tile.shape import ConcatOp
from ttc.passes.base import Pass, Rewriter, Unit


@record
class SplitConcat(Pass):
    """Replace a concatenation of more tensors than a core can read by a tree of smaller ones.

    All nodes of the tree have as many operands as possible alike, and neighbours stay together.

    Before:
        (%a: Float32[2, 32], %b: Float32[3, 32], %c: Float32[4, 32])
        %0 = tile.concat(%a, %b, %c) {axis = 0} : (Float32[2, 32], Float32[3, 32], Float32[4, 32]) -> Float32[9, 32]
        return %0 : Float32[9, 32]
    After:
        (%a: Float32[2, 32], %b: Float32[3, 32], %c: Float32[4, 32])
        %0 = tile.concat(%a, %b) {axis = 0} : (Float32[2, 32], Float32[3, 32]) -> Float32[5, 32]
        %1 = tile.concat(%0, %c) {axis = 0} : (Float32[5, 32], Float32[4, 32]) -> Float32[9, 32]
        return %1 : Float32[9, 32]
    Missed:
        never; each tree is a remark.

    Args:
        operands: that one op may have; 0: any number.
    """

    name: ClassVar[str] = "split-concat"
    operands: int = 0

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        if self.operands < 2:
            return
        for function in entry_functions(unit.module):
            for op in list(function.body.block.ops):
                if isinstance(op, ConcatOp) and len(op.xs) > self.operands and rewriter.allow("split-concat", op, required=True):
                    self._split(op, rewriter)

    def _split(self, op: ConcatOp, rewriter: Rewriter) -> None:
        level: list[SSAValue] = list(op.xs)
        ops = 0
        while len(level) > 1:
            parts = _parts(level, self.operands)
            ops += sum(len(part) > 1 for part in parts)
            level = [part[0] if len(part) == 1 else _concat(part, op, rewriter) for part in parts]
        rewriter.applied(op, f"{len(op.xs)} tensors are joined by {ops} ops: a core reads at most {self.operands}", ops=ops)
        rewriter.replace(op, level[0])


def _parts(values: Sequence[SSAValue], most: int) -> list[Sequence[SSAValue]]:
    """Cut values into as few runs of neighbours as possible, of at most so many, their lengths alike; the longer ones come first."""
    count = -(-len(values) // most)
    length, longer = divmod(len(values), count)
    starts = [i * length + min(i, longer) for i in range(count + 1)]
    return [values[start:end] for start, end in zip(starts, starts[1:], strict=False)]


def _concat(values: Sequence[SSAValue], op: ConcatOp, rewriter: Rewriter) -> SSAValue:
    tile = tile_of(op.y)
    made = ConcatOp.build(*values, location=op.location, format=tile.format, fold=tile.fold, axis=op.plain_attrs()["axis"])
    return rewriter.insert(op, made).y

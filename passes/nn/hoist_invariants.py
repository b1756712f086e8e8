"""The pass that computes before a loop what no iteration changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.ir import Block, Operation, SSAValue

from ttc.dialects.core.ir.attributes import LiteralAttr
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.ir.leaves import ConstantOp
from ttc.dialects.core.records import record
from ttc.dialects.nn.binary import AddOp
from ttc.dialects.nn.control import LoopOp, YieldOp, is_written_out
from ttc.dialects.nn.shape import ReshapeOp
from ttc.dialects.nn.total import is_total
from ttc.passes.base import Pass, Rewriter, Unit


@record
class HoistInvariants(Pass):
    """Move ops out of a loop that every iteration computes from the same values, and carried values that no iteration changes.

    All that follows sees the moved ops: they get constants and run on the device.  A carried value to which iterations only add 0 counts
    as unchanged: where it is -0 it stays so.

    Before:
        (%n: tensor<i64>, %x: tensor<2xf32>, %w: tensor<2xf32>)
        %0, %1 = nn.loop(%n, _, %x, %w) {carried = 2} : (tensor<i64>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
        ^bb0(%i: tensor<i64>, %a: tensor<2xf32>, %b: tensor<2xf32>):
          %2 = nn.exp(%b) : (tensor<2xf32>) -> tensor<2xf32>
          %3 = nn.mul(%a, %2) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
          nn.yield(%3, %b) : (tensor<2xf32>, tensor<2xf32>) -> ()
        }
        return %0 : tensor<2xf32>
    After:
        (%n: tensor<i64>, %x: tensor<2xf32>, %w: tensor<2xf32>)
        %2 = nn.exp(%w) : (tensor<2xf32>) -> tensor<2xf32>
        %0 = nn.loop(%n, _, %x, %2) {carried = 1} : (tensor<i64>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> {
        ^bb0(%i: tensor<i64>, %a: tensor<2xf32>, %c: tensor<2xf32>):
          %3 = nn.mul(%a, %c) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
          nn.yield(%3) : (tensor<2xf32>) -> ()
        }
        return %0 : tensor<2xf32>
    Missed:
        ops that may fail, as a loop may have no iteration; values whose shapes depend on data.
    """

    name: ClassVar[str] = "hoist-invariants"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        for function in entry_functions(unit.module):
            _hoist_all(function, rewriter)


def _hoist_all(op: Operation, rewriter: Rewriter) -> None:
    """Loops inside come first: what leaves them may leave those around them, too."""
    for region in op.regions:
        for block in region.blocks:
            for inner in list(block.ops):
                _hoist_all(inner, rewriter)
    if isinstance(op, LoopOp):
        _Loop(op).hoist(rewriter)


class _Loop:
    """A loop, and what of it no iteration changes.

    outer: values before the loop, by the arguments of the body that equal them.  dropped: carried values that stay as they are.
    moved: ops of the body that depend on such values alone.
    """

    def __init__(self, op: LoopOp) -> None:
        self.op = op
        self.block: Block = op.body.block
        self.values = list(op.values)
        self.carried = int(op.plain_attrs()["carried"])
        self.ops = list(self.block.ops)
        self.yields = list(self.ops.pop().operands)
        self.first = 0 if op.condition is None else 1
        self.dropped = [k for k in range(self.carried) if self._is_kept(k)]
        self.outer: dict[SSAValue, SSAValue] = {}
        for k in (*self.dropped, *range(self.carried, len(self.values))):
            argument = self.block.args[1 + k]
            if argument.type == self.values[k].type:
                self.outer[argument] = self.values[k]
        self.moved = self._moved()

    def hoist(self, rewriter: Rewriter) -> None:
        """Rewrite the loop, if anything leaves it."""
        if not (self.moved or self.dropped) or not rewriter.allow("hoist-invariants", self.op):
            return
        rewriter.applied(self.op, f"{len(self.moved)} ops and {len(self.dropped)} carried values leave the loop: no iteration changes them")
        for op in self.moved:
            self._move(op, rewriter)
        stay = [k for k in range(self.carried) if k not in self.dropped]
        ends = [k + self.first for k in stay]
        yields = [*self.yields[: self.first], *(self.yields[k] for k in ends), *self.yields[self.first + self.carried :]]
        block, given = self._block(stay, yields)
        attrs = {**self.op.plain_attrs(), "carried": len(stay)}
        new = LoopOp.build_with(self.op.count, self.op.condition, *given, location=self.op.location, blocks=[block], **attrs)
        results = iter(rewriter.insert(self.op, new).results)
        rewriter.replace(self.op, [self.values[k] if k in self.dropped else next(results) for k in range(len(self.op.results))])

    def _is_kept(self, k: int) -> bool:
        """Return whether an iteration hands on a carried value as it took it."""
        argument, value = self.block.args[1 + k], self.yields[self.first + k]
        if not argument.type == self.values[k].type == self.op.results[k].type == value.type:
            return False
        while value is not argument:
            op = value.owner
            if not isinstance(op, AddOp | ReshapeOp):
                return False
            if isinstance(op, AddOp) and not (_is_zero(op.operands[1]) and op.operands[0].type == value.type):
                return False
            value = op.operands[0]
        return True

    def _moved(self) -> list[Operation]:
        """Return the ops of values that do not depend on the iteration, in order."""
        invariant = set(self.outer)
        found: list[Operation] = []
        for op in self.ops:
            if not is_written_out(op) and is_total(op) and all(x in invariant or _is_literal(x) for x in op.operands):
                found.append(op)
                invariant.update(op.results)
        return found

    def _move(self, op: Operation, rewriter: Rewriter) -> None:
        """Put an op of the body, with the literals that it reads, before the loop."""
        for index, operand in enumerate(op.operands):
            owner = operand.owner
            if isinstance(owner, Operation) and is_written_out(owner):
                op.operands[index] = rewriter.insert(self.op, owner.clone()).results[0]
            else:
                op.operands[index] = self.outer.get(operand, operand)
        op.detach()
        rewriter.insert(self.op, op)

    def _block(self, stay: Sequence[int], yields: Sequence[SSAValue]) -> tuple[Block, list[SSAValue]]:
        """Return the body of what is left, and the values that it takes.  stay: carried values.  yields: what it gives."""
        moved = set(self.moved)
        ops = [op for op in self.ops if op not in moved]
        read = {x for op in ops for x in op.operands} | set(yields)
        arguments = [self.block.args[1 + k] for k in (*self.dropped, *range(self.carried, len(self.values)))]
        fixed = [x for x in (*arguments, *(x for op in self.moved for x in op.results)) if x in read]
        inner = [self.block.args[0], *(self.block.args[1 + k] for k in stay), *fixed]
        block = Block(arg_types=[value.type for value in inner])
        places: dict[SSAValue, SSAValue] = dict(zip(inner, block.args, strict=True))
        for op in ops:
            op.detach()
            block.add_op(op)
            for index, operand in enumerate(op.operands):
                if operand in places:
                    op.operands[index] = places[operand]
        block.add_op(YieldOp.make([places.get(x, x) for x in yields], {}, (), self.op.location))
        values: dict[SSAValue, SSAValue] = dict(zip(self.block.args[1:], self.values, strict=True))
        return block, [*(self.values[k] for k in stay), *(values.get(x, x) for x in fixed)]


def _is_literal(value: SSAValue) -> bool:
    return isinstance(value.owner, Operation) and is_written_out(value.owner)


def _is_zero(value: SSAValue) -> bool:
    op = value.owner
    return isinstance(op, ConstantOp) and isinstance(op.value, LiteralAttr) and not op.value.array.any()

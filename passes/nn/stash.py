"""Values that the forward part of an entry function keeps for its gradients, and which of them are computed again instead."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from functools import cached_property

from xdsl.dialects.builtin import LocationAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from ttc.dialects.core.ir.locations import location_of, source_names
from ttc.dialects.core.ir.spec import spec_of
from ttc.dialects.core.plain.functions import RECOMPUTED
from ttc.dialects.core.records import record
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.flops import flops_of
from ttc.dialects.nn.gradients.maker import PREFIX
from ttc.passes.nn.match import size_bytes

MARK = "recompute."
"""What a source name begins with of ops that are always computed again."""
VIEWS = ("nn.reshape", "nn.identity")
"""Ops whose result is their operand's memory."""


def is_marked(op: Operation) -> bool:
    """Return whether the user wants an op computed again."""
    return any(name.startswith(MARK) for name in source_names(op.location))


@record(eq=False)
class Choice:
    """Values that are kept, and what follows from that.

    Args:
        kept: of the forward part.
        again: ops that are computed again.
        stash_bytes: most bytes of kept values that are alive at one time.
        flops: of the ops that are computed again.
    """

    kept: Set[SSAValue]
    again: Set[Operation]
    stash_bytes: int
    flops: int


class Stash:
    """The forward part of an entry function with gradients, and what the gradients read of it.

    Attributes:
        forward: ops that no gradient is needed for, in program order, without leaves.
        backward: the other ops.
        free: values of forward ops that are results of the function: those are there anyway.
        marked: forward ops that are always computed again.
        read: values of forward ops that backward ops read, and that are not results of the function: those are there anyway.
    """

    def __init__(self, function: FuncOp) -> None:
        ops = [op for op in function.body.block.ops if isinstance(op, NNOp)]
        late = _gradient_ops(ops)
        self._last = function.body.block.last_op
        self._place: dict[Operation, int] = {op: index for index, op in enumerate(ops)}
        self.forward = [op for op in ops if op not in late]
        self.backward = [op for op in ops if op in late]
        self._forward = set(self.forward)
        given = set() if self._last is None else set(self._last.operands)
        self.free = {value for value in given if value.owner in self._forward}
        self.read = dict.fromkeys(x for op in self.backward for x in op.operands if self.is_held(x))
        self.marked = {op for op in self.forward if is_marked(op)}

    def is_forward(self, op: Operation) -> bool:
        """Return whether an op is one of the forward part."""
        return op in self._forward

    def place_of(self, value: SSAValue) -> int:
        """Return the number of the op that gives a value; -1 for arguments and leaves."""
        return self._place.get(value.owner, -1) if isinstance(value.owner, Operation) else -1

    def is_held(self, value: SSAValue) -> bool:
        """Return whether a value takes room because gradients need it."""
        return value.owner in self._forward and value not in self.free

    @cached_property
    def total_flops(self) -> int:
        """FLOPs of the whole function."""
        return sum(flops_of(op) for op in (*self.forward, *self.backward) if isinstance(op, NNOp))

    def choice(self, wanted: Collection[SSAValue]) -> Choice:
        """Return the choice that keeps at most these values: those among them that are read again."""
        again: dict[Operation, None] = {}
        kept: set[SSAValue] = set()
        pending = [*self.read]
        while pending:
            value = pending.pop()
            if value in wanted or not self._can_be_made_again(value):
                kept.add(value)
            elif value.owner not in again:
                assert isinstance(value.owner, Operation)
                again[value.owner] = None
                pending.extend(x for x in value.owner.operands if self.is_held(x))
        flops = sum(flops_of(op) for op in again if isinstance(op, NNOp))
        return Choice(kept, again.keys(), self._alive(kept, again), flops)

    def _can_be_made_again(self, value: SSAValue) -> bool:
        return isinstance(value.owner, Operation) and not getattr(value.owner, "EFFECT", False) and spec_of(value.type).is_static

    def _alive(self, kept: Set[SSAValue], again: Collection[Operation]) -> int:
        """Return the most bytes of kept values at one time; a view counts as what it is a view of."""
        places = self._replayed_at(again)
        changes: dict[int, int] = {}
        spans: dict[SSAValue, int] = {}
        for value in kept:
            uses = [
                places.get(use.operation, self._place.get(use.operation, 0)) for use in value.uses if self._is_late(use.operation, again)
            ]
            origin = _origin(value)
            if origin.owner not in self._forward or origin in self.free or not uses:
                continue
            spans[origin] = max(spans.get(origin, 0), *uses)
        for value, end in spans.items():
            size = size_bytes(value) if spec_of(value.type).is_static else 0
            begin = self._place[value.owner] if isinstance(value.owner, Operation) else 0
            changes[begin] = changes.get(begin, 0) + size
            changes[end + 1] = changes.get(end + 1, 0) - size
        most = now = 0
        for place in sorted(changes):
            now += changes[place]
            most = max(most, now)
        return most

    def _is_late(self, op: Operation, again: Collection[Operation]) -> bool:
        return op in again or (op in self._place and op not in self._forward)

    def _replayed_at(self, again: Collection[Operation]) -> Mapping[Operation, int]:
        """Return where each op is computed again: before the first gradient that needs it."""
        places: dict[Operation, int] = {}
        for op in self.backward:
            pending = [x.owner for x in op.operands]
            while pending:
                owner = pending.pop()
                if owner in again and owner not in places and isinstance(owner, Operation):
                    places[owner] = self._place[op]
                    pending.extend(x.owner for x in owner.operands)
        return places

    # ---- computing again -------------------------------------------------------------------------------------------------------

    def replay(self, choice: Choice) -> None:
        """Compute ops again, each before the first gradient that needs it, and let gradients read that."""
        copies: dict[SSAValue, SSAValue] = {}
        for op in self.backward:
            for made in self._needed(op, choice, copies):
                copy = made.clone(copies)
                copy.location = _recomputed(made.location)
                block = op.parent
                assert block is not None
                block.insert_op_before(copy, op)
                copies.update(zip(made.results, copy.results, strict=True))
            for index, operand in enumerate(op.operands):
                if operand in copies and operand not in choice.kept:
                    op.operands[index] = copies[operand]

    def _needed(self, op: Operation, choice: Choice, copies: Mapping[SSAValue, SSAValue]) -> list[Operation]:
        """Return the ops that are to be computed again for an op, in program order."""
        found: set[Operation] = set()
        pending = [op]
        while pending:
            for x in pending.pop().operands:
                owner = x.owner
                if (
                    isinstance(owner, Operation)
                    and owner in choice.again
                    and owner not in found
                    and x not in choice.kept
                    and x not in copies
                ):
                    found.add(owner)
                    pending.append(owner)
        return sorted(found, key=self._place.__getitem__)


def _recomputed(location: Attribute) -> LocationAttr:
    """Return the location of an op that computes again what the op at a location does."""
    first, *rest = source_names(location) or ("",)
    return location_of((first, RECOMPUTED, *rest))


def _gradient_ops(ops: Sequence[Operation]) -> set[Operation]:
    """Return ops that are located at gradients, and those that depend on them."""
    found: set[Operation] = set()
    for op in ops:
        names = source_names(op.location)[:1]
        if (names and names[0].startswith(PREFIX)) or any(x.owner in found for x in op.operands):
            found.add(op)
    return found


def _origin(value: SSAValue) -> SSAValue:
    """Return the value whose memory a value is."""
    while isinstance(value.owner, NNOp) and value.owner.name in VIEWS:
        value = value.owner.operands[0]
    return value

"""Which tile ops make up one op of a netlist, and which of those run on the device together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from xdsl.ir import Block, Operation, SSAValue

from ttc.dialects.core.ir.attributes import LiteralAttr
from ttc.dialects.core.ir.leaves import ConstantOp, LeafOp
from ttc.dialects.core.records import record
from ttc.dialects.tile.base import TileOp


@record
class OpGroup:
    """The work of one netlist op.

    Args:
        main: the op that computes.
        members: views and literals that it reads through, then `main`, in program order.
        inputs: values the group reads: function arguments, weights and states, results of other groups.
        on_host: whether it runs on the host beside a device.
    """

    main: Operation
    members: tuple[Operation, ...]
    inputs: tuple[SSAValue, ...]
    on_host: bool


def is_literal(op: object) -> bool:
    """Return whether the op is a constant written out in the IR."""
    return isinstance(op, ConstantOp) and isinstance(op.value, LiteralAttr)


def groups(block: Block, is_view: Callable[[Operation], bool], on_host: Callable[[Operation], bool]) -> list[OpGroup]:
    """Return one group for each op that computes; views and literals are repeated in every group that reads through them."""
    found: list[OpGroup] = []
    for op in list(block.ops)[:-1]:
        if isinstance(op, LeafOp) or is_view(op):
            continue
        found.append(_group(op, is_view, on_host(op)))
    return found


def _group(main: Operation, is_view: Callable[[Operation], bool], on_host: bool) -> OpGroup:
    members: dict[Operation, None] = {}
    inputs: dict[SSAValue, None] = {}
    pending: list[tuple[Operation, bool]] = [(main, False)]
    while pending:
        op, expanded = pending.pop()
        if expanded:
            members[op] = None
            continue
        if op in members:
            continue
        pending.append((op, True))
        for value in reversed(op.operands):
            owner = value.owner
            if isinstance(owner, Operation) and (is_literal(owner) or is_view(owner)):
                pending.append((owner, False))
    for op in members:
        for value in op.operands:
            if not (isinstance(value.owner, Operation) and value.owner in members):
                inputs[value] = None
    return OpGroup(main, tuple(members), tuple(inputs), on_host)


def computed(value: SSAValue, is_view: Callable[[Operation], bool]) -> bool:
    """Return whether a value is the result of a group, and not an argument, a leaf or a view."""
    owner = value.owner
    return isinstance(owner, Operation) and not isinstance(owner, LeafOp) and not is_view(owner)


def segments(found: Sequence[OpGroup]) -> list[list[OpGroup]]:
    """Return groups in an order that keeps dependences, cut where execution changes between device and host, with few changes.

    Everything that can run on the side at hand runs before the side changes.
    """
    mains = {group.main for group in found}
    waiting = {g.main: {v.owner for v in g.inputs if isinstance(v.owner, Operation) and v.owner in mains} for g in found}
    remaining = list(found)
    ordered: list[list[OpGroup]] = []
    side = remaining[0].on_host if remaining else False
    while remaining:
        segment, remaining = _run_side(remaining, waiting, side)
        if segment:
            ordered.append(segment)
        side = not side
    return ordered


def _run_side(remaining: Iterable[OpGroup], waiting: dict[Operation, set[Operation]], side: bool) -> tuple[list[OpGroup], list[OpGroup]]:
    """Return what can run on one side in program order, and the rest.  Program order keeps dependences, so one scan finds all."""
    segment: list[OpGroup] = []
    rest: list[OpGroup] = []
    blocked: set[Operation] = set()
    for group in remaining:
        if group.on_host == side and not (waiting[group.main] & blocked):
            segment.append(group)
        else:
            rest.append(group)
            blocked.add(group.main)
    return segment, rest


def is_tile_compute(op: Operation) -> bool:
    """Return whether the op is of dialect tile and not a border to the host."""
    return isinstance(op, TileOp) and op.name not in ("tile.to_host", "tile.from_host")

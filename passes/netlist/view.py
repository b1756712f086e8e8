"""The main op of a netlist op's work, as cost and blocking rules see it."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import BlockArgument, Operation, SSAValue

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.adapter import TtcOp
from ttc.dialects.core.ir.to_plain import plain_attr, plain_block, plain_type
from ttc.dialects.netlist.model import Buffer
from ttc.dialects.netlist.op_attributes import adds_up_in_l1, is_approximate
from ttc.dialects.netlist.ops import GraphOp, NetlistOp
from ttc.dialects.tile.shape import ViewOp
from ttc.passes.tile_to_netlist.grouping import is_tile_compute
from ttc.runtime.perf.base import OpView


def main_op(op: NetlistOp) -> TtcOp:
    """Return the op that computes the result.  Raises E0302."""
    last = op.work.block.last_op
    owner = last.operands[0].owner if last is not None and last.operands else None
    if not isinstance(owner, TtcOp):
        raise Error("E0302", f"the work of op '{op.sym}' computes nothing")
    return owner


def on_host(graph: GraphOp) -> bool:
    """Return whether a graph's ops are for the host: nn ops, or borders between device and host."""
    return any(not is_tile_compute(main_op(op)) for op in graph.ops)


def view_of(op: NetlistOp) -> OpView:
    """Return what blocking and cost depend on."""
    main = main_op(op)
    return OpView(
        main.name.partition(".")[2],
        {k: plain_attr(v) for k, v in main.plain_attrs().items()},
        tuple(None if v is None else plain_type(v.type) for v in main.named_operands()),
        plain_type(main.results[0].type),
        op.fidelity or "HiFi4",
        plain_block(main.regions[0].block) if main.regions else None,
        op.intermediate or "Float32",
        adds_up_in_l1(op.settings or ()),
        is_approximate(op.settings or ()),
    )


def identity_of(view: OpView) -> tuple[object, ...]:
    """Return a key that is equal for ops that block and cost the same."""
    body = None if view.body is None else tuple((w.op, w.attrs.get("fn")) for w in view.body.works)
    return (
        view.op,
        tuple(sorted(view.attrs.items())),
        view.operands,
        view.result,
        view.fidelity,
        body,
        view.intermediate,
        view.l1_acc,
        view.approximate,
    )


def operand_sources(op: NetlistOp) -> list[int | None]:
    """Return for each operand of the main op the input of the netlist op that it comes from, through views; None for a literal."""
    return [_input(value) for value in main_op(op).named_operands()]


def own_buffers(op: NetlistOp, buffers: Sequence[Buffer]) -> tuple[Buffer, ...]:
    """Return buffers by inputs of the netlist op instead of operands of its main op.

    Operands that are literals need none; two operands that read the same input share the larger one.
    """
    sources = operand_sources(op)
    found: dict[str, Buffer] = {}
    for buffer in buffers:
        role = buffer.role
        if role.startswith("in") and role[2:].isdecimal():
            source = sources[int(role[2:])]
            if source is None:
                continue
            role = f"in{source}"
        renamed = Buffer(role, buffer.tiles, buffer.tile_bytes, buffer.copies)
        if role not in found or found[role].size_bytes < renamed.size_bytes:
            found[role] = renamed
    return tuple(found.values())


def _input(value: SSAValue | None) -> int | None:
    """Number of the work's argument that a value comes from through views; None for a literal."""
    while value is not None and not isinstance(value, BlockArgument):
        owner = value.owner
        if not (isinstance(owner, Operation) and isinstance(owner, ViewOp)):
            return None
        value = owner.x
    return None if value is None else value.index

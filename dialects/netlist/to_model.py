"""From the IR of dialect netlist to the plain model, and its verification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.locations import source_names
from ttc.dialects.core.ir.to_plain import plain_block, plain_type
from ttc.dialects.core.ir.verification import verify
from ttc.dialects.netlist.check_queues import WRITTEN
from ttc.dialects.netlist.checks import require_valid
from ttc.dialects.netlist.codec import PlainValue, decode, encode
from ttc.dialects.netlist.from_model import DEFAULTED
from ttc.dialects.netlist.model import Graph, Host, Netlist, Op, Program, Queue
from ttc.dialects.netlist.ops import GraphOp, NetlistOp, ProgramOp, QueueOp, ReadOp, ReceiveOp, WriteOp, chip_of, origin_of
from ttc.dialects.netlist.replicas import replicated

QUEUE_FIELDS = ("entries", "location", "chip", "grid", "buffers", "buffer_bytes")
"""Fields of a queue that must be decided."""
TYPES: dict[str, Any] = {
    "inner": tuple[int, int],
    "positions": Literal["order", "pointers"],
    "rounding": Literal["rne", "none"],
    "settings": tuple[tuple[str, PlainValue], ...],
}
"""Types of fields whose property says less."""


def to_model(module: ModuleOp) -> Netlist:
    """Return the plain netlist of a module.

    Raises E0609 naming the op or queue whose place, blocks, size or address is missing; E0601 for a name defined twice or unknown;
    E0602 where a read or write differs from its queue; E0606 for a value that reaches an op or queue in no legal way.
    """
    ops = list(module.ops)
    queues = _named([op for op in ops if isinstance(op, QueueOp)], "queue")
    graphs = _named([op for op in ops if isinstance(op, GraphOp)], "graph")
    programs = _named([op for op in ops if isinstance(op, ProgramOp)], "program")
    for op in ops:
        if not isinstance(op, QueueOp | GraphOp | ProgramOp | FuncOp):
            raise Error("E0305", f"{op.name} does not belong into a netlist")
    plain_graphs = {name: _graph(op, queues) for name, op in graphs.items()}
    sources = {queue: op for graph in plain_graphs.values() for op, queue in graph.writes}
    netlist = Netlist(
        chip_of(module),
        {name: _queue(op, sources) for name, op in queues.items()},
        plain_graphs,
        {name: _program(op) for name, op in programs.items()},
    )
    netlist = replace(netlist, **_typed(origin_of(module), "module"))
    return _with_replicas(netlist, list(programs.values()))


def verify_netlist(module: ModuleOp) -> Netlist:
    """Convert a module and check every structural rule; returns the model.  Raises one Error, of the first broken rule."""
    verify(module)
    netlist = to_model(module)
    require_valid(netlist)
    return netlist


def _named(ops: Sequence[Any], what: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for op in ops:
        if op.sym in found:
            raise Error("E0601", f"{what} '{op.sym}' is defined twice")
        found[op.sym] = op
    return found


def _queue(op: QueueOp, sources: dict[str, str]) -> Queue:
    fields = op.fields()
    name = fields.pop("sym")
    missing = next((field for field in QUEUE_FIELDS if field not in fields), None)
    if missing is not None:
        raise Error("E0609", f"its {missing.replace('_', ' ')} is not decided", where=f"queue '{name}'")
    tensor = plain_type(fields.pop("tensor"))
    source = sources.get(name, "HOST") if fields["kind"] in WRITTEN else "HOST"
    blocking = fields.pop("blocking", None)
    if op.view is not None:
        fields["view"] = plain_block(op.view.block)
    queue = Queue(name=name, source=source, tensor=tensor, blocking=blocking, **fields)
    return decode(Queue, encode(queue), f"queue '{name}'")  # properties are less strictly typed than fields


def _graph(op: GraphOp, queues: dict[str, QueueOp]) -> Graph:
    where = f"graph '{op.sym}'"
    ops: list[Op] = []
    writes: list[tuple[str, str]] = []
    for inner in op.block.ops:
        match inner:
            case ReadOp():
                _check_border(inner.queue, inner.value, queues, where)
            case NetlistOp():
                ops.append(_op(inner))
            case ReceiveOp():
                pass
            case WriteOp():
                _check_border(inner.queue, inner.value, queues, where, written=True)
                writes.append((_writer(inner), inner.queue))
            case _:
                raise Error("E0302", f"{inner.name} does not belong into a graph", where=where)
    given = {name: value for name in ("epoch", "settings") if (value := op.get(name)) is not None}
    return Graph(op.sym, op.chip, op.input_count, tuple(ops), tuple(writes), **_typed(given, where))


def _typed(given: dict[str, Any], where: str) -> dict[str, Any]:
    """Return values of fields, those whose property says less than their type checked.  Raises E0609."""
    return {name: decode(TYPES[name], value, where) if name in TYPES else value for name, value in given.items()}


def _check_border(name: str, value: SSAValue, queues: dict[str, QueueOp], where: str, written: bool = False) -> None:
    """A value that crosses into or out of a graph has the shape and format of its queue, or of what the queue's view takes."""
    queue = queues.get(name)
    if queue is None:
        raise Error("E0601", f"there is no queue '{name}'", where=where)
    wanted = queue.view.block.args[0].type if written and queue.view is not None and queue.view.block.args else queue.tensor
    inner, outer = plain_type(value.type), plain_type(wanted)
    if (inner.shape, inner.format) != (outer.shape, outer.format):
        raise Error("E0602", f"queue '{name}' holds {wanted}, not {value.type}", where=where)


def _writer(op: WriteOp) -> str:
    owner = op.value.owner
    if not isinstance(owner, NetlistOp):
        raise Error("E0606", f"queue '{op.queue}' is written by no op: a value read from a queue cannot be passed on")
    return owner.sym


def _op(op: NetlistOp) -> Op:
    where = f"op '{op.sym}'"
    place = op.place
    if place is None:
        raise Error("E0609", "its place is not decided", where=where)
    if not isinstance(place, Host) and not op.buffers:
        raise Error("E0609", "its buffers are not decided", where=where)
    given = {name: value for name in DEFAULTED if (value := op.get(name)) is not None}
    return Op(
        name=op.sym,
        type=op.type,
        inputs=tuple(_source(value, where) for value in op.inputs),
        place=place,
        blocking=op.blocking,
        work=plain_block(op.work.block),
        buffers=op.buffers,
        location=source_names(op.location),
        **_typed(given, where),
    )


def _source(value: SSAValue, where: str) -> str:
    owner = value.owner
    if isinstance(owner, ReadOp):
        return owner.queue
    if isinstance(owner, NetlistOp):
        return owner.sym
    if isinstance(owner, ReceiveOp):
        return owner.op
    name = owner.name if isinstance(owner, Operation) else "a block argument"
    raise Error("E0606", f"an input is {name}, neither a queue nor an op", where=where)


def _with_replicas(netlist: Netlist, programs: Sequence[ProgramOp]) -> Netlist:
    """Return a netlist with the graphs of all replicas.  Raises E0608 for programs of which some have others, E0609 without chips."""
    found = {(op.replicas or 1, op.replica_chips or ()) for op in programs}
    if len(found) > 1:
        raise Error("E0608", "all programs of a netlist have the same replicas", where=f"program '{programs[0].sym}'")
    count, chips = found.pop() if found else (1, ())
    if count == 1:
        return netlist
    if not chips:
        raise Error("E0609", "the chips of its replicas are not decided", where=f"program '{programs[0].sym}'")
    return replicated(netlist, count, chips)


def _program(op: ProgramOp) -> Program:
    return Program(op.sym, op.arguments, op.outputs, tuple(op.instructions()))

"""From the plain model to the IR of dialect netlist: the inverse of `to_model`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, SSAValue

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.locations import location_of
from ttc.dialects.core.plain.functions import TensorType
from ttc.dialects.netlist.from_plain import function_block, ir_type, takes_tensors
from ttc.dialects.netlist.model import Graph, Host, Instruction, Netlist, Op, Program, Queue
from ttc.dialects.netlist.ops import (
    OPS,
    GraphOp,
    LoopOp,
    NetlistOp,
    ProgramOp,
    QueueOp,
    ReadOp,
    ReceiveOp,
    WriteOp,
    YieldOp,
    set_chip,
    set_origin,
)
from ttc.dialects.netlist.programs import InstructionOp

DEFAULTED = ("intermediate", "accumulate", "fidelity", "precision", "inner", "cycles", "rounding", "settings")
"""Fields of an op that the IR leaves out where they have their default."""
INSTRUCTIONS = {op.name.removeprefix("netlist."): op for op in OPS if issubclass(op, InstructionOp)}


def from_model(netlist: Netlist) -> ModuleOp:
    """Return the module of a netlist that keeps the rules of `checks`; `to_model` gives an equal netlist back.

    Locations of queues, graphs and programs are not part of the model: these have none.
    Raises:  E0302 for works that IR cannot have; E0601 for names that are not there; E0608 for instructions that are none.
    """
    module = ModuleOp([])
    set_chip(module, netlist.chip)
    set_origin(module, netlist.positions, netlist.settings)
    block = module.body.block
    block.add_ops([_queue(queue) for queue in netlist.queues.values()])
    homes = {op.name: (graph.name, op) for graph in netlist.graphs.values() for op in graph.ops}
    for graph in netlist.graphs.values():
        block.add_op(_Graph(graph, netlist.queues, homes).build())
    block.add_ops([_program(program) for program in netlist.programs.values()])
    return module


def _queue(queue: Queue) -> QueueOp:
    names = ("entries", "chip", "grid", "blocking", "buffer_bytes", "key", "lifetime", "alias", "buffers")
    view = None
    if queue.view is not None:
        view = function_block(queue.view, [ir_type(t, False) for t in queue.view.inputs], YieldOp)
    return QueueOp.build(
        queue.name,
        queue.kind,
        ir_type(queue.tensor, -1 in queue.tensor.shape),
        type=queue.type,
        space=queue.location,
        view=view,
        settings=queue.settings or None,
        summed=queue.summed or None,
        ports=queue.ports or None,
        **{name: getattr(queue, name) for name in names},
    )


class _Graph:
    """Builds a graph.  homes: name of the graph of each op, and the op."""

    def __init__(self, graph: Graph, queues: Mapping[str, Queue], homes: Mapping[str, tuple[str, Op]]) -> None:
        self._graph = graph
        self._queues = queues
        self._homes = homes
        fields_ = {"epoch": graph.epoch, "settings": graph.settings or None}
        self._op = GraphOp.build(graph.name, chip=graph.chip, input_count=graph.input_count, **fields_)
        self._made: dict[str, SSAValue] = {}
        self._borders: dict[tuple[str, Attribute], SSAValue] = {}

    def build(self) -> GraphOp:
        """The graph with its reads, ops and writes."""
        for op in self._graph.ops:
            self._made[op.name] = self._add(op).result
        for name, queue in self._graph.writes:
            if name not in self._made:
                raise Error("E0601", f"there is no op '{name}'", where=f"graph '{self._graph.name}'")
            self._op.add(WriteOp.build(self._made[name], queue))
        return self._op

    def _add(self, op: Op) -> NetlistOp:
        if len(op.inputs) != len(op.work.inputs):
            raise Error("E0602", f"{len(op.inputs)} inputs for a work that takes {len(op.work.inputs)}", where=f"op '{op.name}'")
        operands = [self._operand(op, index) for index in range(len(op.inputs))]
        work = function_block(op.work, [value.type for value in operands], YieldOp)
        given = {name: getattr(op, name) for name in DEFAULTED}
        kept = {name: value for name, value in given.items() if value != _DEFAULTS[name]}
        place = {"place": op.place, "blocking": op.blocking, "buffers": op.buffers}
        return self._op.add(NetlistOp.build(op.name, operands, work, location_of(op.location), type=op.type, **place, **kept))

    def _operand(self, op: Op, index: int) -> SSAValue:
        name, wanted = op.inputs[index], op.work.inputs[index]
        if name in self._made:
            return self._made[name]
        on_tensors = isinstance(op.place, Host) and takes_tensors(op.work, index)
        if name in self._queues:
            return self._border(name, ir_type(wanted, on_tensors), received=False)
        home = self._homes.get(name)
        if home is None or home[0] == self._graph.name:
            raise Error("E0601", f"input '{name}' is neither a queue nor an op before it", where=f"op '{op.name}'")
        return self._border(name, ir_type(_result(home[1]), False), received=True)

    def _border(self, name: str, type_: Attribute, received: bool) -> SSAValue:
        """Return a value that comes into the graph: one for all ops that take it in the same type."""
        found = self._borders.get((name, type_))
        if found is None:
            op = ReceiveOp.build(name, type_) if received else ReadOp.build(name, type_)
            found = self._op.add(op).value
            self._borders[name, type_] = found
        return found


_DEFAULTS = {f.name: f.default for f in fields(Op)}


def _result(op: Op) -> TensorType:
    return op.work.value_types[op.work.outputs[0]]


# ---- programs --------------------------------------------------------------------------------------------------------------------------


def _program(program: Program) -> ProgramOp:
    found = ProgramOp.build(program.name, program.arguments, program.results)
    blocks: list[Block] = [found.block]
    for step in program.instructions:
        if step.opcode == "endloop":
            if len(blocks) == 1:
                raise Error("E0608", "endloop closes no loop", where=f"program '{program.name}'")
            blocks.pop()
        elif step.opcode == "loop" and len(step.args) == 1:
            loop = LoopOp.build(step.args[0])
            blocks[-1].add_op(loop)
            blocks.append(loop.block)
        else:
            blocks[-1].add_op(_instruction(step, f"program '{program.name}'"))
    if len(blocks) > 1:
        raise Error("E0608", f"{len(blocks) - 1} loops are not closed by endloop", where=f"program '{program.name}'")
    return found


def _instruction(step: Instruction, where: str) -> InstructionOp:
    kind = INSTRUCTIONS.get(step.opcode)
    names = [] if kind is None else [name for name in kind.get_irdl_definition().properties if name != "settings"]
    if kind is None or len(names) != len(step.args):
        raise Error("E0608", f"'{step.opcode[:40]}' with {len(step.args)} arguments is no instruction", where=where)
    return kind.new(dict(zip(names, step.args, strict=True)) | ({"settings": step.settings} if step.settings else {}))

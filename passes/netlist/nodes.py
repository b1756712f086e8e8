"""A graph of netlist ops as a problem of placement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from xdsl.ir import SSAValue

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import format_named
from ttc.dialects.core.ir.locations import where
from ttc.dialects.core.ir.to_plain import plain_type
from ttc.dialects.core.plain.functions import TensorType
from ttc.dialects.core.records import record
from ttc.dialects.netlist.ops import GraphOp, NetlistOp, QueueOp, ReadOp, queues_of
from ttc.passes.base import Unit
from ttc.passes.netlist.overrides import Overrides
from ttc.passes.netlist.view import identity_of, operand_sources, view_of
from ttc.passes.tile_to_netlist.blocking import Blockings, BlockingSubject, find
from ttc.passes.tile_to_netlist.limits import PlacementLimits
from ttc.passes.tile_to_netlist.problem import Problem, ProblemNode


@record(frozen=False)
class ProblemBuilder:
    """Makes problems of graphs; candidates are worked out once for all ops that are alike.

    turns: chips, or groups of chips, that take epochs in turn.
    """

    unit: Unit
    overrides: Overrides = field(default_factory=Overrides)
    turns: int = 1
    known: dict[tuple[object, ...], tuple[int, Blockings]] = field(default_factory=dict)

    def problem(self, graph: GraphOp) -> Problem:
        """Return the ops of a graph as nodes."""
        queues = queues_of(self.unit.module)
        numbers: dict[SSAValue, int] = {op.result: number for number, op in enumerate(graph.ops)}
        written = {write.value for write in graph.writes}
        breaks = self.overrides.breaks(graph.ops, "epoch_break")
        nodes = [replace(self.node(op, numbers, queues, stored=op.result in written), breaks=i in breaks) for i, op in enumerate(graph.ops)]
        return Problem(nodes, self.unit.target, graph.input_count, self.turns)

    def node(self, op: NetlistOp, numbers: Mapping[SSAValue, int], queues: Mapping[str, QueueOp], *, stored: bool) -> ProblemNode:
        """Return one op as a node.  numbers: of the results of the graph's ops."""
        weights = frozenset(i for i, value in enumerate(op.operands) if _is_weight(value, queues))
        limits = self.overrides.limits(op)
        kind, found = self.candidates(op, weights, limits)
        activations = {v for i, v in enumerate(op.operands) if v not in numbers and i not in weights}
        return ProblemNode(
            found,
            kind,
            tuple(sorted({numbers[v] for v in op.operands if v in numbers})),
            sum(self.size_bytes(plain_type(v.type)) for v in activations),
            self.size_bytes(plain_type(op.result.type)),
            stored,
            limits,
        )

    def candidates(self, op: NetlistOp, weights: frozenset[int], limits: PlacementLimits) -> tuple[int, Blockings]:
        """Return the candidates of an op, and a number that ops alike have in common.  weights: inputs that hold the same in every
        microbatch.
        """
        view = view_of(op)
        readers = sum(isinstance(use.operation, NetlistOp) for use in op.result.uses)
        operands = frozenset(i for i, source in enumerate(operand_sources(op)) if source in weights)
        subject = BlockingSubject(view, operands, op.accumulate or "Float32", readers, limits)
        key = (identity_of(view), operands, subject.accumulate, readers, limits)
        if key not in self.known:
            try:
                self.known[key] = len(self.known), find(subject, self.unit.target)
            except Error as error:
                raise error.at(where(op)) from None
        return self.known[key]

    def size_bytes(self, tensor: TensorType) -> int:
        """Return bytes of a tensor in DRAM, padding included."""
        if tensor.layout == "rows":
            return format_named(tensor.format).size_bytes(tensor.shape) if -1 not in tensor.shape else 0
        t, rows, cols = tensor.tile_dims()
        return t * rows * cols * format_named(tensor.format).tile_bytes(32, 32, self.unit.target.alignment_bytes)


def _is_weight(value: SSAValue, queues: Mapping[str, QueueOp]) -> bool:
    """Return whether a value is read in place by every microbatch."""
    owner = value.owner
    return isinstance(owner, ReadOp) and (queue := queues.get(owner.queue)) is not None and queue.type == "ram"

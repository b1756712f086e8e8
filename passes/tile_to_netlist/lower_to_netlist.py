"""From tile functions to graphs of netlist ops joined by queues."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ttc.dialects.core.batch_axis import OUTERMOST
from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import format_named
from ttc.dialects.core.ir.attributes import plain
from ttc.dialects.core.ir.entries import Port, microbatches_of, ports, programs_of_functions, set_module_attr
from ttc.dialects.core.ir.leaves import LeafOp, ParamOp, StateOp
from ttc.dialects.core.ir.locations import fused_location, named_location, source_names
from ttc.dialects.core.ir.to_plain import plain_type
from ttc.dialects.core.names import FreeNames
from ttc.dialects.core.records import record
from ttc.dialects.core.rules.precision import PrecisionRule
from ttc.dialects.netlist.chips import chip
from ttc.dialects.netlist.model import Argument
from ttc.dialects.netlist.ops import ExecuteOp, GraphOp, NetlistOp, ProgramOp, QueueOp, ReadOp, WriteOp, YieldOp, set_chip
from ttc.dialects.nn.unary import IdentityOp
from ttc.dialects.tile.base import TileType
from ttc.dialects.tile.eltwise import MapOp
from ttc.dialects.tile.shape import is_view
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.precision import chosen
from ttc.passes.tile_to_netlist.grouping import OpGroup, computed, groups, is_literal, is_tile_compute, segments
from ttc.passes.tile_to_netlist.weights import Keys, key_of

NAME = re.compile(r"[^A-Za-z0-9_]+")
MAX_STEM = 256
"""The most characters of a source's name that names of ops and queues keep, which have limits themselves."""


@record
class LowerToNetlist(Pass):
    """Make each computing tile op an op of a graph, with the views it reads through; weights, arguments and results become queues.

    What runs on the device and what runs on the host become graphs of their own, in an order with few changes of side.  An entry
    function becomes the program that executes its graphs, and after them those of the function that runs then (`ttc.then`).

    Before:
        func.func @forward(%x: !tile.tensor<"32x64xFloat32", "tiles(32, 32)"> {ttc.name = "x", ttc.dtype = f32})
            -> (!tile.tensor<"32x64xFloat32", "tiles(32, 32)"> {ttc.name = "y", ttc.dtype = f32}) {
          %y = tile.map(%x) {fn = "relu"}
              : (!tile.tensor<"32x64xFloat32", "tiles(32, 32)">) -> !tile.tensor<"32x64xFloat32", "tiles(32, 32)">
          func.return %y : !tile.tensor<"32x64xFloat32", "tiles(32, 32)">
        }
    After:
        netlist.queue() {kind = "input", sym = "x", tensor = !tile.tensor<"32x64xFloat32", "tiles(32, 32)">, type = "queue"} : () -> ()
        netlist.queue() {kind = "output", sym = "y", tensor = !tile.tensor<"32x64xFloat32", "tiles(32, 32)">, type = "queue"} : () -> ()
        netlist.graph() {chip = 0, input_count = 1, sym = "forward_0"} : () -> () {
          %x = netlist.read() {queue = "x"} : () -> !tile.tensor<"32x64xFloat32", "tiles(32, 32)">
          %y = netlist.op(%x) {fidelity = "HiFi4", precision = "float32", sym = "tile_map", type = "map"}
              : (!tile.tensor<"32x64xFloat32", "tiles(32, 32)">) -> !tile.tensor<"32x64xFloat32", "tiles(32, 32)"> {
          ^bb0(%a: !tile.tensor<"32x64xFloat32", "tiles(32, 32)">):
            %b = tile.map(%a) {fn = "relu"}
                : (!tile.tensor<"32x64xFloat32", "tiles(32, 32)">) -> !tile.tensor<"32x64xFloat32", "tiles(32, 32)">
            netlist.yield(%b) : (!tile.tensor<"32x64xFloat32", "tiles(32, 32)">) -> ()
          }
          netlist.write(%y) {queue = "y"} : (!tile.tensor<"32x64xFloat32", "tiles(32, 32)">) -> ()
        }
        netlist.program() {
            arguments = [#netlist.argument<name = "x", kind = "input", queue = "x", shape = [32, 64], dtype = "float32">],
            results = [#netlist.argument<name = "y", kind = "output", queue = "y", shape = [32, 64], dtype = "float32">],
            sym = "forward"} : () -> () {
          netlist.execute() {graph = "forward_0"} : () -> ()
        }
    Missed:
        never; an op that stands on the host is a remark of the lowering to tile.

    Args:
        precision: of the CPU's multiplier.
        rules: of precision; those about fidelity, intermediates and accumulation are obeyed here, each with a remark.
    """

    name: ClassVar[str] = "lower-to-netlist"
    precision: str = "float32"
    rules: tuple[PrecisionRule, ...] = ()

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        set_chip(unit.module, chip(unit.target))
        kinds: dict[str, str] = {}
        for kind, op in (("parameter", ParamOp), ("state", StateOp)):
            variables = _variables(unit.module, op)
            set_module_attr(unit.module, f"{kind}s", variables)
            kinds |= {row[0]: kind for row in variables}
        builder = _Builder(unit, self.precision, self.rules, rewriter, kinds)
        for functions in programs_of_functions(unit.module):
            if rewriter.allow("lower-to-netlist", functions[0], required=True):
                builder.lower(functions)


def usual_fidelity(format_: str) -> str:
    """Return the fidelity of an op whose result is stored in a format."""
    return "HiFi3" if format_ in ("Float16", "Float16_b") else "HiFi4"


def _variables(module: ModuleOp, kind: type[ParamOp | StateOp]) -> tuple[Any, ...]:
    """Return parameters or states of the module: (name, weight key, shape, dtype) of each, in order of first use."""
    found: dict[str, Any] = {}
    for op in module.walk():
        if isinstance(op, kind):
            spec = op.value.spec
            found.setdefault(plain(op.sym), (plain(op.sym), key_of(op), spec.shape, str(spec.dtype)))
    return tuple(found.values())


@record(frozen=False)
class _Builder:
    """Collects queues, graphs and programs; queues come first in the module, as the format asks."""

    unit: Unit
    precision: str
    rules: Sequence[PrecisionRule]
    rewriter: Rewriter
    kinds: Mapping[str, str]
    """`state` or `parameter`, by the variable's name."""
    names: set[str] = field(default_factory=set)
    free: FreeNames = field(default_factory=lambda: FreeNames("_"))
    shared: dict[tuple[str, str, str], QueueOp] = field(default_factory=dict)
    last_queue: Operation | None = None

    def __post_init__(self) -> None:
        self.keys = Keys(self.unit)

    @property
    def module(self) -> ModuleOp:
        return self.unit.module

    def lower(self, functions: Sequence[func.FuncOp]) -> None:
        """Replace the entry functions of a program by the graphs, queues and program that they become."""
        taken = {port.name for function in functions[1:] for port in ports(function)[0]}
        parts: list[_Part] = []
        for function in functions:
            sums = {port.name: queue for part in parts for port, queue in part.results}
            parts.append(self.part(function, sums, taken))
        name, replicas = functions[0].sym_name.data, parts[0].replicas
        linked = {port.name for port, _ in parts[0].results} & taken
        arguments = {p.name: (p, q, part.count) for part in parts for p, q in part.arguments if p.name not in linked}
        results = [(p, q, part.count) for part in parts for p, q in part.results if p.name not in linked]
        program = ProgramOp.build(
            name,
            [_argument(p, q, "input", n * replicas) for p, q, n in arguments.values()],
            [_argument(p, q, self.result_kind(p), n * replicas) for p, q, n in results],
            named_location(name),
        )
        program.replicas = replicas if replicas > 1 else None
        for graph in (graph for part in parts for graph in part.graphs):
            program.add(ExecuteOp.build(graph.op))
            self.append(graph.op)
        self.append(program)
        for function in functions:
            function.detach()
            function.erase()

    def part(self, function: func.FuncOp, given: Mapping[str, QueueOp], taken: Collection[str]) -> _Part:
        """Return what one entry function of a program becomes.

        given: queues that functions before it fill, by the name of the argument.  taken: names of results that one after it reads.
        """
        arguments, results = ports(function)
        block = function.body.block
        _copy_what_is_not_computed(block)
        name, count = function.sym_name.data, microbatches_of(function)
        replicas = plain(function.attributes["ttc.replicas"]) if "ttc.replicas" in function.attributes else 1
        known = [given.get(port.name) or self.input(a, port, count) for a, port in zip(block.args, arguments, strict=True)]
        queues: dict[SSAValue, QueueOp] = dict(zip(block.args, known, strict=True))
        found = groups(block, is_view, self.on_host)
        graphs = self.graphs(name, segments(found), queues, count)
        states = {plain(op.sym): op for op in block.ops if isinstance(op, StateOp)}
        for state in states.values():
            if state.result.first_use is None:
                self.leaf(state)
        returned = list(zip(_returned(block), results, strict=True))
        outputs = [self.result(value, port, count, states.get(port.updates or ""), inner=port.name in taken) for value, port in returned]
        writers = {value: graph for graph in graphs for value in graph.results}
        for (value, _), queue in zip(returned, outputs, strict=True):
            writers[value].write(value, queue)
        return _Part(count, replicas, graphs, list(zip(arguments, known, strict=True)), list(zip(results, outputs, strict=True)))

    def on_host(self, op: Operation) -> bool:
        """Return whether an op runs on the host beside a device; on target host all ops do, as one."""
        return not self.unit.target.is_host and not is_tile_compute(op)

    def result_kind(self, port: Port) -> str:
        """`output`, or the kind of what the result updates.  Raises E0302 for an unknown name."""
        if port.updates is None:
            return "output"
        if port.updates not in self.kinds:
            raise Error("E0302", f"result '{port.name}' updates '{port.updates}', which is no state or parameter")
        return self.kinds[port.updates]

    def graphs(self, name: str, parts: Sequence[Sequence[OpGroup]], queues: dict[SSAValue, QueueOp], count: int) -> list[_Graph]:
        """Return a graph for each segment; values that cross a border get an edge queue."""
        made: list[_Graph] = []
        home: dict[SSAValue, _Graph] = {}
        for index, part in enumerate(parts):
            on_host = part[0].on_host or self.unit.target.is_host
            graph = _Graph(GraphOp.build(self.fresh(f"{name}_{index}"), chip=0, input_count=count, location=named_location(name)), on_host)
            for group in part:
                operands = [self.operand(value, graph, home, queues) for value in group.inputs]
                for result in group.main.results:
                    home[result] = graph
                    graph.values[result] = self.op(graph, group, result, operands)
            made.append(graph)
        return made

    def operand(self, value: SSAValue, graph: _Graph, home: dict[SSAValue, _Graph], queues: dict[SSAValue, QueueOp]) -> SSAValue:
        """Return the value inside a graph: the result of one of its ops, or what it reads from a queue."""
        if value in graph.values:
            return graph.values[value]
        if value not in queues:
            queues[value] = self.leaf(value.owner) if isinstance(value.owner, LeafOp) else self.edge(value, home[value])
        read = graph.op.add(ReadOp.build(queues[value], value.type, queues[value].location))
        graph.values[value] = read.value
        return read.value

    def op(self, graph: _Graph, group: OpGroup, result: SSAValue, operands: Sequence[SSAValue]) -> SSAValue:
        """Return one netlist op around copies of the group's members."""
        work = Block(arg_types=[v.type for v in group.inputs])
        mapper: dict[SSAValue, SSAValue] = dict(zip(group.inputs, work.args, strict=True))
        for member in group.members:
            work.add_op(member.clone(mapper))
        work.add_op(YieldOp.build(mapper[result]))
        location = group.main.location
        label = _stem((source_names(location) or (group.main.name,))[0]) or group.main.name
        kind = "fused" if group.main.name == "tile.eltwise" else group.main.name.partition(".")[2]
        op = NetlistOp.build(
            self.fresh(label),
            operands,
            work,
            fused_location(m.location for m in group.members if not isinstance(m, LeafOp)),
            type=kind,
            precision=self.precision,
            **self.settings(group, plain_type(result.type).format),
        )
        graph.op.add(op)
        return op.result

    def settings(self, group: OpGroup, format_: str) -> dict[str, str]:
        """Fidelity, and the formats of intermediates and accumulation where rules or the target ask for others than Float32.

        format_: of the result.
        """
        found = {"fidelity": usual_fidelity(format_)}
        if group.on_host or self.unit.target.is_host:
            return found
        if not self.unit.target.wide_accumulation:
            found["accumulate"] = found["intermediate"] = self.unit.target.accumulator(format_)
        choices = {key: choice for key, choice in chosen(group.main, self.rules).items() if key in PrecisionRule.COMPUTED}
        if choices:
            message = ", ".join(f"{key} {value}" for key, (value, _) in choices.items())
            self.rewriter.applied(group.main, message, rule="; ".join(dict.fromkeys(rule.text for _, rule in choices.values())))
        return found | {key: value for key, (value, _) in choices.items()}

    def queue(self, name: str, kind: str, value: SSAValue, location: Attribute, **fields: Any) -> QueueOp:
        """Return a queue of the value's type under a free name like the one given."""
        op = QueueOp.build(self.fresh(_stem(name) or kind), kind, value.type, location=location, **fields)
        block = self.module.body.block
        anchor = block.first_op if self.last_queue is None else self.last_queue.next_op
        block.insert_op_before(op, anchor) if anchor is not None else block.add_op(op)
        self.last_queue = op
        return op

    def input(self, value: SSAValue, port: Port, count: int) -> QueueOp:
        """Return the queue of an argument; one that every microbatch reads stays in place."""
        kept = count > 1 and not port.streamed
        return self.queue(port.name, "input", value, named_location(port.name), type="ram" if kept else "queue")

    def result(self, value: SSAValue, port: Port, count: int, state: StateOp | None, *, inner: bool) -> QueueOp:
        """Return the queue of a result.

        A state that changes from one of several microbatches to the next is written where it is read.  What has no rows of each
        microbatch is one entry: the last, or the sum of all.

        Args:
            count: microbatches.
            state: that the function reads under the name which the result updates.
            inner: whether a function that runs after this one takes it, and not the user.
        """
        if count > 1 and port.updates is not None and state is not None:
            return self.leaf(state, value)
        kept = count > 1 and not port.streamed
        kind = "edge" if inner else "output"
        summed = True if port.summed and count > 1 else None
        return self.queue(port.name, kind, value, _location(value), type="ram" if kept else "queue", summed=summed)

    def edge(self, value: SSAValue, graph: _Graph) -> QueueOp:
        """A queue for a value that one graph makes and others read; the first graph writes it."""
        producer = graph.values[value].owner
        name = producer.sym if isinstance(producer, NetlistOp) else "edge"
        queue = self.queue(f"{name}_q", "edge", value, _location(value))
        graph.write(value, queue)
        return queue

    def leaf(self, op: LeafOp, value: SSAValue | None = None) -> QueueOp:
        """Return the queue of a parameter, constant or state; one for all functions that use it in the same type.

        value: of whose type it is; None: the leaf's own.
        """
        value = op.results[0] if value is None else value
        kind = {"ttc.param": "parameter", "ttc.state": "state"}.get(op.name, "constant")
        key = self.keys.of(op)
        name = str(plain(op.sym)) if isinstance(op, ParamOp | StateOp) else key
        identity = (kind, name, str(value.type))
        if identity not in self.shared:
            self.shared[identity] = self.queue(name, kind, value, op.location, type="ram", key=key)
        return self.shared[identity]

    def fresh(self, stem: str) -> str:
        """A name no queue, op, graph or program has."""
        name = self.free.of(stem, self.names)
        self.names.add(name)
        return name

    def append(self, op: Operation) -> None:
        self.module.body.block.add_op(op)


@record
class _Part:
    """What an entry function becomes: graphs, and the queues of its arguments and results.  count: of microbatches."""

    count: int
    replicas: int
    graphs: list[_Graph]
    arguments: list[tuple[Port, QueueOp]]
    results: list[tuple[Port, QueueOp]]


@record(frozen=False)
class _Graph:
    """A graph in the making: values of the function as values of the graph."""

    op: GraphOp
    on_host: bool
    values: dict[SSAValue, SSAValue] = field(default_factory=dict)

    @property
    def results(self) -> list[SSAValue]:
        """Values that ops of this graph compute."""
        return [v for v, inner in self.values.items() if isinstance(inner.owner, NetlistOp)]

    def write(self, value: SSAValue, queue: QueueOp) -> None:
        """Write a value of this graph to a queue, at its end."""
        self.op.add(WriteOp.build(self.values[value], queue, queue.location))


def _stem(name: str) -> str:
    """Return what names of a netlist can be made of a source's name; empty if that has no letters or digits."""
    return NAME.sub("_", name[:MAX_STEM]).strip("_")


def _location(value: SSAValue) -> Attribute:
    owner = value.owner
    return owner.location if isinstance(owner, Operation) else UnknownLoc()


def _returned(block: Block) -> list[SSAValue]:
    last = block.last_op
    return list(last.operands) if last is not None else []


def _copy_what_is_not_computed(block: Block) -> None:
    """Give every result that is an argument, a leaf, a view or a literal an op of its own that copies it."""
    last = block.last_op
    if last is None:
        return
    values = list(last.operands)
    for index, value in enumerate(values):
        if computed(value, is_view) and not is_literal(value.owner):
            continue
        location = value.owner.location if isinstance(value.owner, Operation) else last.location
        on_tiles = isinstance(value.type, TileType)
        copy = MapOp.build(value, location=location, fn="identity") if on_tiles else IdentityOp.build(value, location=location)
        block.insert_op_before(copy, last)
        values[index] = copy.results[0]
    last.operands = values


def _argument(port: Port, queue: QueueOp, kind: str, count: int) -> Argument:
    """Return how the user sees a port: the shape of all microbatches together, in the source's dtype."""
    tensor = plain_type(queue.tensor)
    at = port.streamed or OUTERMOST
    shape = tensor.shape if port.streamed is None else at.resized(tensor.shape, 1, count)
    dtype = format_named(tensor.format).storage if port.dtype is None and tensor.layout == "rows" else port.dtype
    if dtype is None:
        raise Error("E0302", f"argument or result '{port.name}' has no dtype (ttc.dtype)")
    return Argument(port.name, kind, queue.sym, shape, str(dtype), port.streamed is not None, port.updates, axis=at.axis, runs=at.runs)  # pyright: ignore[reportArgumentType]

"""A training program in the manner of the reference compiler: programs run_fwd, run_bwd and run_opt over rams that their ops write.

A parameter or state lies in a ram that the op writes which updates it.  Gradients add up in such rams: the op that adds to one becomes a
gradient op, whose ram starts from zero where `$p_zero_grad` says so, and so the optimizer clears nothing.  The programs `evaluate` and
`step`, which compute the same at once, are left out, as a queue has one op that fills it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Function
from ttc.dialects.core.records import record
from ttc.dialects.netlist.instructions import executed_graphs
from ttc.dialects.netlist.model import Argument, Grid, Netlist, Op, Program, Queue

FORWARD, BACKWARD, OPTIMIZER = "forward", "backward", "optimizer"
NAMES = {FORWARD: "run_fwd", BACKWARD: "run_bwd", OPTIMIZER: "run_opt"}
"""Programs of a training netlist, and what the reference compiler calls them."""


def training_netlist(netlist: Netlist, keys: Mapping[str, str]) -> Netlist:
    """Return the netlist of a training program with rams that its ops update; another one as it is.

    keys: of the tensors that hold parameters and states, by name.
    Raises: E0503 for a variable that is read in another layout than it is written in, and for a sum that an op computes with more.
    """
    if not {BACKWARD, OPTIMIZER} <= netlist.programs.keys():
        return netlist
    return _Rams(netlist, keys).run()


@record(frozen=False)
class _Rams:
    """Lets ops write the rams of variables.

    places: the ram that is written in the place of a result's queue.  rams: those that are written, as they are now.
    summed: names of queues of gradients.  gone: ops that clear them.
    """

    netlist: Netlist
    keys: Mapping[str, str]
    places: dict[str, str] = field(default_factory=dict)
    rams: dict[str, Queue] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.programs = {name: self.netlist.programs[name] for name in NAMES if name in self.netlist.programs}
        executed = {graph for program in self.programs.values() for graph in executed_graphs(program)}
        self.graphs = {name: graph for name, graph in self.netlist.graphs.items() if name in executed}
        self.writers = {queue: op for graph in self.graphs.values() for name, queue in graph.writes for op in graph.ops if op.name == name}

    def run(self) -> Netlist:
        """Return the netlist."""
        added = {result.updates for result in self.programs[BACKWARD].results if result.updates is not None}
        for name, program in self.programs.items():
            for result in program.results:
                if result.updates in added and name == OPTIMIZER:
                    self.gone.add(self.writers[result.queue].name)
                elif result.updates is not None:
                    self.update(result, summed=name == BACKWARD and self.is_cleared(result))
        sums = {self.writers[queue].name: ram for queue, ram in self.places.items() if self.rams[ram].summed}
        graphs = {}
        for name, graph in self.graphs.items():
            ops = tuple(_added(op, sums[op.name]) if op.name in sums else op for op in graph.ops if op.name not in self.gone)
            writes = tuple((op, self.places.get(queue, queue)) for op, queue in graph.writes if op not in self.gone)
            graphs[name] = replace(graph, ops=ops, writes=writes)
        used = {name for graph in graphs.values() for op in graph.ops for name in op.inputs}
        used |= {queue for graph in graphs.values() for _, queue in graph.writes}
        queues = {name: self.rams.get(name, queue) for name, queue in self.netlist.queues.items() if name in used}
        programs = {NAMES[name]: self.renamed(name, program) for name, program in self.programs.items()}
        return replace(self.netlist, queues=queues, graphs={n: g for n, g in graphs.items() if g.ops}, programs=programs)

    def is_cleared(self, result: Argument) -> bool:
        """Return whether the optimizer clears what a result updates."""
        return any(other.updates == result.updates for other in self.programs[OPTIMIZER].results)

    def update(self, result: Argument, *, summed: bool) -> None:
        """Let the op that computes a new value write it to the variable's ram; one on the host stays the host's to write."""
        writer, filled = self.writers[result.queue], self.netlist.queues[result.queue]
        shown = [queue for queue in self.netlist.queues.values() if queue.key == self.keys.get(str(result.updates)) and self.is_read(queue)]
        if not isinstance(writer.place, Grid) or not shown:
            return
        (ram, *others) = shown
        if others or ram.tensor != filled.tensor:
            raise Error("E0503", "it is read in another layout than it is written in", where=f"'{result.updates}'")
        self.check_order(ram.name, filled.name, result)
        layout = {name: getattr(filled, name) for name in ("location", "chip", "grid", "blocking", "buffers", "buffer_bytes")}
        self.rams[ram.name] = replace(ram, source=writer.name, entries=1, summed=summed, ports=(), **layout)
        self.places[filled.name] = ram.name

    def check_order(self, ram: str, filled: str, result: Argument) -> None:
        """No graph of the program reads a ram once another has written it.  Raises E0503."""
        program = next(program for program in self.programs.values() if result in program.results)
        written = False
        for name in executed_graphs(program):
            if written and any(ram in op.inputs for op in self.graphs[name].ops):
                raise Error("E0503", f"graph '{name}' reads it after its new value is written", where=f"'{result.updates}'")
            written = written or any(queue == filled for _, queue in self.graphs[name].writes)

    def is_read(self, queue: Queue) -> bool:
        return any(queue.name in op.inputs for graph in self.graphs.values() for op in graph.ops)

    def renamed(self, name: str, program: Program) -> Program:
        """Return a program under the reference's name, without what its ops now write to rams, and without graphs that only clear."""
        gone = {graph for graph in self.graphs if all(op.name in self.gone for op in self.graphs[graph].ops)}
        steps = (step for step in program.instructions if step.opcode != "execute" or step.args[0] not in gone)
        results = tuple(result for result in program.results if result.updates is None)
        return replace(program, name=NAMES[name], instructions=tuple(steps), results=results)


def _added(op: Op, ram: str) -> Op:
    """Return the gradient op that gives what an op adds to a ram.  Raises E0503 for an op that does more."""
    place = op.inputs.index(ram) if ram in op.inputs else -1
    *before, last = op.work.works
    reads = [work for work in op.work.works if place in work.operands]
    if place < 0 or reads != [last] or last.op != "tile.map" or last.attrs.get("fn") != "add" or last.operands.count(place) != 1:
        raise Error("E0503", "the gradient adds up in an op that computes with more", where=" + ".join(op.location) or op.name)
    (rest,) = [operand for operand in last.operands if operand != place]
    moved = replace(last, operands=(rest,), attrs={**last.attrs, "fn": "identity"})
    works = [replace(work, operands=tuple(_without(operand, place) for operand in work.operands)) for work in (*before, moved)]
    inputs = tuple(x for index, x in enumerate(op.work.inputs) if index != place)
    function = Function(inputs, tuple(works), tuple(index - 1 for index in op.work.outputs))
    buffers = tuple(replace(b, role=_role(b.role, place)) for b in op.buffers if b.role != f"in{place}")
    return replace(op, inputs=tuple(x for x in op.inputs if x != ram), work=function, buffers=buffers)


def _without(operand: int | None, place: int) -> int | None:
    return operand if operand is None or operand < place else operand - 1


def _role(role: str, place: int) -> str:
    """Return the role of a buffer once an input is gone."""
    number = role.removeprefix("in")
    return f"in{int(number) - 1}" if role.startswith("in") and number.isdecimal() and int(number) > place else role

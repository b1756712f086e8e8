"""Rules for programs: instructions, arguments, the order of writes and reads, lifetimes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import field, fields
from math import prod

from ttc.dialects.core.records import record
from ttc.dialects.netlist.check_queues import KEPT, WRITTEN
from ttc.dialects.netlist.check_stashes import Stashes
from ttc.dialects.netlist.instructions import ARGUMENTS
from ttc.dialects.netlist.model import Argument, Graph, Instruction, Netlist, Program, QueueSetting
from ttc.dialects.netlist.violations import Findings

VARIABLE = re.compile(r"\$[A-Za-z_][A-Za-z0-9_]{0,63}")
POINTED_VARIABLE = re.compile(r"\$[!-~]{1,255}")
"""Variables where programs set the positions in queues, as Buda's do: any text after the sign."""
MAX_LOOPS = 8
"""The most loops nested in each other."""
MAX_ITERATIONS = 1 << 20
"""The most runs of an innermost loop."""
MAX_SHOWN = 80
"""The most characters of a name that a message shows."""
MAX_USES = 1 << 22
"""The most reads and writes of queues in all epochs of a program."""
POINTED = ("staticvar", "param", "allocate", "deallocate")
"""Instructions of programs that set positions in queues."""
RESULT_KINDS = {"output": ("output",), "parameter": ("parameter", "output"), "state": ("state", "output")}
"""Kinds of queue that may carry a result of that kind."""


def check_programs(netlist: Netlist, found: Findings) -> None:
    """Check all rules of programs."""
    stashes = Stashes(netlist, found)
    for program in netlist.programs.values():
        where = f"program '{program.name}'"
        _check_arguments(program, netlist, where, found)
        walk = InstructionWalk(netlist, where, found)
        for index, instruction in enumerate(program.instructions):
            walk.step(index, instruction)
        walk.finish()
        if netlist.positions == "order":
            Dataflow(program, netlist, walk, stashes, found).check()
    if netlist.positions == "order":
        stashes.check()


# ---- arguments -----------------------------------------------------------------------------------------------------------------------


def _check_arguments(program: Program, netlist: Netlist, where: str, found: Findings) -> None:
    names = [a.name for a in program.arguments]
    found.require(len(set(names)) == len(names), "E0608", where, "two of its arguments have the same name")
    names = [a.name for a in program.results]
    found.require(len(set(names)) == len(names), "E0608", where, "two of its results have the same name")
    for argument in program.arguments:
        kinds = () if argument.kind == "output" else (argument.kind,)
        _check_argument(argument, kinds, netlist, f"{where}, argument '{argument.name}'", found)
        found.require(argument.updates is None, "E0608", where, f"argument '{argument.name}' is no result: it updates nothing")
    for result in program.results:
        here = f"{where}, result '{result.name}'"
        _check_argument(result, RESULT_KINDS.get(result.kind, ()), netlist, here, found)
        updates = result.kind in ("parameter", "state")
        agree = updates == (result.updates is not None)
        found.require(agree, "E0608", here, f"kind {result.kind} {'must' if updates else 'cannot'} name what it updates")


def _check_argument(argument: Argument, kinds: tuple[str, ...], netlist: Netlist, where: str, found: Findings) -> None:
    if not found.require(len(set(argument.queues)) == len(argument.queues), "E0608", where, "two of its replicas share a queue"):
        return
    found.require(not argument.replicas or argument.updates is None, "E0608", where, "what replicas compute updates nothing")
    for name in argument.queues:
        _check_queue(argument, name, kinds, netlist, where, found)


def _check_queue(argument: Argument, name: str, kinds: tuple[str, ...], netlist: Netlist, where: str, found: Findings) -> None:
    queue = netlist.queues.get(name)
    if queue is None:
        found.add("E0601", where, f"'{name}' is no queue", found.nearest(name, netlist.queues))
        return
    message = f"its kind {argument.kind} does not go with queue '{queue.name}' of kind {queue.kind}"
    found.require(queue.kind in kinds, "E0608", where, message)
    if min(argument.shape, default=0) < 0 or -1 in queue.tensor.shape:
        return
    elements, entry = prod(argument.shape), queue.tensor.elements * argument.shares
    fits = elements == entry
    if argument.streamed:
        fits = entry > 0 and elements % entry == 0 and argument.batch.fits(argument.shape, elements // entry)
    divided = f" of {argument.shares} replicas" if argument.shares > 1 else ""
    message = f"shape {list(argument.shape)} does not fill entries{divided} of shape {list(queue.tensor.shape)}"
    found.require(fits, "E0608", where, message)


# ---- instructions ----------------------------------------------------------------------------------------------------------------------


@record(frozen=False)
class Loop:
    """An open or closed loop: epochs [first, last] inside it, and how often it runs as far as that is known.

    certain: whether it is known.
    """

    first: int
    iterations: int
    last: int = -1
    certain: bool = True


@record(frozen=False)
class InstructionWalk:
    """Goes through instructions, checks them one by one, and notes which epochs execute what inside which loops.

    used: names that the executed graphs read and write, by graph.
    """

    netlist: Netlist
    where: str
    found: Findings
    variables: dict[str, int | None] = field(default_factory=dict)
    open: list[Loop] = field(default_factory=list)
    epochs: list[tuple[Graph, tuple[Loop, ...]]] = field(default_factory=list)
    used: dict[str, set[str]] = field(default_factory=dict)

    @property
    def pointed(self) -> bool:
        """Whether programs set the positions in queues; they may then assign variables that they did not declare, as Buda's do."""
        return self.netlist.positions == "pointers"

    def step(self, index: int, instruction: Instruction) -> None:
        """Check one instruction and keep account of what it does."""
        where = f"{self.where}, instruction {index} ({instruction.opcode[:40]})"
        form = ARGUMENTS.get(instruction.opcode)
        if form is None:
            self.found.add("E0608", where, "there is no such instruction", self.found.nearest(instruction.opcode, ARGUMENTS))
            return
        if not self.pointed:
            legal = instruction.opcode not in POINTED and not instruction.settings
            self.found.require(legal, "E0608", where, "is only for programs that set the positions in queues")
        if not self.found.require(len(form) == len(instruction.args), "E0608", where, f"takes {len(form)} arguments"):
            return
        if all(self._check_value(kind, value, where) for kind, value in zip(form, instruction.args, strict=True)):
            self._run(instruction, where)

    def finish(self) -> None:
        """Check at the end that all loops are closed."""
        self.found.require(not self.open, "E0608", self.where, f"{len(self.open)} loops are not closed by endloop")
        for loop in self.open:
            loop.last = len(self.epochs) - 1

    def _check_value(self, kind: str, value: str | int, where: str) -> bool:
        if kind == "g":
            if value not in self.netlist.graphs:
                self.found.add("E0601", where, f"'{value}' is no graph", self.found.nearest(str(value), self.netlist.graphs))
            return value in self.netlist.graphs
        if kind == "q":
            if value not in self.netlist.queues:
                self.found.add("E0601", where, f"'{value}' is no queue", self.found.nearest(str(value), self.netlist.queues))
            return value in self.netlist.queues
        if kind == "v" and not isinstance(value, str):
            return True
        pattern = POINTED_VARIABLE if self.pointed else VARIABLE
        if not isinstance(value, str) or not pattern.fullmatch(value):
            self.found.add("E0608", where, f"'{str(value)[:40]}' is no variable", "variables read $name")
            return False
        if kind == "n":
            return self.found.require(value not in self.variables, "E0608", where, f"variable {value} is declared twice")
        if kind == "d" and self.pointed:
            self.variables.setdefault(value, 0)
        return self.found.require(value in self.variables, "E0608", where, f"variable {value} is not declared")

    def _check_settings(self, graph: Graph, settings: tuple[QueueSetting, ...], where: str) -> None:
        """Each is of another queue that the graph reads or writes, and its variables are declared."""
        if graph.name not in self.used:
            self.used[graph.name] = {name for op in graph.ops for name in op.inputs} | {queue for _, queue in graph.writes}
        used = self.used[graph.name]
        seen: set[str] = set()
        for setting in settings:
            here = f"{where}, queue '{setting.queue[:MAX_SHOWN]}'"
            self.found.require(setting.queue in used, "E0608", here, f"graph '{graph.name}' neither reads nor writes it")
            self.found.require(setting.queue not in seen, "E0608", here, "has its settings twice")
            seen.add(setting.queue)
            for item in fields(setting)[1:]:
                value = getattr(setting, item.name)
                known = not isinstance(value, str) or value in self.variables
                self.found.require(known, "E0608", here, f"{item.name} is variable '{str(value)[:MAX_SHOWN]}', which is not declared")

    def _run(self, instruction: Instruction, where: str) -> None:
        args = instruction.args
        match instruction.opcode:
            case "allocate" | "deallocate":
                pass
            case "execute":
                self._check_settings(self.netlist.graphs[str(args[0])], instruction.settings, where)
                self.epochs.append((self.netlist.graphs[str(args[0])], tuple(self.open[:MAX_LOOPS])))
            case "loop":
                self._enter(args[0], where)
            case "endloop":
                self._leave(where)
            case "var" | "set":
                self.variables[str(args[0])] = self._known(args[1])
            case _:
                if instruction.opcode == "incwrap" and not isinstance(args[2], str):
                    self.found.require(args[2] >= 1, "E0608", where, f"wraps at {args[2]}: at least 1")
                self.variables[str(args[0])] = None

    def _known(self, value: str | int) -> int | None:
        """Return the value where it is certain: outside of loops, as set in the text."""
        if isinstance(value, str):
            value_known = self.variables.get(value)
            return value_known if not self.open else None
        return value if not self.open else None

    def _enter(self, count: str | int, where: str) -> None:
        known = self.variables.get(count) if isinstance(count, str) else count
        runs = 1 if known is None else known
        self.found.require(runs >= 1, "E0608", where, f"a loop runs at least once, not {runs} times")
        self.found.require(len(self.open) < MAX_LOOPS, "E0608", where, f"loops nest more than {MAX_LOOPS} deep")
        total = max(runs, 1) * (self.open[-1].iterations if self.open else 1)
        bounded = self.pointed or total <= MAX_ITERATIONS  # whoever runs Buda's programs counts their steps
        self.found.require(bounded, "E0608", where, f"{total} iterations are more than {MAX_ITERATIONS}")
        certain = known is not None and (not self.open or self.open[-1].certain)
        self.open.append(Loop(len(self.epochs), min(total, MAX_ITERATIONS), certain=certain))

    def _leave(self, where: str) -> None:
        if self.found.require(bool(self.open), "E0608", where, "closes no loop"):
            self.open.pop().last = len(self.epochs) - 1


# ---- what flows through queues -----------------------------------------------------------------------------------------------------------


@record(frozen=False)
class Dataflow:
    """The order of writes and reads of one program, and the epochs in which each queue must hold its value.

    stashes: are told what the program does to them.
    """

    program: Program
    netlist: Netlist
    walk: InstructionWalk
    stashes: Stashes
    found: Findings

    def check(self) -> None:
        """Every read has a writer before it, every result is written, lifetimes cover all uses."""
        written: set[str] = set()
        given = {queue for a in self.program.arguments for queue in a.queues}
        executed = {graph.name: graph for graph, _ in self.walk.epochs}
        reads = {name: self._reads(graph) for name, graph in executed.items()}
        total = sum(len(reads[graph.name]) + len(graph.writes) for graph, _ in self.walk.epochs)
        if not self.found.require(total <= MAX_USES, "E0608", self.walk.where, f"its {total} uses of queues are too many"):
            return
        uses: dict[str, list[int]] = defaultdict(list)
        self._check_carried(reads)
        for epoch, (graph, loops) in enumerate(self.walk.epochs):
            count = graph.input_count * (loops[-1].iterations if loops else 1)
            self.stashes.note(self.program, graph, count, reads[graph.name])
            for name in reads[graph.name]:
                uses[name].append(epoch)
                self._check_read(name, graph, given, written)
            for _, name in graph.writes:
                uses[name].append(epoch)
                written.add(name)
        carriers = {queue: result.name for result in self.program.results for queue in result.queues}
        for queue, name in carriers.items():
            missing = queue in self.netlist.queues and queue not in written
            self.found.require(not missing, "E0608", self.walk.where, f"nothing writes queue '{queue}' of result '{name}'")
        for name, epochs in uses.items():
            self._check_lifetime(name, epochs)

    def _check_carried(self, reads: Mapping[str, Sequence[str]]) -> None:
        """A state that each of several microbatches changes is read where it is written: other graphs take all microbatches at once."""
        streams = [graph for graph in {graph.name: graph for graph, _ in self.walk.epochs}.values() if graph.input_count > 1]
        for graph in streams:
            for _, name in graph.writes:
                kept = name in self.netlist.queues and self.netlist.queues[name].kind == "state"
                other = next((g.name for g in streams if g is not graph and name in reads[g.name]), None) if kept else None
                message = f"each microbatch of graph '{graph.name}' changes state '{name}', which graph '{other}' reads for all of them"
                self.found.require(other is None, "E0608", self.walk.where, message)

    def _reads(self, graph: Graph) -> list[str]:
        names = dict.fromkeys(name for op in graph.ops for name in op.inputs)
        return [name for name in names if name in self.netlist.queues]

    def _check_read(self, name: str, graph: Graph, given: set[str], written: set[str]) -> None:
        queue = self.netlist.queues[name]
        if queue.kind in KEPT or name in written or (queue.kind == "input" and name in given):
            return
        message = f"graph '{graph.name}' reads queue '{name}' before anything fills it"
        hint = "an input must be an argument of the program" if queue.kind == "input" else "execute the graph that writes it earlier"
        self.found.add("E0608", self.walk.where, message, hint)

    def _check_lifetime(self, name: str, epochs: list[int]) -> None:
        queue = self.netlist.queues.get(name)
        if queue is None or queue.lifetime is None:
            return
        first, last = needed_epochs(queue.kind, epochs, self.walk)
        covered = queue.lifetime[0] <= first and last <= queue.lifetime[1]
        message = f"lives in epochs {list(queue.lifetime)}, but {self.walk.where} needs it in {[first, last]}"
        self.found.require(covered, "E0605", f"queue '{name}'", message)


def needed_epochs(kind: str, epochs: Sequence[int], walk: InstructionWalk) -> tuple[int, int]:
    """First and last epoch of a program in which a queue of that kind must hold its value.

    The host fills inputs before the first epoch and reads outputs after the last.  A loop that holds some of the uses but not
    all runs again while the value must stay: its whole span counts.

    Args:    epochs: in which graphs read or write the queue, in order.
    """
    outside = kind != "edge"
    first, last = min(epochs), max(epochs)
    if outside:
        first, last = (first, len(walk.epochs) - 1) if kind in WRITTEN else (0, last)
    for epoch in epochs:
        for loop in walk.epochs[epoch][1]:
            inside = not outside and loop.first <= epochs[0] and epochs[-1] <= loop.last
            first, last = (first, last) if inside else (min(first, loop.first), max(last, loop.last))
    return first, last

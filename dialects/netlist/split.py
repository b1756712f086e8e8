"""Splitting a netlist by chip, so that the parts can run apart: what crosses from one to the other passes through results and arguments."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import format_named
from ttc.dialects.core.records import record
from ttc.dialects.netlist.check_programs import InstructionWalk
from ttc.dialects.netlist.check_queues import STORED
from ttc.dialects.netlist.checks import require_valid
from ttc.dialects.netlist.instructions import executed_graphs
from ttc.dialects.netlist.model import Argument, Graph, Host, Instruction, Netlist, Program, Queue
from ttc.dialects.netlist.part_memory import arranged
from ttc.dialects.netlist.sizes import queue_buffer_bytes
from ttc.dialects.netlist.violations import Findings


@record(slots=True)
class Joint:
    """A queue that one part fills and another reads.

    Args:
        name: of the result of the one part's programs, and of the argument of the other's.
        queue: its name in both parts.
        source, target: chips of the parts.
    """

    name: str
    queue: str
    source: int
    target: int


@record
class NetlistSplit:
    """The parts of a netlist by chip, and the queues that join them."""

    parts: dict[int, Netlist]
    joints: tuple[Joint, ...]


def split(netlist: Netlist, tensors: Mapping[str, Collection[str]]) -> NetlistSplit:
    """Split a valid netlist into one for each chip that computes.

    A part has the graphs of its chip, their queues, and the programs that execute them, with their loops and variables.  A graph on the
    host goes with the chip of the last graph before it that fills what it reads, or with its own if none does.  A queue that one chip
    fills and another reads becomes an output of the one part and an input of the other, each with room for what a run passes.  Constants,
    parameters and states go with the graphs that read them.  Queues keep their addresses unless others took their place meanwhile.

    Args:    tensors: keys of the tensors that hold each parameter and state, or derive from it, by its name.
    Raises:  E0503 for what cannot be split: programs that set positions, a state that graphs of two chips use, ops that read results of
             another chip without a queue, a loop of unknown count around a joint, chips that wait for each other within a program.
    """
    if netlist.positions != "order":
        raise Error("E0503", "its programs set the positions in queues themselves: it cannot be split by chip")
    if any(port.replicas for program in netlist.programs.values() for port in program.arguments):
        hint = "compile for the chips of one replica, or with --parallel pipeline"
        raise Error("E0503", "its programs have replicas, which take parts of a batch: it cannot be split by chip", hint=hint)
    homes = _homes(netlist)
    uses = _Uses(netlist, homes)
    _check_direct(netlist)
    _check_states(netlist, uses, tensors)
    joints = uses.joints()
    _check_order(netlist, homes, joints)
    counts = _counts(netlist)
    chips = sorted(dict.fromkeys(homes.values()))
    parts = {chip: _Part(netlist, chip, homes, uses, joints, counts).made() for chip in chips}
    for part in parts.values():
        require_valid(part)
    for joint in joints:
        _check_shapes(joint, parts)
    return NetlistSplit(parts, joints)


# ---- where things go -------------------------------------------------------------------------------------------------------------------


def _homes(netlist: Netlist) -> dict[str, int]:
    """Return the chip that each executed graph goes with."""
    homes: dict[str, int] = {}
    earlier: dict[str, tuple[int, int]] = {}
    on_device = {graph.chip for graph in netlist.graphs.values() if not any(isinstance(op.place, Host) for op in graph.ops)}
    for program in netlist.programs.values():
        filled: dict[str, tuple[int, int]] = {}  # queue: (number of the execution that filled it, chip)
        for number, name in enumerate(str(step.args[0]) for step in program.instructions if step.opcode == "execute"):
            graph = netlist.graphs[name]
            if name not in homes:
                free = bool(on_device) and any(isinstance(op.place, Host) for op in graph.ops)
                reads = netlist.read_by(graph)
                givers = [places[queue] for places in (filled, earlier) for queue in reads if queue in places]
                own = graph.chip if graph.chip in on_device or not free else min(on_device)
                homes[name] = max(givers)[1] if free and givers else own
            filled |= {queue: (number, homes[name]) for _, queue in graph.writes}
        earlier |= {queue: (-1, chip) for queue, (_, chip) in filled.items()}
    return homes


class _Uses:
    """Chips that fill and read each queue.  homes: of executed graphs."""

    def __init__(self, netlist: Netlist, homes: Mapping[str, int]) -> None:
        self._netlist = netlist
        self.filled: dict[str, int] = {}
        self.read: dict[str, dict[int, None]] = {}
        for name, chip in homes.items():
            graph = netlist.graphs[name]
            self.filled |= {queue: chip for _, queue in graph.writes}
            for queue in netlist.read_by(graph):
                self.read.setdefault(queue, {})[chip] = None

    def joints(self) -> tuple[Joint, ...]:
        """Queues that one chip fills and others read, in the netlist's order.  Raises E0503 for a stash that its own chip reads, too."""
        programs = self._netlist.programs.values()
        taken = {argument.name for program in programs for argument in (*program.arguments, *program.results)}
        found: list[Joint] = []
        for queue in self._netlist.queues.values():
            source = self.filled.get(queue.name)
            targets = sorted(chip for chip in self.read.get(queue.name, ()) if chip != source)
            if source is None or not targets or queue.kind in STORED:
                continue
            if queue.kind == "stash" and source in self.read[queue.name]:
                raise Error("E0503", f"chips {source} and {targets[0]} both read this stash", where=f"queue '{queue.name}'")
            name = queue.name
            while name in taken:
                name += "_"
            taken.add(name)
            found += [Joint(name, queue.name, source, target) for target in targets]
        return tuple(found)


# ---- what cannot be split --------------------------------------------------------------------------------------------------------------


def _check_direct(netlist: Netlist) -> None:
    for graph in netlist.graphs.values():
        own = {op.name for op in graph.ops}
        for op in graph.ops:
            other = next((name for name in op.inputs if name not in own and name not in netlist.queues), None)
            if other is not None:
                raise Error("E0503", f"reads the result of op '{other}' on another chip without a queue", where=f"op '{op.name}'")


def _check_states(netlist: Netlist, uses: _Uses, tensors: Mapping[str, Collection[str]]) -> None:
    """What programs change lies on one chip, together with all that derives from it."""
    chips: dict[str, dict[int, None]] = {}
    for queue in netlist.queues.values():
        if queue.kind in STORED and queue.key is not None:
            written = {uses.filled[queue.name]: None} if queue.name in uses.filled else {}
            chips.setdefault(queue.key, {}).update(uses.read.get(queue.name, {}) | written)
    changed = {queue.key for queue in netlist.queues.values() if queue.kind == "state" or queue.name in uses.filled}
    names = {key: name for name, keys in tensors.items() for key in keys}
    users = {names.get(key, key): dict(used) for key, used in chips.items() if key in changed}
    for result in (result for program in netlist.programs.values() for result in program.results):
        if result.updates is None:
            continue
        if result.updates not in tensors:
            raise Error("E0601", f"result '{result.name}' updates '{result.updates}', whose tensors are not known")
        found = users.setdefault(result.updates, {})
        found[uses.filled[result.queue]] = None
        for key in tensors[result.updates]:
            found.update(chips.get(key, {}))
    for name, used in users.items():
        if len(used) > 1:
            listed = " and ".join(str(chip) for chip in sorted(used))
            raise Error("E0503", f"state '{name}' is used by graphs of chips {listed}: parts that run apart cannot share it")


def _check_order(netlist: Netlist, homes: Mapping[str, int], joints: tuple[Joint, ...]) -> None:
    """Within a program, the run of a part ends before those that read its results begin."""
    for program in netlist.programs.values():
        graphs = [netlist.graphs[name] for name in executed_graphs(program)]
        written = {queue for graph in graphs for _, queue in graph.writes}
        read = {(queue, homes[graph.name]) for graph in graphs for queue in netlist.read_by(graph)}
        waiting: dict[int, set[int]] = {}
        for joint in joints:
            if joint.queue in written and (joint.queue, joint.target) in read:
                waiting.setdefault(joint.target, set()).add(joint.source)
        while free := [chip for chip, sources in waiting.items() if not sources & waiting.keys()]:
            for chip in free:
                del waiting[chip]
        if waiting:
            listed = " and ".join(str(chip) for chip in sorted(waiting))
            raise Error("E0503", f"chips {listed} wait for each other's results within a run", where=f"program '{program.name}'")


def _check_shapes(joint: Joint, parts: Mapping[int, Netlist]) -> None:
    """What a run gives at one end is what a run takes at the other."""
    ends = [result for program in parts[joint.source].programs.values() for result in program.results]
    ends += [argument for program in parts[joint.target].programs.values() for argument in program.arguments]
    shapes = {end.shape for end in ends if end.name == joint.name}
    if len(shapes) > 1:
        listed = " and ".join(str(list(shape)) for shape in sorted(shapes))
        raise Error("E0503", f"runs pass {listed} from chip {joint.source} to {joint.target}", where=f"queue '{joint.queue}'")


# ---- one part --------------------------------------------------------------------------------------------------------------------------


def _counts(netlist: Netlist) -> dict[tuple[str, str], int | None]:
    """Microbatches of each graph in a run of each program, by (program, graph); None where a loop of unknown count runs it."""
    found: dict[tuple[str, str], int | None] = {}
    for program in netlist.programs.values():
        for graph, loops in walked(program, netlist).epochs:
            before = found.get((program.name, graph.name), 0)
            rounds = loops[-1].iterations if loops else 1
            certain = not loops or loops[-1].certain
            found[program.name, graph.name] = before + graph.input_count * rounds if before is not None and certain else None
    return found


def walked(program: Program, netlist: Netlist) -> InstructionWalk:
    """Return the epochs and loops of a valid program."""
    walk = InstructionWalk(netlist, f"program '{program.name}'", Findings())
    for index, instruction in enumerate(program.instructions):
        walk.step(index, instruction)
    walk.finish()
    return walk


class _Part:
    """Makes the part of one chip.  counts: as of `_counts`."""

    def __init__(
        self,
        netlist: Netlist,
        chip: int,
        homes: Mapping[str, int],
        uses: _Uses,
        joints: tuple[Joint, ...],
        counts: Mapping[tuple[str, str], int | None],
    ) -> None:
        self._netlist = netlist
        self._chip = chip
        self._uses = uses
        self._counts = counts
        self._given = {joint.queue: joint for joint in joints if joint.target == chip}
        self._taken = {joint.queue: joint for joint in joints if joint.source == chip}
        self._graphs = {name: replace(graph, chip=chip) for name, graph in netlist.graphs.items() if homes.get(name) == chip}
        self._most: dict[str, int] = {}  # entries of joints that a run passes

    def made(self) -> Netlist:
        """Return the part, its memory in order."""
        programs = {name: self._program(program) for name, program in self._netlist.programs.items()}
        programs = {name: program for name, program in programs.items() if executed_graphs(program)}
        used = {name: None for graph in self._graphs.values() for name in self._netlist.read_by(graph)}
        used |= {queue: None for graph in self._graphs.values() for _, queue in graph.writes}
        used |= dict.fromkeys(a.queue for program in programs.values() for a in (*program.arguments, *program.results))
        queues = {name: self._queue(queue) for name, queue in self._netlist.queues.items() if name in used}
        part = replace(self._netlist, queues=queues, graphs=self._graphs, programs=programs)
        walks = [walked(program, part) for program in programs.values()]
        return arranged(part, walks, {*self._given, *self._taken})

    def _program(self, program: Program) -> Program:
        """Return the chip's part of a program: executes of its graphs with the loops around them, arguments that they read, results that
        they fill.
        """
        graphs = {name: self._graphs[name] for name in executed_graphs(program) if name in self._graphs}
        reads = dict.fromkeys(queue for graph in graphs.values() for queue in self._netlist.read_by(graph))
        writes = dict.fromkeys(queue for graph in graphs.values() for _, queue in graph.writes)
        unread = [a.queue for a in program.arguments if a.queue not in self._uses.read]
        first = next(iter(executed_graphs(program)), None) in graphs
        arguments = [a for a in program.arguments if a.queue in reads or (first and a.queue in unread)]
        results = [r for r in program.results if r.queue in writes]
        for queue, joint in self._given.items():
            if queue in reads:
                readers = [graph for graph in graphs.values() if queue in self._netlist.read_by(graph)]
                arguments.append(self._argument(joint, "input", program, readers))
        for queue, joint in self._taken.items():
            if queue in writes:
                writers = [graph for graph in graphs.values() if any(written == queue for _, written in graph.writes)]
                results.append(self._argument(joint, "output", program, writers))
        return replace(
            program, arguments=tuple(arguments), results=tuple(results), instructions=tuple(_kept(program.instructions, self._graphs))
        )

    def _argument(self, joint: Joint, kind: str, program: Program, graphs: list[Graph]) -> Argument:
        queue = self._netlist.queues[joint.queue]
        counts = {self._counts[program.name, graph.name] for graph in graphs}
        count = counts.pop()
        if count is None or counts:
            message = "the text of the program does not tell how many entries a run passes to another chip"
            raise Error("E0503", message, where=f"program '{program.name}', queue '{queue.name}'")
        if count > 1 and -1 in queue.tensor.shape:
            raise Error("E0503", "several entries whose sizes depend on data pass to another chip in a run", where=f"queue '{queue.name}'")
        self._most[queue.name] = max(self._most.get(queue.name, 1), count)
        shape = (count, *queue.tensor.shape) if count > 1 else queue.tensor.shape
        dtype = str(format_named(queue.tensor.format).array_dtype)
        return Argument(joint.name, kind, queue.name, shape, dtype, streamed=count > 1)  # pyright: ignore[reportArgumentType]

    def _queue(self, queue: Queue) -> Queue:
        """Return the queue as the part has it: joints are filled or read from outside, and hold what a run passes."""
        if queue.name not in self._given and queue.name not in self._taken:
            return queue
        entries = max(queue.entries, self._most.get(queue.name, 1))
        size = queue_buffer_bytes(queue.tensor, entries, queue.blocking, self._netlist.chip)
        given = queue.name in self._given
        kind, source = ("input", "HOST") if given else ("output", queue.source)
        return replace(queue, kind=kind, source=source, entries=entries, buffer_bytes=size)


def _kept(instructions: tuple[Instruction, ...], graphs: Collection[str]) -> Iterator[Instruction]:
    """Instructions without executes of other graphs, and without loops that then hold nothing at all."""
    kept: list[Instruction] = []
    for step in instructions:
        if step.opcode == "execute" and step.args[0] not in graphs:
            continue
        if step.opcode == "endloop" and kept[-1].opcode == "loop":
            kept.pop()
            continue
        kept.append(step)
    return iter(kept)

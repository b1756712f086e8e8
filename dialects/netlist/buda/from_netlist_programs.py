"""Programs of the plain netlist to programs of the form.

Programs that set positions are translated step by step.  Programs of the compiler's, whose queues follow the order of execution, become

    - param: [$p_loop_count]                     how often the program runs: a call of ours is one round
    - staticvar: {$lptr_q0: 0, $gptr_q0: 0}      one pair of pointers for queues that move alike
    - var: {$c_zero: 0}
    - loop: $p_loop_count
    -   allocate_queue: [...]                    before the first epoch of a queue that lives in some epochs alone
    -   execute: {graph_name: ..., queue_settings: {...}}
    -   deallocate_queue: [...]
    -   varinst: [$lptr_q0, incwrap, microbatches, twice the entries]
    - endloop

Where gradients add up in rams, `$p_zero_grad` says whether they start from zero in the first round.

Where a graph on the host lies between others, a program ends before it and another one starts after it: `name.0`, `name.1`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, fields

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.dialects.netlist import model
from ttc.dialects.netlist.buda.form import BudaInstruction, BudaProgram, BudaQueueSetting
from ttc.dialects.netlist.model import Graph, Host, Instruction, Netlist, Queue

OPCODES = {"allocate": "allocate_queue", "deallocate": "deallocate_queue"}
COUNT = "$p_loop_count"
ZERO = "$c_zero"
ZERO_GRADIENTS, STARTS = "$p_zero_grad", "$v_zero_grad"
"""Whether gradients start from zero: as the caller says, and in this round of the program, which is so in the first alone."""


# ---- programs that set positions -------------------------------------------------------------------------------------------------------


def program_form(program: model.Program, types: Mapping[str, str]) -> BudaProgram:
    """Return the program, step by step.  types: of queues by name; normalising leaves out what is the default for them."""
    return BudaProgram(program.name, tuple([_step(instruction) for instruction in program.instructions]))


def _step(instruction: Instruction) -> BudaInstruction:
    args = instruction.args
    match instruction.opcode:
        case "var" | "staticvar":
            return BudaInstruction(instruction.opcode, ((args[0], args[1]),))
        case "set" | "add" | "mul" | "inc" | "incwrap":
            return BudaInstruction("varinst", (args[0], instruction.opcode, *args[1:]))
        case "execute":
            return BudaInstruction("execute", args, tuple([_setting(s) for s in instruction.settings]))
        case opcode:
            return BudaInstruction(OPCODES.get(opcode, opcode), args)


def _setting(setting: model.QueueSetting) -> BudaQueueSetting:
    values = {f.name: _text(getattr(setting, f.name)) for f in fields(setting) if f.name != "queue"}
    return BudaQueueSetting(setting.queue, **values)  # pyright: ignore[reportArgumentType]


def _text(value: object) -> str | None:
    if value is None:
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


# ---- programs that follow the order ----------------------------------------------------------------------------------------------------


def made_programs(program: model.Program, netlist: Netlist) -> list[BudaProgram]:
    """Return the programs of Buda that do what one of ours does, one for each part between graphs on the host.

    Raises E0503 for a loop around a graph on the host, and for a stash that another program reads as well.
    """
    _check_stashes(program, netlist)
    parts = [part for part in _parts(program, netlist) if any(step.opcode == "execute" for _, step in part)]
    names = [program.name] if len(parts) == 1 else [f"{program.name}.{index}" for index in range(len(parts))]
    return [_Maker(netlist).program(name, part) for name, part in zip(names, parts, strict=True)]


def _check_stashes(program: model.Program, netlist: Netlist) -> None:
    """One program alone reads each stash: its variables are the only ones that say where the next entry is.  Raises E0503."""
    own = _stashes_read(program, netlist)
    for other in netlist.programs.values() if own else ():
        both = own & _stashes_read(other, netlist) if other is not program else set()
        if both:
            message = f"programs '{program.name}' and '{other.name}' both read it: in Buda each would have read pointers of its own"
            raise Error("E0503", message, where=f"queue '{min(both)}'")


def _stashes_read(program: model.Program, netlist: Netlist) -> set[str]:
    graphs = [netlist.graphs[str(step.args[0])] for step in program.instructions if step.opcode == "execute"]
    read = {name for graph in graphs for op in graph.ops for name in op.inputs if name in netlist.queues}
    return {name for name in read if netlist.queues[name].kind == "stash"}


def _parts(program: model.Program, netlist: Netlist) -> list[list[tuple[int, Instruction]]]:
    """Instructions, those that execute numbered by epoch, cut where graphs run on the host."""
    parts: list[list[tuple[int, Instruction]]] = [[]]
    epoch = depth = 0
    for step in program.instructions:
        depth += (step.opcode == "loop") - (step.opcode == "endloop")
        hosted = step.opcode == "execute" and _hosted(netlist.graphs[str(step.args[0])])
        if hosted and depth:
            raise Error("E0503", f"a loop holds graph '{step.args[0]}', which runs on the host", where=f"program '{program.name}'")
        if hosted:
            parts.append([])
        else:
            parts[-1].append((epoch, step))
        epoch += step.opcode == "execute"
    return parts


def _hosted(graph: Graph) -> bool:
    return any(isinstance(op.place, Host) for op in graph.ops)


@record(frozen=False)
class _Maker:
    """A maker of the Buda program of one program.

    pointers: (microbatches, entries, loop) of queues that move alike -> number of their pair of pointers; loop: number of the innermost
        loop around the graphs that read them, None: there is none.
    loops: numbers of the loops that are open.
    """

    netlist: Netlist
    pointers: dict[tuple[int, int, int | None], int] = field(default_factory=dict)
    loops: list[int] = field(default_factory=list)
    opened: int = 0

    def __post_init__(self) -> None:
        self.lives = [(q.name, q.lifetime) for q in self.netlist.queues.values() if q.lifetime is not None and dynamic(q)]
        self.born: dict[int, list[str]] = {}
        self.gone: dict[int, list[str]] = {}

    def program(self, name: str, part: list[tuple[int, Instruction]]) -> BudaProgram:
        """Return the program of those instructions."""
        epochs = [epoch for epoch, step in part if step.opcode == "execute"]
        used = {queue for _, step in part if step.opcode == "execute" for queue in self.used(step)}
        for queue, (first, last) in self.lives:
            if queue in used and epochs[0] <= first and last <= epochs[-1]:
                self.born.setdefault(first, []).append(queue)
                self.gone.setdefault(last, []).append(queue)
        body = [made for epoch, step in part for made in self.steps(epoch, step)]
        pairs = [(f"$lptr_q{n}", f"$gptr_q{n}") for n in self.pointers.values()]
        sums = any(self.netlist.queues[queue].summed for _, step in part if step.opcode == "execute" for queue in self.filled(step))
        head = [BudaInstruction("param", (ZERO_GRADIENTS, COUNT) if sums else (COUNT,))]
        if pairs:
            head.append(BudaInstruction("staticvar", tuple([(name, 0) for pair in pairs for name in pair])))
        head.append(BudaInstruction("var", ((ZERO, 0),)))
        if sums:
            head.append(BudaInstruction("varinst", (STARTS, "set", ZERO_GRADIENTS)))
        tail = [BudaInstruction("varinst", (STARTS, "set", 0))] if sums else []
        return BudaProgram(name, (*head, BudaInstruction("loop", (COUNT,)), *body, *self.moves(None), *tail, BudaInstruction("endloop")))

    def used(self, step: Instruction) -> Iterator[str]:
        """Yield the names of queues and ops that the graph of an `execute` reads or writes."""
        yield from (name for op in self.netlist.graphs[str(step.args[0])].ops for name in op.inputs)
        yield from self.filled(step)

    def filled(self, step: Instruction) -> Iterator[str]:
        """Yield the queues that the graph of an `execute` writes."""
        yield from (queue for _, queue in self.netlist.graphs[str(step.args[0])].writes)

    def moves(self, loop: int | None) -> Iterator[BudaInstruction]:
        """At the end of a loop's body, or of the program: the pointers of what its graphs have read go on."""
        for (count, entries, home), number in self.pointers.items():
            if home == loop:
                for name in (f"$lptr_q{number}", f"$gptr_q{number}"):
                    yield BudaInstruction("varinst", (name, "incwrap", count, 2 * entries))

    def steps(self, epoch: int, step: Instruction) -> Iterator[BudaInstruction]:
        """Yield the Buda instructions that one instruction becomes."""
        if step.opcode == "loop":
            self.loops.append(self.opened)
            self.opened += 1
        elif step.opcode == "endloop":
            yield from self.moves(self.loops.pop())
        if step.opcode != "execute":
            yield _step(step)
            return
        graph = self.netlist.graphs[str(step.args[0])]
        yield BudaInstruction("allocate_queue", tuple(self.born.get(epoch, ())))
        yield BudaInstruction("execute", (graph.name,), tuple(self.settings(graph)))
        yield BudaInstruction("deallocate_queue", tuple(self.gone.get(epoch, ())))

    def settings(self, graph: Graph) -> Iterator[BudaQueueSetting]:
        """Settings of all queues that a graph reads, and of rams in which its gradients add up."""
        for name in (queue for _, queue in graph.writes if self.netlist.queues[queue].summed):
            yield BudaQueueSetting(name, prologue="true", epilogue="true", zero=STARTS, rd_ptr_global=ZERO, wr_ptr_global=ZERO)
        for name in dict.fromkeys(name for op in graph.ops for name in op.inputs):
            queue = self.netlist.queues.get(name)
            if queue is None:
                continue
            if queue.type == "ram":
                yield BudaQueueSetting(name, rd_ptr_global=ZERO, wr_ptr_global=ZERO, prologue="true" if _kept(queue, graph) else None)
            elif dynamic(queue):
                yield BudaQueueSetting(name, rd_ptr_local=ZERO, rd_ptr_global=ZERO)
            else:
                loop = self.loops[-1] if self.loops else None
                number = self.pointers.setdefault((graph.input_count, queue.entries, loop), len(self.pointers))
                yield BudaQueueSetting(name, rd_ptr_local=f"$lptr_q{number}", rd_ptr_global=f"$gptr_q{number}")


def dynamic(queue: Queue) -> bool:
    """Return whether a program allocates and frees a queue: it lies between epochs, and other queues may use its memory at other times."""
    return queue.kind == "edge" and queue.type == "queue" and queue.lifetime is not None


def _kept(queue: Queue, graph: Graph) -> bool:
    """Return whether all readers of a queue in the graph hold their share of it in L1: it is then loaded before the first microbatch.

    For one microbatch alone it is not: what the first ops read would wait for what the last ones do.
    """
    if graph.input_count == 1:
        return False
    for op in graph.ops:
        for index in (i for i, name in enumerate(op.inputs) if name == queue.name):
            buffer = next((b for b in op.buffers if b.role == f"in{index}"), None)
            if buffer is None or buffer.copies != 1:
                return False
    return True

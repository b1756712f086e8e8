"""Rules of programs: variables, loops, executes and settings of queues."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import field

from ttc.dialects.core.records import record
from ttc.dialects.netlist.buda.form import BudaGraph, BudaInstruction, BudaProgram, BudaQueue, BudaQueueSetting
from ttc.dialects.netlist.buda.rules.constants import known_values
from ttc.dialects.netlist.buda.rules.context import Context

POINTERS = ("rd_ptr_local", "rd_ptr_global", "wr_ptr_global")
VALUES = (*("prologue", "epilogue", "zero", *POINTERS, "rd_ptr_autoinc", "global_rdptr_autoinc", "global_wrptr_autoinc", "read_only"),)
FLAGS = ("prologue", "epilogue", "zero", "read_only")


@record(frozen=False)
class Uses:
    """Names of queues that a graph reads and that it fills, and of those that need settings, each with why."""

    reads: dict[str, None] = field(default_factory=dict)
    writes: dict[str, None] = field(default_factory=dict)
    needed: dict[str, str] = field(default_factory=dict)


@record(frozen=False)
class ProgramCheck:
    """A Buda program under check, and what its instructions have done so far.

    variables: opcode that declared each; loops: lines of those open; moved: variables that instructions change; known: values of
    variables that the text tells; again: whether runs read the entries of a queue several times; uses: of each
    graph; filled: graphs whose outputs were looked at.
    """

    program: BudaProgram
    context: Context
    uses: dict[str, Uses]
    variables: dict[str, str] = field(default_factory=dict)
    loops: list[int] = field(default_factory=list)
    moved: set[str] = field(default_factory=set)
    known: dict[str, int] = field(default_factory=dict)
    again: bool = False
    filled: set[str] = field(default_factory=set)

    def value(self, written: object) -> int | None:
        """Return the number that an argument is, if the text tells."""
        if isinstance(written, int):
            return written
        text = str(written)
        return int(text) if text.lstrip("-").isdecimal() and len(text) < 20 else self.known.get(text)

    def report(self, line: int, code: str, message: str, hint: str | None = None, what: str = "") -> None:
        """Report on a line of the program."""
        place = f"program '{self.program.name}'" + (f": {what}" if what else "")
        self.context.found.add(code, f"{self.context.netlist.source}:{line}: {place}" if line else place, message, hint)

    def use(self, value: object, line: int, what: str = "") -> None:
        """Note that an instruction reads a value, which may be a variable."""
        if isinstance(value, str) and value.startswith("$") and value not in self.variables:
            self.report(line, "E0651", f"variable {value} is not declared", self.context.found.nearest(value, self.variables), what)
            self.variables[value] = "unknown"  # once is enough


def check_programs(context: Context) -> None:
    """Every program is sound by itself, and every execute gives the queues of its graph what they need."""
    uses = _uses_by_graph(context)
    for program in context.netlist.programs.values():
        if f"program '{program.name}'" in context.faulty:
            continue
        moved = {str(step.args[0]) for step in program.instructions if step.opcode == "varinst"}
        scope = ProgramCheck(program, context, uses, moved=moved, known=known_values(program))
        late = [str(name) for step in program.instructions[1:] if step.opcode == "param" for name in step.args]
        scope.variables.update(dict.fromkeys(late, "param"))
        scope.again = _reads_again(program, scope)
        for position, step in enumerate(program.instructions):
            _check_step(step, position, scope)
        for line in scope.loops:
            scope.report(line, "E0652", "this loop is not ended", "add an endloop")


def _uses_by_graph(context: Context) -> dict[str, Uses]:
    uses = {name: Uses() for name in context.netlist.graphs}
    for graph, op in context.all_ops():
        for name in op.inputs:
            queue = context.queues.get(name)
            if queue is not None:
                uses[graph.name].reads[queue.name] = None
                if queue.type == "queue" and queue.input == "HOST":
                    uses[graph.name].needed[queue.name] = "which it reads"
    for queue in context.netlist.queues.values():
        graph, producer = context.graph_of.get(queue.input), context.ops.get(queue.input)
        if graph is not None and producer is not None:
            uses[graph.name].writes[queue.name] = None
            if producer.gradient_op and producer.name not in context.misfits:
                uses[graph.name].needed[queue.name] = "which it fills"
    return uses


# ---- instructions ------------------------------------------------------------------------------------------------------------------


def _check_step(step: BudaInstruction, position: int, scope: ProgramCheck) -> None:
    if step.opcode in ("var", "staticvar"):
        _declare([str(pair[0]) for pair in step.args if isinstance(pair, tuple)], step, scope)
    elif step.opcode == "param":
        if position:
            scope.report(step.line, "E0655", "param is the first instruction of a program", "move it to the top")
            return
        _declare([str(name) for name in step.args], step, scope)
    elif step.opcode == "varinst":
        _check_arithmetic(step, scope)
    elif step.opcode == "loop":
        scope.use(step.args[0], step.line)
        times = scope.value(step.args[0])
        if times is not None and times < 1:
            name = "" if isinstance(step.args[0], int) else f"{step.args[0]} = "
            scope.report(step.line, "E0652", f"a loop runs at least once, not {name}{times} times")
        scope.loops.append(step.line)
    elif step.opcode == "endloop":
        if not scope.loops:
            scope.report(step.line, "E0652", "endloop without a loop")
        else:
            scope.loops.pop()
    elif step.opcode == "execute":
        _check_execute(step, scope)
    else:
        for name in step.args:
            if name not in scope.context.queues:
                hint = scope.context.found.nearest(str(name), scope.context.netlist.queues)
                scope.report(step.line, "E0601", f"{step.opcode}: there is no queue '{name}'", hint)


def _declare(names: list[str], step: BudaInstruction, scope: ProgramCheck) -> None:
    for name in names:
        if name in scope.variables:
            message = f"variable {name} is declared already, by {scope.variables[name]}: it would be masked"
            scope.report(step.line, "E0651", message)
        scope.variables[name] = step.opcode


def _check_arithmetic(step: BudaInstruction, scope: ProgramCheck) -> None:
    out, operation = str(step.args[0]), step.args[1]
    for value in step.args[2:]:
        scope.use(value, step.line)
    if operation in ("inc", "incwrap"):
        scope.use(out, step.line)
    elif out not in scope.variables:
        scope.variables[out] = "varinst"  # what sets a variable declares it
    if out.startswith("$c_") and scope.loops:
        scope.report(step.line, "E0651", f"{out} is a constant by its name: it cannot be changed in a loop")
    wrap = scope.value(step.args[3]) if operation == "incwrap" else None
    if wrap is not None and wrap < 1:
        scope.report(step.line, "E0615", f"incwrap wraps at {wrap}: at least 1")


# ---- execute -----------------------------------------------------------------------------------------------------------------------


def _check_execute(step: BudaInstruction, scope: ProgramCheck) -> None:
    context, name = scope.context, str(step.args[0])
    graph = context.netlist.graphs.get(name)
    if graph is None:
        hint = context.found.nearest(name, context.netlist.graphs)
        scope.report(step.line, "E0601", f"execute: there is no graph '{name}'", hint)
        return
    uses = scope.uses[name]
    strange = 0
    for setting in step.settings:
        line = setting.lines.get("", step.line)
        queue = context.queues.get(setting.queue)
        if queue is None:
            strange += 1
            hint = context.found.nearest(setting.queue, (*uses.reads, *uses.writes))
            scope.report(line, "E0601", f"settings of '{setting.queue}': there is no such queue", hint)
        elif queue.name not in uses.reads and queue.name not in uses.writes:
            strange += 1
            if context.unresolved or context.faulty:
                continue
            scope.report(line, "E0653", f"settings of queue '{queue.name}', which graph '{name}' neither reads nor fills")
        else:
            _check_setting(setting, queue, graph, scope)
    if strange == 0 and not context.ambiguous:
        _check_unset(step, uses, graph, scope)
    _check_entries(step, uses, graph, scope)


def _check_unset(step: BudaInstruction, uses: Uses, graph: BudaGraph, scope: ProgramCheck) -> None:
    given = {queue.name for setting in step.settings if (queue := scope.context.queues.get(setting.queue)) is not None}
    for name, why in uses.needed.items():
        if scope.context.found.full:
            return
        if name not in given:
            kind = scope.context.queues[name].type
            scope.report(step.line, "E0653", f"execute of graph '{graph.name}': settings of {kind} '{name}' are missing, {why}")


def _check_setting(setting: BudaQueueSetting, queue: BudaQueue, graph: BudaGraph, scope: ProgramCheck) -> None:
    line = setting.lines.get("", 0)
    what = f"settings of queue '{queue.name}'"

    def report(key: str, message: str, hint: str | None = None) -> None:
        scope.report(setting.lines.get(key, line), "E0653", message, hint, what)

    for key in VALUES:
        scope.use(getattr(setting, key), setting.lines.get(key, line), what)
    wanted, forbidden = (("rd_ptr_local", "rd_ptr_global"), "wr_ptr_global")
    if queue.type == "ram":
        wanted, forbidden = (("rd_ptr_global", "wr_ptr_global"), "rd_ptr_local")
    for key in wanted if queue.type else ():
        if getattr(setting, key) is None and key not in setting.lines:
            report("", f"{key} is missing: a {queue.type} needs it")
    if queue.type and getattr(setting, forbidden) is not None:
        report(forbidden, f"a {queue.type} has no {forbidden}")
    end = (queue.entries or 0) * (1 if queue.type == "ram" else 2)  # pointers of queues tell full from empty by an extra bit
    for key in wanted if queue.type and end else ():
        value = scope.value(getattr(setting, key))
        if value is not None and not 0 <= value < end:
            report(key, f"{key} is {value}: pointers into {queue.entries} entries of a {queue.type} are 0 to {end - 1}")
    if queue.type == "queue" and queue.input != "HOST" and setting.epilogue == "true":
        report("epilogue", "a queue that an op fills has no epilogue")
    if setting.zero == "true" and setting.prologue == "false":
        report("zero", "zero needs a prologue, in which the sum is cleared")
    if queue.type == "ram" and setting.global_wrptr_autoinc not in (None, "0"):
        keys = [key for key in ("prologue", "epilogue", "zero") if getattr(setting, key) == "true"]
        if keys:
            report(keys[0], f"a ram whose write pointer moves by itself has no {' and no '.join(keys)}")
    steps = [scope.value(setting.rd_ptr_autoinc or "1"), scope.value(setting.global_rdptr_autoinc or "0")]
    if queue.type == "queue" and None not in steps and 0 not in steps and steps[0] != steps[1]:
        report("global_rdptr_autoinc", f"global_rdptr_autoinc {steps[1]} differs from rd_ptr_autoinc, which is {steps[0]}")
    for key in ("prologue", "epilogue"):
        if scope.variables.get(getattr(setting, key) or "") == "param":
            report(key, f"{key} cannot depend on a parameter")
    for key in FLAGS:
        value = getattr(setting, key)
        if value is not None and value not in ("true", "false", "0", "1") and not value.startswith("$"):
            report(key, f"{key} is true or false, not {value}")


# ---- room for the inputs of a run --------------------------------------------------------------------------------------------------


def _check_entries(step: BudaInstruction, uses: Uses, graph: BudaGraph, scope: ProgramCheck) -> None:
    """A queue that is read or filled as a stream has entries for the inputs of a run.

    Not so where it is read in the prologue.  Where its pointers stay, the same entries are read again, several times in a run of a
    benchmark, and then results may be dropped as well.  A queue that the graph both fills and reads is a relay of any length.
    """
    for setting in step.settings:
        queue = scope.context.queues.get(setting.queue)
        if queue is None or queue.name not in uses.reads or queue.name in uses.writes or _again(setting, queue, graph, scope):
            continue
        if queue.type == "queue" and setting.prologue != "true" and setting.rd_ptr_autoinc != "0":
            _check_room(queue, graph, scope.context)
    if scope.again or graph.name in scope.filled:
        return
    scope.filled.add(graph.name)
    for name in uses.writes:
        queue = scope.context.queues[name]
        if queue.type == "queue" and name not in uses.reads:
            _check_room(queue, graph, scope.context)


def _again(setting: BudaQueueSetting, queue: BudaQueue, graph: BudaGraph, scope: ProgramCheck) -> bool:
    """Return whether a run reads the entries of a queue several times."""
    stays = not {setting.rd_ptr_local, setting.rd_ptr_global} & scope.moved and setting.prologue != "true"
    count, entries = graph.input_count or 0, queue.entries or 0
    return queue.type == "queue" and stays and 0 < entries < count and count % entries == 0 and setting.rd_ptr_autoinc != "0"


def _reads_again(program: BudaProgram, scope: ProgramCheck) -> bool:
    """Return whether any execute of a program does."""
    for step in program.instructions:
        graph = scope.context.netlist.graphs.get(str(step.args[0])) if step.opcode == "execute" else None
        for setting in step.settings if graph is not None else ():
            queue = scope.context.queues.get(setting.queue)
            if queue is not None and graph is not None and _again(setting, queue, graph, scope):
                return True
    return False


def _check_room(queue: BudaQueue, graph: BudaGraph, context: Context) -> None:
    count = graph.input_count if graph.name not in context.uneven else None
    if not count or not queue.entries or queue.entries % count == 0 or queue.name in context.small:
        return
    context.small.add(queue.name)
    message = f"{queue.entries} entries do not hold the {count} inputs of a run of graph '{graph.name}' a whole number of times"
    context.queue(queue, "entries", "E0620", message, f"entries: {-(-queue.entries // count) * count}")


def check_counts(context: Context) -> None:
    """All graphs that read a queue take as many inputs a run."""
    for queue in context.netlist.queues.values() if len(context.netlist.graphs) > 1 else ():
        counts: dict[int, str] = defaultdict(str)
        for op, _ in context.readers.get(queue.name, ()):
            graph = context.graph_of[op.name]
            if graph.input_count is not None:
                counts.setdefault(graph.input_count, graph.name)
        if queue.type == "queue" and len(counts) > 1:
            listed = ", ".join(f"{count} ('{name}')" for count, name in counts.items())
            context.queue(queue, "", "E0620", f"graphs that read it have different input_counts: {listed}")

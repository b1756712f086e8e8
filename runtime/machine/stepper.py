"""The interpreter of netlist programs: parameters, static variables, loops, and executions whose queue settings follow variables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.records import record
from ttc.dialects.netlist.instructions import ASSIGNS, check_instructions, computed, name_of, params_of, value_of
from ttc.dialects.netlist.model import Instruction, Program, QueueSetting
from ttc.runtime.machine.limits import Meter


@record(slots=True)
class ResolvedSetting:
    """A queue setting whose variables have been looked up.

    follows: the variable that rd_ptr_global was set to; a change of it moves the queue's pointer.  The rest is as in `model.QueueSetting`.
    """

    queue: str
    prologue: bool
    epilogue: bool
    zero: bool
    rd_ptr_local: int | None
    rd_ptr_global: int | None
    wr_ptr_global: int | None
    rd_ptr_autoinc: int
    global_rdptr_autoinc: int
    global_wrptr_autoinc: int
    follows: str | None


class Actions(ABC):
    """What a program does to its surroundings.  By default variables set no pointers, and queues have their memory for good."""

    @abstractmethod
    def execute(self, graph: str, settings: Mapping[str, ResolvedSetting]) -> None:
        """Run a graph, with the settings of its queues."""

    def changed(self, name: str, value: int) -> None:  # noqa: B027 - nothing is a choice
        """Note that a variable has a new value."""

    def allocate(self, queue: str) -> None:  # noqa: B027 - nothing is a choice
        """Give a queue its memory."""

    def deallocate(self, queue: str) -> None:  # noqa: B027 - nothing is a choice
        """Take the memory of a queue back."""


class Stepper:
    """Runs a program, as often as somebody asks.  Static variables keep their values from one run to the next.

    Raises: E0608 for malformed instructions.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.statics: dict[str, int] = {}
        self.declared = frozenset(name_of(i) for i in program.instructions if i.opcode == "staticvar")
        """The names of its static variables."""
        self._params = params_of(program)
        self._ends = check_instructions(program.instructions)

    def run(self, actions: Actions, meter: Meter, params: Mapping[str, int] | None = None) -> None:
        """Run the program's instructions once, to its end.

        Args:    params: values of its parameters, by name without `$`.
        Raises:  E0101 for a missing or unknown parameter, E0608 for values out of range, E0805 if it does not end; what actions raise.
        """
        given = params or {}
        for name in given:
            if name not in self._params:
                raise Error("E0101", f"program '{self.program.name}' has no parameter '{name}'", hint=nearest(name, self._params))
        _Run(self, actions, meter, given).run(self.program.instructions, self._ends)


class _Run:
    """The state of one run."""

    def __init__(self, stepper: Stepper, actions: Actions, meter: Meter, params: Mapping[str, int]) -> None:
        self._program = stepper.program.name
        self._statics = stepper.statics
        self._actions = actions
        self._meter = meter
        self._params = params
        self._variables: dict[str, int] = dict(stepper.statics)

    def run(self, instructions: tuple[Instruction, ...], ends: Mapping[int, int]) -> None:
        """All instructions.  ends: of loops, by position."""
        loops: list[list[int]] = []  # (position of the loop, rounds left) of those that are open
        position = 0
        while position < len(instructions):
            self._meter.step()
            instruction = instructions[position]
            if instruction.opcode == "loop":
                loops.append([position, self._rounds(instruction, position, ends[position] - position)])
            elif instruction.opcode == "endloop":
                loops[-1][1] -= 1
                if loops[-1][1] > 0:
                    position = loops[-1][0]
                else:
                    loops.pop()
            elif instruction.opcode in ASSIGNS:
                self._variables.setdefault(name_of(instruction), 0)
                self._store(name_of(instruction), computed(instruction, self._variables))
            else:
                self._act(instruction)
            position += 1

    def _rounds(self, loop: Instruction, position: int, length: int) -> int:
        """Return how often a loop runs: at least once, and its `length` instructions a round do not pass the limit."""
        rounds = value_of(loop.args[0], self._variables)
        if rounds < 1:
            raise Error("E0608", f"instruction {position}: a loop runs at least once, not {rounds} times", self._program)
        self._meter.foresee(rounds * length)
        return rounds

    def _act(self, instruction: Instruction) -> None:
        name = name_of(instruction)
        match instruction.opcode:
            case "param":
                if name not in self._params:
                    raise Error("E0101", f"parameter '{name}' of program '{self._program}' has no value", hint=f"--param {name}=N")
                self._store(name, self._params[name])
            case "staticvar":
                self._statics.setdefault(name, value_of(instruction.args[1], self._variables))
                self._store(name, self._statics[name])
            case "allocate":
                self._actions.allocate(name)
            case "deallocate":
                self._actions.deallocate(name)
            case _:
                self._actions.execute(name, {s.queue: self._setting(s) for s in instruction.settings})

    def _store(self, name: str, value: int) -> None:
        self._variables[name] = value
        if name in self._statics:
            self._statics[name] = value
        self._actions.changed(name, value)

    def _setting(self, setting: QueueSetting) -> ResolvedSetting:
        pointer = setting.rd_ptr_global
        return ResolvedSetting(
            setting.queue,
            self._flag(setting.prologue),
            self._flag(setting.epilogue),
            self._flag(setting.zero),
            self._pointer(setting.rd_ptr_local),
            self._pointer(pointer),
            self._pointer(setting.wr_ptr_global),
            value_of(setting.rd_ptr_autoinc, self._variables),
            value_of(setting.global_rdptr_autoinc, self._variables),
            value_of(setting.global_wrptr_autoinc, self._variables),
            pointer.removeprefix("$") if isinstance(pointer, str) else None,
        )

    def _flag(self, value: bool | str) -> bool:
        return bool(value_of(value, self._variables))

    def _pointer(self, value: int | str | None) -> int | None:
        return None if value is None else value_of(value, self._variables)

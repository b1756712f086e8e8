"""The programs of a Buda netlist: parameters, static variables, and executions whose queue settings follow variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.netlist.model import Instruction, Program, QueueSetting
from ttc.runtime.golden.limits import Meter
from ttc.runtime.instructions import ARGUMENTS, assign, check_instructions, follow_loop, value_of

FORMS: Mapping[str, int] = {**ARGUMENTS, "param": 1, "staticvar": 2, "allocate": 1, "deallocate": 1}
_ASSIGNS = ("var", "set", "add", "mul", "inc", "incwrap")


@dataclass(frozen=True, slots=True)
class Setting:
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


class Actions(Protocol):
    """What a program does to its surroundings."""

    def execute(self, graph: str, settings: Mapping[str, Setting]) -> None:
        """Run a graph, with the settings of its queues."""
        ...

    def changed(self, name: str, value: int) -> None:
        """A variable has a new value."""
        ...

    def allocate(self, queue: str) -> None:
        """The queue's memory is its own from here."""
        ...

    def deallocate(self, queue: str) -> None:
        """And from here no more."""
        ...


def run_program(program: Program, params: Mapping[str, int], statics: dict[str, int], actions: Actions, meter: Meter) -> None:
    """Run a program once.

    Args:    params: values of its parameters, by name without `$`; statics: its static variables, kept between calls.
    Raises:  E0101 for a missing or unknown parameter, E0608 for malformed instructions, E0805 if it does not end.
    """
    _Run(program, params, statics, actions, meter).run()


def params_of(program: Program) -> tuple[str, ...]:
    """The names of a program's parameters, without `$`."""
    return tuple(str(i.args[0]).removeprefix("$") for i in program.instructions if i.opcode == "param" and len(i.args) == 1)


class _Run:
    """The state of one call."""

    def __init__(self, program: Program, params: Mapping[str, int], statics: dict[str, int], actions: Actions, meter: Meter) -> None:
        known = params_of(program)
        for name in params:
            if name not in known:
                raise Error("E0101", f"program '{program.name}' has no parameter '{name}'", hint=nearest(name, known))
        self._program = program
        self._params = params
        self._statics = statics
        self._actions = actions
        self._meter = meter
        self._variables: dict[str, int] = dict(statics)

    def run(self) -> None:
        """All instructions."""
        instructions = self._program.instructions
        ends = check_instructions(instructions, FORMS)
        loops: list[list[int]] = []
        position = 0
        while position < len(instructions):
            self._meter.step()
            instruction = instructions[position]
            if instruction.opcode in ("loop", "endloop"):
                if instruction.opcode == "loop":
                    self._check_rounds(instruction, position, ends[position] - position)
                position = follow_loop(instruction, position, loops, ends, self._variables)
            elif instruction.opcode in _ASSIGNS:
                self._assign(instruction)
            else:
                self._act(instruction)
            position += 1

    def _check_rounds(self, loop: Instruction, position: int, length: int) -> None:
        """A loop runs at least once, and its `length` instructions a round do not pass the limit."""
        rounds = value_of(loop.args[0], self._variables)
        if rounds < 1:
            raise Error("E0608", f"instruction {position}: a loop runs at least once, not {rounds} times", self._program.name)
        self._meter.foresee(rounds * length)

    def _assign(self, instruction: Instruction) -> None:
        """A variable's new value.  One that is not declared is 0 before: netlists rely on it."""
        name = str(instruction.args[0]).removeprefix("$")
        self._variables.setdefault(name, 0)
        assign(instruction, self._variables)
        self._store(name, self._variables[name])

    def _act(self, instruction: Instruction) -> None:
        name = str(instruction.args[0]).removeprefix("$")
        match instruction.opcode:
            case "param":
                if name not in self._params:
                    raise Error("E0101", f"parameter '{name}' of program '{self._program.name}' has no value", hint=f"--param {name}=N")
                self._store(name, self._params[name])
            case "staticvar":
                self._statics.setdefault(name, value_of(instruction.args[1], self._variables))
                self._store(name, self._statics[name])
            case "allocate":
                self._actions.allocate(name)
            case "deallocate":
                self._actions.deallocate(name)
            case _:
                settings = {s.queue: self._setting(s) for s in instruction.settings}
                self._actions.execute(name, settings)

    def _store(self, name: str, value: int) -> None:
        self._variables[name] = value
        if name in self._statics:
            self._statics[name] = value
        self._actions.changed(name, value)

    def _setting(self, setting: QueueSetting) -> Setting:
        pointer = setting.rd_ptr_global
        return Setting(
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

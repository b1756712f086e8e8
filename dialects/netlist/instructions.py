"""The instructions of netlist programs: their forms, loops, and arithmetic on variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.model import Instruction, Program

_MAX_VALUE = 1 << 62
ARGUMENTS: Mapping[str, str] = {
    "var": "nv", "set": "dv", "add": "dvv", "mul": "dvv", "inc": "dv", "incwrap": "dvv", "loop": "v", "endloop": "", "execute": "g",
    "staticvar": "nv", "param": "n", "allocate": "q", "deallocate": "q",
}  # fmt: skip
"""Arguments of each opcode: n a new variable, d a declared one, v an integer or a declared variable, g a graph, q a queue."""
ASSIGNS = ("var", "set", "add", "mul", "inc", "incwrap")
"""Opcodes that give a variable a value which they compute."""


def check_instructions(instructions: Sequence[Instruction]) -> dict[int, int]:
    """Return where each `loop` ends, by position.  Raises E0608 for an unknown opcode, wrong arguments, or loops that do not match."""
    ends: dict[int, int] = {}
    open_loops: list[int] = []
    for position, instruction in enumerate(instructions):
        form = ARGUMENTS.get(instruction.opcode)
        if form is None or len(form) != len(instruction.args):
            raise Error("E0608", f"instruction {position}: '{instruction.opcode}' with {len(instruction.args)} arguments")
        if instruction.opcode == "loop":
            open_loops.append(position)
        elif instruction.opcode == "endloop":
            if not open_loops:
                raise Error("E0608", f"instruction {position}: endloop without loop")
            ends[open_loops.pop()] = position
    if open_loops:
        raise Error("E0608", f"instruction {open_loops[-1]}: loop without endloop")
    return ends


def executed_graphs(program: Program) -> tuple[str, ...]:
    """Graphs that a program executes, each once."""
    return tuple(dict.fromkeys(str(i.args[0]) for i in program.instructions if i.opcode == "execute"))


def params_of(program: Program) -> tuple[str, ...]:
    """Return the names of a program's parameters, without `$`."""
    return tuple(name_of(i) for i in program.instructions if i.opcode == "param" and len(i.args) == 1)


def name_of(instruction: Instruction) -> str:
    """Return the first argument as a name: a variable without `$`, a graph or a queue."""
    return str(instruction.args[0]).removeprefix("$")


def computed(instruction: Instruction, variables: Mapping[str, int]) -> int:
    """Return what one of ASSIGNS makes of its variable.  Raises E0608 for operands that are not declared, and values beyond 2^62."""
    name = name_of(instruction)
    first, *rest = [value_of(arg, variables) for arg in instruction.args[1:]]
    if instruction.opcode == "incwrap" and rest[0] <= 0:
        raise Error("E0608", f"incwrap of '{name}' wraps at {rest[0]}")
    match instruction.opcode:
        case "add":
            value = first + rest[0]
        case "mul":
            value = first * rest[0]
        case "inc":
            value = variables[name] + first
        case "incwrap":
            value = (variables[name] + first) % rest[0]
        case _:
            value = first
    if abs(value) > _MAX_VALUE:
        raise Error("E0608", f"variable '{name}' grows beyond 2^62")
    return value


def value_of(argument: str | int, variables: Mapping[str, int]) -> int:
    """Return the value of an argument.  Raises E0608 for a variable that is not declared."""
    if isinstance(argument, int):
        return argument
    found = variables.get(argument.removeprefix("$"))
    if found is None:
        raise Error("E0608", f"variable '{argument}' is not declared")
    return found

"""Running the instructions of a netlist program: variables, loops, and the execution of graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.model import Instruction

MAX_STEPS = 10_000_000
"""Instructions that one run may execute."""
_MAX_VALUE = 1 << 62
ARGUMENTS: Mapping[str, int] = {"var": 2, "set": 2, "add": 3, "mul": 3, "inc": 2, "incwrap": 3, "loop": 1, "endloop": 0, "execute": 1}
"""Opcodes, and how many arguments each takes."""


def check_instructions(instructions: Sequence[Instruction], arguments: Mapping[str, int] = ARGUMENTS) -> dict[int, int]:
    """Where each `loop` ends, by position.  Raises E0608 for an unknown opcode, wrong arguments, or loops that do not match."""
    ends: dict[int, int] = {}
    open_loops: list[int] = []
    for position, instruction in enumerate(instructions):
        if arguments.get(instruction.opcode) != len(instruction.args):
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


def run_instructions(instructions: Sequence[Instruction], execute: Callable[[str], None], max_steps: int = MAX_STEPS) -> None:
    """Run a program.

    Args:    execute: called with the graph's name for each `execute`.
    Raises:  E0608 if the instructions are malformed, or do not end within `max_steps`.
    """
    ends = check_instructions(instructions)
    variables: dict[str, int] = {}
    loops: list[list[int]] = []
    position = steps = 0
    while position < len(instructions):
        steps += 1
        if steps > max_steps:
            raise Error("E0608", f"the program does not end within {max_steps} instructions")
        instruction = instructions[position]
        if instruction.opcode == "execute":
            execute(str(instruction.args[0]))
        elif instruction.opcode in ("loop", "endloop"):
            position = follow_loop(instruction, position, loops, ends, variables)
        else:
            assign(instruction, variables)
        position += 1


def follow_loop(
    instruction: Instruction, position: int, loops: list[list[int]], ends: Mapping[int, int], variables: Mapping[str, int]
) -> int:
    """The position after which to go on.  loops: (position of the loop, rounds left) of those that are open."""
    if instruction.opcode == "loop":
        rounds = value_of(instruction.args[0], variables)
        if rounds <= 0:
            return ends[position]
        loops.append([position, rounds])
        return position
    loops[-1][1] -= 1
    if loops[-1][1] > 0:
        return loops[-1][0]
    loops.pop()
    return position


def assign(instruction: Instruction, variables: dict[str, int]) -> None:
    """Give a variable its new value.  Raises E0608 for variables that are not declared, and values out of range."""
    name = str(instruction.args[0]).removeprefix("$")
    first, *rest = [value_of(arg, variables) for arg in instruction.args[1:]]
    if instruction.opcode != "var" and name not in variables:
        raise Error("E0608", f"variable '{name}' is not declared")
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
    variables[name] = value


def value_of(argument: str | int, variables: Mapping[str, int]) -> int:
    """The value of an argument.  Raises E0608 for a variable that is not declared."""
    if isinstance(argument, int):
        return argument
    found = variables.get(argument.removeprefix("$"))
    if found is None:
        raise Error("E0608", f"variable '{argument}' is not declared")
    return found

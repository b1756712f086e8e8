"""Programs of the form, in normal form, to programs of the plain netlist."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ttc.dialects.core.errors import Error
from ttc.dialects.netlist import model
from ttc.dialects.netlist.buda.form import BudaInstruction, BudaProgram, BudaQueueSetting
from ttc.dialects.netlist.buda.normal import AUTOINC, FLAGS
from ttc.dialects.netlist.model import Instruction, Number

ALLOCATION = {"allocate_queue": "allocate", "deallocate_queue": "deallocate"}


def program_of(program: BudaProgram, types: Mapping[str, str]) -> model.Program:
    """Return the program.  types: of queues by name.  Raises E0608."""
    steps = [s for instruction in program.instructions for s in _steps(instruction, types, f"program '{program.name}'")]
    return model.Program(program.name, (), (), tuple(steps))


def _steps(instruction: BudaInstruction, types: Mapping[str, str], where: str) -> Iterator[Instruction]:
    args = instruction.args
    match instruction.opcode:
        case "var" | "staticvar":
            for pair in args:
                if not isinstance(pair, tuple) or len(pair) != 2:
                    raise Error("E0608", f"{instruction.opcode} declares something that is no variable", where=where)
                yield Instruction(instruction.opcode, (_name(pair[0], where), _number(pair[1], where)))
        case "param":
            for name in args:
                yield Instruction("param", (_name(name, where),))
        case "varinst":
            if len(args) < 3:
                raise Error("E0608", "varinst lacks its operation or values", where=where)
            yield Instruction(str(args[1]), (_name(args[0], where), *[_number(x, where) for x in args[2:]]))
        case "loop":
            yield Instruction("loop", tuple([_number(x, where) for x in args]))
        case "execute":
            settings = tuple([_setting(s, types.get(s.queue, "queue"), where) for s in instruction.settings])
            yield Instruction("execute", tuple([str(x) for x in args]), settings)
        case "allocate_queue" | "deallocate_queue":
            for name in args:
                yield Instruction(ALLOCATION[instruction.opcode], (str(name),))
        case opcode:
            yield Instruction(opcode)


def _name(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise Error("E0608", f"{value} is no variable", where=where)
    return value


def _number(value: object, where: str) -> Number:
    if isinstance(value, str) or type(value) is int:
        return value
    raise Error("E0608", f"{value} is neither an integer nor a variable", where=where)


def _setting(setting: BudaQueueSetting, type_: str, where: str) -> model.QueueSetting:
    values: dict[str, model.Flag | Number] = {}
    for name in (*FLAGS, "rd_ptr_local", "rd_ptr_global", "wr_ptr_global", *AUTOINC[type_]):
        text = getattr(setting, name)
        if text is None:
            text = AUTOINC[type_].get(name)
        if text is not None:
            here = f"{where}, queue '{setting.queue}'"
            values[name] = _flag(text, name, here) if name in FLAGS else _value(text, name, here)
    return model.QueueSetting(setting.queue, **values)  # pyright: ignore[reportArgumentType]


def _flag(text: str, name: str, where: str) -> model.Flag:
    if text in ("true", "false"):
        return text == "true"
    if text.startswith("$"):
        return text
    raise Error("E0608", f"{name} is '{text[:40]}', neither true nor false nor a variable", where=where)


def _value(text: str, name: str, where: str) -> Number:
    if text.startswith("$"):
        return text
    try:
        return int(text)
    except ValueError:
        raise Error("E0608", f"{name} is '{text[:40]}', neither an integer nor a variable", where=where) from None

"""Instructions of programs: from nodes to the form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ttc.dialects.core.plain.functions import Plain
from ttc.dialects.netlist.buda.document import Items, Node, Table
from ttc.dialects.netlist.buda.form import BudaInstruction, BudaQueueSetting
from ttc.dialects.netlist.buda.reader_base import FieldReader
from ttc.dialects.netlist.buda.reader_fields import SETTING
from ttc.dialects.netlist.buda.reader_values import integer, integer_of, list_of, shown, text

ARITHMETIC = {"set": 1, "add": 2, "mul": 2, "inc": 1, "incwrap": 2}
"""Operations of `varinst`, and how many values each takes."""


def read_instructions(reader: FieldReader, program: str, node: Node, line: int) -> Iterator[BudaInstruction]:
    """Yield the instructions of a program, but for those that are malformed, which are E0608."""
    if not isinstance(node, Items):
        reader.found.add("E0608", reader.place(line, f"program '{program}'"), f"a program is a list of instructions, not {shown(node)}")
        return
    for step, at in zip(node.values, node.lines, strict=True):
        found = _instruction(reader, f"program '{program}'", step, at)
        if found is not None:
            yield found


def _instruction(reader: FieldReader, what: str, node: Node, line: int) -> BudaInstruction | None:
    opcode, argument = _split(node)
    try:
        if opcode not in OPCODES:
            hint = reader.found.nearest(opcode, OPCODES) if opcode else None
            reader.found.add("E0608", reader.place(line, what), f"there is no instruction {shown(opcode or node)}", hint)
            return None
        if opcode == "execute":
            return _execute(reader, what, argument, line)
        return BudaInstruction(opcode, OPCODES[opcode](argument), line=line)
    except ValueError as error:
        reader.found.add("E0608", reader.place(line, what), f"{opcode} {error}")
        return None


def _split(node: Node) -> tuple[str, Node]:
    if isinstance(node, str):
        return str(node), None
    if isinstance(node, Table) and len(node.values) == 1:
        return next(iter(node.values.items()))
    return "", node


def _variable(node: Node) -> str:
    name = text(node)
    if not name.startswith("$") or len(name) < 2:
        raise ValueError(f"takes $variables, not {shown(node)}")
    return name


def _value(node: Node) -> Plain:
    """Return an integer, or the name of a variable."""
    if isinstance(node, str) and integer_of(node) is not None:
        return integer_of(node)
    return _variable(node)


def _declarations(node: Node) -> tuple[Plain, ...]:
    if isinstance(node, Table):
        return tuple([(_variable(name), integer(value)) for name, value in node.values.items()])
    return tuple([(name, 0) for name in list_of(_variable)(node)])


def _arithmetic(node: Node) -> tuple[Plain, ...]:
    values = node.values if isinstance(node, Items) else []
    if len(values) < 2:
        raise ValueError(f"takes [$variable, operation, values], not {shown(node)}")
    operation = text(values[1])
    if operation not in ARITHMETIC:
        raise ValueError(f"has no operation '{operation[:60]}': known are {', '.join(ARITHMETIC)}")
    wanted = ARITHMETIC[operation]
    if len(values) - 2 != wanted:
        raise ValueError(f"{operation} takes {wanted} value{'s' * (wanted != 1)}, not {len(values) - 2}")
    return (_variable(values[0]), operation, *[_value(value) for value in values[2:]])


def _count(node: Node) -> tuple[Plain, ...]:
    return (_value(node),)


def _nothing(node: Node) -> tuple[Plain, ...]:
    if node is not None:
        raise ValueError(f"takes nothing, not {shown(node)}")
    return ()


def _unused(node: Node) -> tuple[Plain, ...]:
    raise ValueError("is appended to every program and cannot be written")


def _execute(reader: FieldReader, what: str, node: Node, line: int) -> BudaInstruction | None:
    if not isinstance(node, Table):
        raise ValueError(f"takes {{graph_name: ..., queue_settings: ...}}, not {shown(node)}")
    for key in node.values:
        if key not in ("graph_name", "queue_settings"):
            reader.unknown(key, ("graph_name", "queue_settings"), node, f"{what}: execute")
    if "graph_name" not in node.values:
        if "graph_name" not in node.lines:
            raise ValueError("does not say which graph: graph_name is missing")
        return None
    graph = text(node.values["graph_name"])
    settings = node.values.get("queue_settings")
    if settings is not None and not isinstance(settings, Table):
        raise ValueError(f"takes a map of queues as queue_settings, not {shown(settings)}")
    members = [] if settings is None else [_setting(reader, what, settings, name) for name in settings.values]
    return BudaInstruction("execute", (graph,), tuple(members), line=line)


def _setting(reader: FieldReader, what: str, settings: Table, name: str) -> BudaQueueSetting:
    node, line = settings.values[name], settings.lines[name]
    what = f"{what}: settings of queue '{name}'"
    if node is not None and not isinstance(node, Table):
        reader.found.add("E0608", reader.place(line, what), f"settings are a map, not {shown(node)}")
        node = None
    values: dict[str, Any] = reader.fields(node, SETTING, what) if node is not None else {}
    lines = node.lines if node is not None else {}
    lines[""] = line
    return BudaQueueSetting(name, **values, lines=lines)


OPCODES: dict[str, Callable[[Node], tuple[Plain, ...]]] = {
    "var": _declarations,
    "staticvar": _declarations,
    "param": list_of(_variable),
    "varinst": _arithmetic,
    "loop": _count,
    "endloop": _nothing,
    "endprogram": _unused,
    "allocate_queue": list_of(text),
    "deallocate_queue": list_of(text),
    "execute": _nothing,
}

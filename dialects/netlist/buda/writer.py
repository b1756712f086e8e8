"""Writes the form of a Buda netlist as YAML, in the format's own style: a line for each queue, op and setting.

Sections stand in the order in which the reference reads them: devices, queues, graphs, programs, fused ops.  Within an op, attributes on
which others depend stand before these (`accumulate` before `z`, `relu_en` before `relu_mode`).  The same form gives the same text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields

from ttc.dialects.core.plain.functions import Plain
from ttc.dialects.netlist.buda.form import BudaGraph, BudaInstruction, BudaNetlist, BudaOp, BudaQueue, BudaQueueSetting, FusedOp, SubOp, Tm
from ttc.dialects.netlist.buda.scalars import flow, scalar

FIRST = ("accumulate", "relu_en", "bias", "identity", "m_k", "u_kt", "dim", "type")
"""Attributes that stand before the others, in this order."""
ALWAYS = ("prologue", "epilogue", "zero")
"""Settings that are written where they are false, too."""


def write_netlist(netlist: BudaNetlist) -> str:
    """Return the text of a netlist, which reads back as an equal form once both are normal."""
    return "\n".join(_lines(netlist)) + "\n"


def _lines(netlist: BudaNetlist) -> Iterator[str]:
    yield "devices:"
    yield f"  arch: {flow(netlist.archs) if len(netlist.archs) != 1 else scalar(netlist.archs[0])}"
    if netlist.queues:
        yield from ("", "queues:")
        yield from _queues(netlist)
    if netlist.graphs:
        yield from ("", "graphs:")
        for index, graph in enumerate(netlist.graphs.values()):
            yield from [""] if index else []
            yield from _graph(graph)
    if netlist.programs:
        yield from ("", "programs:")
        for program in netlist.programs.values():
            yield f"  - {scalar(program.name)}:" + (" []" if not program.instructions else "")
            yield from _instructions(program.instructions)
    if netlist.fused_ops:
        yield from ("", "fused_ops:")
        for fused in netlist.fused_ops.values():
            yield from _fused_op(fused)
    for name, section in netlist.extra.items():
        yield ""
        yield from _block(name, section, 0)


def _entry(fields_: Iterable[tuple[str, str]]) -> str:
    """Return a map in one line."""
    return "{" + ", ".join(f"{key}: {value}" for key, value in fields_) + "}"


# ---- queues ----------------------------------------------------------------------------------------------------------------------------

_GROUPS = (
    ("fed by the host", lambda queue: queue.type != "ram" and queue.input == "HOST"),
    ("rams", lambda queue: queue.type == "ram"),
    ("fed by ops", lambda queue: True),
)


def _queues(netlist: BudaNetlist) -> Iterator[str]:
    """Yield all queues as they stand, with a comment where the kind of queue changes."""
    last = None
    for queue in netlist.queues.values():
        kind = next(name for name, holds in _GROUPS if holds(queue))
        if kind != last:
            yield f"  # {kind}"
            last = kind
        yield f"  {scalar(queue.name)}: {_entry(_queue(queue))}"


def _queue(queue: BudaQueue) -> Iterator[tuple[str, str]]:
    if queue.type is not None:
        yield "type", scalar(queue.type)
    if queue.input:
        yield "input", scalar(queue.input)
    if queue.input_tms:
        yield "input_tms", _tms(queue.input_tms)
    if queue.alias:
        yield "alias", scalar(queue.alias)
    for name in ("entries", "grid_size", "t", "mblock", "ublock"):
        yield from _given(name, getattr(queue, name))
    if queue.ublock_order not in (None, "r"):
        yield "ublock_order", scalar(queue.ublock_order or "")
    yield from _tile_dim(queue.tile_dim)
    if queue.layout not in (None, "tilized"):
        yield "layout", scalar(queue.layout or "")
    yield from _given("df", queue.df)
    yield from _devices(queue.target_devices)
    for name in ("read_ports", "write_ports"):
        yield from _given(name, getattr(queue, name))
    if queue.loc is not None:
        yield "loc", scalar(queue.loc)
        yield queue.loc, "[" + ", ".join(f"[{channel}, {address:#x}]" for channel, address in queue.addresses) + "]"


def _devices(devices: tuple[int, ...] | None) -> Iterator[tuple[str, str]]:
    if devices is not None:
        yield "target_device", str(devices[0]) if len(devices) == 1 else flow(devices)


def _tile_dim(tile: tuple[int, int] | None) -> Iterator[tuple[str, str]]:
    if tile not in (None, (32, 32)):
        yield "tile_dim", flow(tile)


def _given(name: str, value: Plain) -> Iterator[tuple[str, str]]:
    """Yield a field, if it was given."""
    if value is not None:
        yield name, flow(value)


# ---- graphs ----------------------------------------------------------------------------------------------------------------------------


def _graph(graph: BudaGraph) -> Iterator[str]:
    yield f"  {scalar(graph.name)}:"
    for name, value in _devices(graph.target_devices):
        yield f"    {name}: {value}"
    if graph.input_count is not None:
        yield f"    input_count: {graph.input_count}"
    for op in graph.ops:
        yield f"    {scalar(op.name)}: {_entry(_op(op))}"


def _op(op: BudaOp) -> Iterator[tuple[str, str]]:
    for name in ("type", "grid_loc", "grid_size"):
        yield from _given(name, getattr(op, name))
    if op.grid_transpose:
        yield "grid_transpose", "true"
    yield "inputs", flow(op.inputs)
    yield from _tile_dim(op.tile_dim)
    yield "in_df", flow(op.in_df)
    for name in ("acc_df", "out_df", "intermed_df", "ublock_order", "buf_size_mb", "overlay_size", "math_fidelity"):
        yield from _given(name, getattr(op, name))
    yield "untilize_output", scalar(bool(op.untilize_output))
    if op.gradient_op:
        yield "gradient_op", "true"
    for name in ("t", "mblock", "ublock", "input_buf_min_size_tiles", "input_dram_io_buf_size_tiles"):
        yield from _given(name, getattr(op, name))
    if op.forked_dram_inputs:
        yield "forked_dram_inputs", "[" + ", ".join(_entry([(scalar(q), scalar(o))]) for q, o in op.forked_dram_inputs) + "]"
    yield from _inputs(op)
    if op.attributes:
        yield "attributes", _attributes(op.attributes)


def _inputs(op: BudaOp) -> Iterator[tuple[str, str]]:
    """Yield what is done to inputs, in the order in which it is done."""
    for index, (rt, ct) in op.unpads.items():
        yield f"input_{index}_unpad", _entry([("rt", str(rt)), ("ct", str(ct))])
    for index, tms in op.input_tms.items():
        yield f"input_{index}_tms", _tms(tms)
    for index, (rt, ct, value) in op.pads.items():
        yield f"input_{index}_pad", _entry([("rt", str(rt)), ("ct", str(ct)), ("pad_value", scalar(float(value)))])


def _tms(tms: tuple[Tm, ...]) -> str:
    return "[" + ", ".join(map(_tm, tms)) + "]"


def _tm(tm: Tm) -> str:
    match tm.kind:
        case "transpose":
            return "transpose"
        case "broadcast":
            return _entry([("broadcast", _entry([(scalar(tm.args[0]), scalar(tm.args[1]))]))])
        case "pad":
            return _entry([("pad", flow(tm.args))])
        case kind:
            return _entry([(kind, scalar(tm.args[0]))])


def _attributes(attributes: Mapping[str, Plain]) -> str:
    names = [name for name in FIRST if name in attributes]
    names += [name for name in attributes if name not in names]
    return _entry([(scalar(name), _attribute(attributes[name])) for name in names])


def _attribute(value: Plain) -> str:
    """Return a value, where pairs whose first is a text are the entries of a map."""
    pairs = _pairs(value)
    return flow(value) if pairs is None else _entry([(scalar(key), _attribute(item)) for key, item in pairs])


def _pairs(value: Plain) -> list[tuple[str, Plain]] | None:
    if not isinstance(value, tuple) or not value:
        return None
    found = [(x[0], x[1]) for x in value if isinstance(x, tuple) and len(x) == 2 and isinstance(x[0], str)]
    return found if len(found) == len(value) else None


# ---- programs --------------------------------------------------------------------------------------------------------------------------


def _instructions(instructions: Iterable[BudaInstruction]) -> Iterator[str]:
    depth = 0
    for instruction in instructions:
        depth -= instruction.opcode == "endloop"
        yield from (f"      - {'  ' * max(depth, 0)}{line}" if i == 0 else line for i, line in enumerate(_instruction(instruction)))
        depth += instruction.opcode == "loop"


def _instruction(instruction: BudaInstruction) -> Iterator[str]:
    args = instruction.args
    match instruction.opcode:
        case "var" | "staticvar":
            yield f"{instruction.opcode}: " + _entry([(scalar(p[0]), scalar(p[1])) for p in args if isinstance(p, tuple)])
        case "loop":
            yield f"loop: {scalar(args[0])}"
        case "endloop" | "endprogram":
            yield instruction.opcode
        case "execute":
            yield from _execute(scalar(args[0]), instruction.settings)
        case opcode:
            yield f"{opcode}: {flow(args)}"


def _execute(graph: str, settings: tuple[BudaQueueSetting, ...]) -> Iterator[str]:
    if not settings:
        yield f"execute: {{graph_name: {graph}}}"
        return
    yield f"execute: {{graph_name: {graph}, queue_settings: {{"
    for index, setting in enumerate(settings):
        values = {f.name: getattr(setting, f.name) for f in fields(setting) if f.name not in ("queue", "lines")}
        values |= {name: "false" for name in ALWAYS if values[name] is None}
        text = _entry([(name, _setting(value)) for name, value in values.items() if value is not None])
        yield f"          {scalar(setting.queue)}: {text}" + ("," if index < len(settings) - 1 else "}}")


def _setting(value: str) -> str:
    """Return a setting as it stands: true, false, an integer or a variable."""
    return value if value in ("true", "false") or value.lstrip("-").isdecimal() else scalar(value)


# ---- fused ops -------------------------------------------------------------------------------------------------------------------------


def _fused_op(fused: FusedOp) -> Iterator[str]:
    yield f"  {scalar(fused.name)}:"
    for name in ("inputs", "intermediates", "custom_kernel_path"):
        for key, value in _given(name, getattr(fused, name)):
            yield f"    {key}: {value}"
    if not fused.schedules:
        return
    yield "    schedules:"
    for schedule in fused.schedules:
        if not schedule:
            yield "      - []"
        for index, step in enumerate(schedule):
            yield f"      {'- ' if index == 0 else '  '}- {scalar(step.name)}: {_entry(_sub_op(step))}"


def _sub_op(op: SubOp) -> Iterator[tuple[str, str]]:
    yield from _given("type", op.type)
    yield "inputs", flow(op.inputs)
    for index, tms in op.input_tms.items():
        yield f"input_{index}_tms", _tms(tms)
    for name in ("mblock", "ublock", "output"):
        yield from _given(name, getattr(op, name))
    if op.pop:
        yield "pop", flow(op.pop)
    if op.pop_last:
        yield "pop_last", flow(op.pop_last)
    if op.zero_point is not None:
        yield "zero_point", scalar(float(op.zero_point))
    if op.attributes:
        yield "attributes", _attributes(op.attributes)


# ---- sections without a meaning --------------------------------------------------------------------------------------------------------


def _block(name: str, value: Plain, depth: int) -> Iterator[str]:
    """Yield a section in lines as deep as its maps."""
    pairs = _pairs(value)
    indent = "  " * depth
    if pairs is None or depth > 6:
        yield f"{indent}{scalar(name)}: {_attribute(value)}"
        return
    yield f"{indent}{scalar(name)}:"
    for key, item in pairs:
        yield from _block(key, item, depth + 1)

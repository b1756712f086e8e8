"""The normal form of a Buda netlist: two texts that say the same have equal normal forms.

Defaults of fields are written out or left out in one way, declarations that follow each other are one, the order of sections and the
name of the file do not count.  Values that say nothing (no padding, no manipulation) are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from itertools import groupby
from typing import Any

from ttc.dialects.core.plain.functions import Plain
from ttc.dialects.netlist.buda.form import BudaGraph, BudaInstruction, BudaNetlist, BudaOp, BudaProgram, BudaQueue, BudaQueueSetting, SubOp

TILE = (32, 32)
DEVICE = (0,)
AUTOINC: Mapping[str, Mapping[str, str]] = {
    "queue": {"rd_ptr_autoinc": "1", "global_rdptr_autoinc": "0", "global_wrptr_autoinc": "1"},
    "ram": {"rd_ptr_autoinc": "0", "global_rdptr_autoinc": "0", "global_wrptr_autoinc": "0"},
}
"""What each microbatch adds to a queue's pointers unless settings say otherwise, by type of queue."""
FLAGS = ("prologue", "epilogue", "zero", "read_only")
"""Settings that are true or false; the others are numbers."""
MERGED = ("var", "staticvar", "param", "allocate_queue", "deallocate_queue")
"""Instructions that can be merged: several in a row mean the same as one with all their arguments."""


def normalised(netlist: BudaNetlist) -> BudaNetlist:
    """Return the netlist in normal form: defaults written one way, declarations in a row merged, without values that say nothing."""
    queues = {name: normal_queue(queue) for name, queue in netlist.queues.items()}
    fused = {
        name: replace(op, schedules=tuple(tuple(map(_sub_op, schedule)) for schedule in op.schedules))
        for name, op in netlist.fused_ops.items()
    }
    types = {name: queue.type or "queue" for name, queue in queues.items()}
    return BudaNetlist(
        archs=netlist.archs,
        queues=queues,
        graphs={name: _graph(graph) for name, graph in netlist.graphs.items()},
        programs={name: _program(program, types) for name, program in netlist.programs.items()},
        fused_ops=fused,
        extra=netlist.extra,
    )


def differences(a: BudaNetlist, b: BudaNetlist, most: int = 8) -> list[str]:
    """Return where two netlists in normal form differ: `queue 'x': entries`, and so on; at most so many."""
    found: list[str] = []
    for what in ("queues", "graphs", "programs", "fused_ops"):
        found.extend(_between(what, getattr(a, what), getattr(b, what)))
    found.extend(what for what in ("archs", "extra") if getattr(a, what) != getattr(b, what))
    return found[:most]


def _between(what: str, a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterable[str]:
    if list(a) != list(b):
        yield f"names of {what}"
    for name in a.keys() & b.keys():
        if a[name] == b[name]:
            continue
        parts = [f.name for f in fields(a[name]) if f.compare and getattr(a[name], f.name) != getattr(b[name], f.name)]
        yield f"{what} '{name}': {', '.join(parts)}"


# ---- queues, graphs, ops ---------------------------------------------------------------------------------------------------------------


def normal_queue(queue: BudaQueue) -> BudaQueue:
    """Return a queue with the defaults of its fields."""
    return replace(
        queue,
        ublock_order=queue.ublock_order or "r",
        tile_dim=queue.tile_dim or TILE,
        target_devices=queue.target_devices or DEVICE,
        layout=queue.layout or "tilized",
        read_ports=queue.read_ports or None,
        write_ports=queue.write_ports or None,
    )


def _graph(graph: BudaGraph) -> BudaGraph:
    return replace(
        graph,
        target_devices=graph.target_devices or DEVICE,
        input_count=graph.input_count or 1,
        ops=tuple([normal_op(op) for op in graph.ops]),
    )


def normal_op(op: BudaOp) -> BudaOp:
    """Return an op with the defaults of its fields."""
    return replace(
        op,
        grid_transpose=bool(op.grid_transpose),
        ublock_order=op.ublock_order or "r",
        tile_dim=op.tile_dim or TILE,
        overlay_size=None if op.overlay_size == -1 else op.overlay_size,
        input_buf_min_size_tiles=_sizes(op.input_buf_min_size_tiles),
        input_dram_io_buf_size_tiles=_sizes(op.input_dram_io_buf_size_tiles),
        untilize_output=bool(op.untilize_output),
        gradient_op=bool(op.gradient_op),
        input_tms={index: tms for index, tms in sorted(op.input_tms.items()) if tms},
        pads={index: pad for index, pad in sorted(op.pads.items()) if pad[:2] != (0, 0)},
        unpads={index: pad for index, pad in sorted(op.unpads.items()) if pad != (0, 0)},
    )


def _sizes(sizes: tuple[int, ...] | None) -> tuple[int, ...] | None:
    return sizes if sizes is not None and any(sizes) else None


def _sub_op(op: SubOp) -> SubOp:
    return replace(op, input_tms={index: tms for index, tms in sorted(op.input_tms.items()) if tms})


# ---- programs --------------------------------------------------------------------------------------------------------------------------


def _program(program: BudaProgram, types: Mapping[str, str]) -> BudaProgram:
    steps = [_instruction(instruction, types) for instruction in program.instructions]
    kept = [step for step in steps if step.opcode != "endprogram" and (step.args or step.opcode not in MERGED)]
    found: list[BudaInstruction] = []
    for opcode, group in groupby(kept, lambda step: step.opcode):
        first, *others = group
        if opcode in MERGED:
            found.append(replace(first, args=tuple([arg for step in (first, *others) for arg in step.args])))
        else:
            found.extend((first, *others))
    return replace(program, instructions=tuple(found))


def _instruction(instruction: BudaInstruction, types: Mapping[str, str]) -> BudaInstruction:
    if instruction.opcode == "execute":
        settings = tuple([normal_setting(s, types.get(s.queue, "queue")) for s in instruction.settings])
        return replace(instruction, settings=settings)
    return replace(instruction, args=tuple([_whole(arg) for arg in instruction.args]))


def _whole(value: Plain) -> Plain:
    """True and false are 1 and 0 to a variable."""
    return int(value) if isinstance(value, bool) else value


def normal_setting(setting: BudaQueueSetting, type_: str) -> BudaQueueSetting:
    """Settings of a queue of that type with what is the default left out."""
    values: dict[str, str | None] = {}
    for item in fields(setting):
        value = getattr(setting, item.name)
        if item.name in ("queue", "lines") or value is None:
            continue
        if item.name in FLAGS:
            truth = {"1": "true", "0": "false"}.get(value, value)
            values[item.name] = None if truth == "false" else truth
        else:
            number = {"true": "1", "false": "0"}.get(value, value)
            values[item.name] = None if number == AUTOINC[type_].get(item.name) else number
    return replace(setting, **values)

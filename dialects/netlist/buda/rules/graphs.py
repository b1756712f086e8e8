"""Rules of graphs and of the common fields of ops: names, inputs, cores, edges."""

from __future__ import annotations

from itertools import product

from ttc.dialects.netlist.buda.form import BudaGraph, BudaOp
from ttc.dialects.netlist.buda.reader_fields import BINARY, UNARY
from ttc.dialects.netlist.buda.rules.context import Context, missing
from ttc.dialects.tile.facts.sfpu import SFPU_FUNCTIONS

FIELDS = ("type", "inputs", "in_df", "out_df", "intermed_df", "math_fidelity", "t", "mblock", "ublock", "ublock_order", "buf_size_mb")
ETHERNET = "ethernet_datacopy"
INPUTS: dict[str, tuple[int, int]] = {
    **dict.fromkeys((*UNARY, *SFPU_FUNCTIONS, "reduce", "tilizer", "drainer"), (1, 1)),
    **dict.fromkeys((*BINARY, "embedding", "topk"), (2, 2)),
    "matmul": (2, 5),
    "depthwise": (2, 3),
    "splice": (1, 8),
}
"""Fewest and most inputs of each type of op; a fused op says itself."""


def check_graphs(context: Context) -> None:
    """Rules that hold on every architecture."""
    seen: dict[str, BudaGraph] = {}
    for graph in context.netlist.graphs.values():
        for key, value in (("target_device", graph.target_devices), ("input_count", graph.input_count)):
            if value is None and key not in graph.lines:
                context.graph(graph, "", "E0614", f"{key} is missing")
        for op in graph.ops:
            _check_names(op, graph, seen, context)
            _check_fields(op, context)
            _check_inputs(op, graph, context)
    for _, op in context.all_ops():
        _check_output(op, context)
    _check_instances(context)


def _check_instances(context: Context) -> None:
    """Check that each instance of what lies on several devices reads and fills the instances on its own device."""
    for graph in context.netlist.graphs.values():
        if _twice(graph.target_devices):
            context.graph(graph, "target_device", "E0615", "target_device names a device twice")
    for queue in context.netlist.queues.values():
        if _twice(queue.target_devices):
            context.queue(queue, "target_device", "E0615", "target_device names a device twice")
        own, producer = set(queue.target_devices or ()), context.ops.get(queue.input)
        made = set(context.graph_of[queue.input].target_devices or ()) if producer is not None and producer.name == queue.input else set()
        if own and len(made) > 1 and (len(own) == 1 or own - made):
            message = f"it is on devices {sorted(own)[:16]}, but op '{queue.input}', which fills it, on {sorted(made)[:16]}"
            context.queue(queue, "target_device", "E0601", message)
    several = {
        name: set(queue.target_devices or ()) for name, queue in context.netlist.queues.items() if len(queue.target_devices or ()) > 1
    }
    for graph in context.netlist.graphs.values() if several else ():
        devices = set(graph.target_devices or ())
        read = dict.fromkeys(name for op in graph.ops for name in op.inputs if name in several)
        absent = [name for name in read if len(devices) == 1 or devices - several[name]]
        if absent and devices:
            message = f"queue '{absent[0]}', which it reads, is on devices {sorted(several[absent[0]])[:16]}, it on {sorted(devices)[:16]}"
            context.graph(graph, "target_device", "E0601", message)


def _twice(devices: tuple[int, ...] | None) -> bool:
    return devices is not None and len(set(devices)) < len(devices)


def _check_names(op: BudaOp, graph: BudaGraph, seen: dict[str, BudaGraph], context: Context) -> None:
    first = seen.setdefault(op.name, graph)
    if first is not graph:
        context.op(op, "", "E0601", f"graph '{first.name}' has an op of this name as well")
    if op.name in context.queues:
        context.op(op, "", "E0601", "there is a queue of this name as well")


def _check_fields(op: BudaOp, context: Context) -> None:
    for name in missing(op, *FIELDS, "grid_size", *(() if op.type == ETHERNET else ("grid_loc",))):
        context.op(op, "", "E0614", f"{name} is missing")
    if op.buf_size_mb is not None and op.buf_size_mb < 0:
        context.op(op, "buf_size_mb", "E0615", f"buf_size_mb is at least 0, not {op.buf_size_mb}")
    if op.inputs == () and "inputs" in op.lines and f"op '{op.name}'" not in context.faulty:
        context.op(op, "inputs", "E0616", "it has no inputs")
        context.misfits.add(op.name)
    low, high = INPUTS.get(op.type or "", (0, len(op.inputs)))
    if op.inputs and not low <= len(op.inputs) <= high:
        wanted = str(low) if low == high else f"{low} to {high}"
        context.op(op, "inputs", "E0616", f"{op.type} takes {wanted} inputs, not {len(op.inputs)}")
        context.misfits.add(op.name)
        context.unresolved = True
    elif op.in_df and op.inputs and len(op.in_df) != len(op.inputs):
        context.op(op, "in_df", "E0616", f"{len(op.in_df)} formats in in_df for {len(op.inputs)} inputs")
    if op.name in context.misfits:
        return
    for kind, indices in (("tms", op.input_tms), ("pad", op.pads), ("unpad", op.unpads)):
        for index in indices:
            if op.inputs and index >= len(op.inputs):
                context.op(op, f"input_{index}_{kind}", "E0616", f"there is no input {index}: it has {len(op.inputs)}")
    for name in ("input_buf_min_size_tiles", "input_dram_io_buf_size_tiles"):
        sizes = getattr(op, name)
        if sizes is not None and op.inputs and (len(sizes) != len(op.inputs) or min(sizes, default=0) < 0):
            context.op(op, name, "E0616", f"{name} gives {list(sizes)[:16]}, not a size of at least 0 for each of {len(op.inputs)} inputs")


def _check_inputs(op: BudaOp, graph: BudaGraph, context: Context) -> None:
    for name in op.inputs:
        if context.source(name) is None:
            hint = context.found.nearest(name, context.names())
            context.op(op, "inputs", "E0601", f"its input '{name}' is no queue and no op", hint)
        elif name not in context.queues:
            _check_edge(op, graph, name, context)
    for queue, reader in op.forked_dram_inputs:
        if queue not in context.queues or all(other.name != reader for other in graph.ops):
            message = f"'{queue}' of '{reader}': they are not a queue and an op of the same graph"
            context.op(op, "forked_dram_inputs", "E0601", f"forked_dram_inputs names {message}")


def _check_edge(op: BudaOp, graph: BudaGraph, name: str, context: Context) -> None:
    other = context.graph_of[name]
    if other is graph or other.target_devices is None or graph.target_devices is None:
        return
    if set(other.target_devices) & set(graph.target_devices):
        message = f"its input '{name}' is an op of graph '{other.name}' on the same device, which runs at another time"
        context.op(op, "inputs", "E0606", message, "let a queue hold it between the two")
        context.unresolved = True


def _check_output(op: BudaOp, context: Context) -> None:
    outputs, readers = context.outputs.get(op.name, []), context.readers.get(op.name, [])
    if not outputs and not readers and op.type != "drainer" and not context.unresolved and not context.faulty:
        context.op(op, "", "E0606", "nothing reads it: neither a queue nor an op", "name it as the input of a queue")
    if not op.untilize_output or op.name in context.misfits:
        return
    if op.ublock_order == "c":
        context.op(op, "ublock_order", "E0632", "an output that is untilized has ublock_order r, not c")
    if readers:
        context.op(op, "untilize_output", "E0632", f"op '{readers[0][0].name}' reads its output, which is untilized: tiles are needed")
    elif len(outputs) > 1:
        context.op(op, "untilize_output", "E0632", f"{len(outputs)} queues take its untilized output: only one can")
    for queue in outputs:
        if queue.grid_size not in (None, (1, 1)):
            rows, columns = queue.grid_size or (1, 1)
            context.queue(
                queue, "grid_size", "E0632", f"it takes the untilized output of '{op.name}': its grid is 1x1, not {rows}x{columns}"
            )
        taken = context.readers.get(queue.name)
        if taken and queue.input_tms == ():
            context.queue(queue, "", "E0632", f"op '{taken[0][0].name}' reads it, but '{op.name}' fills it without tiles")


# ---- cores -------------------------------------------------------------------------------------------------------------------------


def check_grids(context: Context) -> None:
    """Every op lies on the grid of the chip, and no core belongs to two ops of a graph."""
    for graph in context.netlist.graphs.values():
        taken: dict[tuple[int, int], str] = {}
        for op in graph.ops:
            cells = _cells(op, context)
            if cells is None:
                continue
            for cell in product(range(*cells[0]), range(*cells[1])):
                other = taken.setdefault(cell, op.name)
                if other != op.name:
                    context.op(op, "grid_loc", "E0603", f"core [{cell[0]}, {cell[1]}] belongs to op '{other}' too")
                    break


def _cells(op: BudaOp, context: Context) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Rows and columns of the cores of an op, each [first, end); None if it has none or they are off the grid, which is reported."""
    if op.grid_loc is None or op.grid_size is None or op.type == ETHERNET:
        return None
    rows, columns = reversed(op.grid_size) if op.grid_transpose else op.grid_size
    (y, x), (height, width) = op.grid_loc, context.arch.grid
    if y + rows > height or x + columns > width:
        turned = ", transposed" if op.grid_transpose else ""
        message = f"{rows}x{columns} cores{turned} at [{y}, {x}] reach beyond the {height}x{width} of {context.arch.name}"
        context.op(op, "grid_loc", "E0603", message)
        return None
    return (y, y + rows), (x, x + columns)

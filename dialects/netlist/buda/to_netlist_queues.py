"""Queues of the form to queues of the plain netlist."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import format_named
from ttc.dialects.core.plain.functions import Function, TensorType
from ttc.dialects.netlist.buda.dims import blocks
from ttc.dialects.netlist.buda.form import BudaNetlist, BudaOp, BudaQueue, Tm
from ttc.dialects.netlist.buda.work import result_type
from ttc.dialects.netlist.buda.work.shared import FRAME, WorkBuilder
from ttc.dialects.netlist.buda.work.tms import apply_tms
from ttc.dialects.netlist.model import Blocking, Chip, Queue
from ttc.dialects.netlist.sizes import queue_header_bytes, tile_bytes, tile_shape

Kind = Literal["input", "output", "parameter", "state", "edge", "stash"]


class QueueBuilder:
    """Makes the queues of an expanded form in normal form.  ops: all of it, by name."""

    def __init__(self, form: BudaNetlist, ops: Mapping[str, BudaOp], chip: Chip) -> None:
        self._ops = ops
        self._chip = chip
        self._read = {name for op in ops.values() for name in op.inputs}
        self._shown_read: set[str] = set()
        self._shown_written: set[str] = set()
        for queue in form.queues.values():
            base = queue.alias or queue.name
            if queue.name in self._read:
                self._shown_read.add(base)
            if queue.input in ops:
                self._shown_written.add(base)
        self._stashes = stashes(form)

    def queue(self, queue: BudaQueue) -> Queue:
        """Return the queue, its tensor, kind and size derived.  Raises E0602."""
        where = f"queue '{queue.name}'"
        blocking, grid, type_ = blocks(queue, where)
        producer = self._ops.get(queue.input)
        flat = queue.layout == "flat" or (producer is not None and bool(producer.untilize_output))
        tensor = replace(type_, layout="rows") if flat else type_
        view = view_of(queue.input_tms, result_type(producer), tensor, where) if producer is not None and queue.input_tms else None
        return Queue(
            name=queue.name,
            kind=self.kind(queue),
            type="ram" if queue.type == "ram" else "queue",
            source=queue.input if producer is not None else "HOST",
            tensor=tensor,
            entries=queue.entries or 0,
            location="host" if queue.loc == "host" else "dram",
            chip=(queue.target_devices or (0,))[0],
            grid=grid,
            blocking=blocking,
            buffers=queue.addresses,
            buffer_bytes=buffer_bytes(tensor, queue.entries or 0, grid, blocking, self._chip),
            alias=queue.alias or None,
            view=view,
        )

    def kind(self, queue: BudaQueue) -> Kind:
        """Return what the queue holds: see `to_netlist`."""
        base = queue.alias or queue.name
        if queue.input in self._ops:
            between = "stash" if queue.name in self._stashes else "edge"
            return between if base in self._shown_read else "output"
        if queue.type != "ram":
            return "input"
        return "state" if base in self._shown_written else "parameter"


def stashes(form: BudaNetlist) -> set[str]:
    """Return queues of type `queue` that some programs fill and others read; those that share memory with others are not among them."""
    programs: dict[str, set[str]] = {}
    for program in form.programs.values():
        for step in program.instructions:
            if step.opcode == "execute":
                programs.setdefault(str(step.args[0]), set()).add(program.name)
    fillers: dict[str, set[str]] = {}
    readers: dict[str, set[str]] = {}
    for graph in form.graphs.values():
        for op in graph.ops:
            fillers[op.name] = programs.get(graph.name, set())
            for name in op.inputs:
                readers.setdefault(name, set()).update(programs.get(graph.name, ()))
    shared = {queue.alias for queue in form.queues.values() if queue.alias}
    found: set[str] = set()
    for queue in form.queues.values():
        written, read = fillers.get(queue.input, set()), readers.get(queue.name, set())
        alone = queue.type != "ram" and not queue.alias and queue.name not in shared
        if alone and written and read and not written & read:
            found.add(queue.name)
    return found


def view_of(tms: Sequence[Tm], source: TensorType, target: TensorType, where: str) -> Function:
    """The manipulations between an op's result and the queue it feeds.  Raises E0602 if they give something else than the queue holds."""
    builder = WorkBuilder((source,))
    value = apply_tms(builder, 0, tms, tile_shape(source.layout) or FRAME)
    if builder.shape(value) != target.shape:
        raise Error("E0602", f"its input_tms give {list(builder.shape(value))}, its blocks say {list(target.shape)}", where=where)
    return builder.finish(value, target, ())


def buffer_bytes(tensor: TensorType, entries: int, grid: tuple[int, int], blocking: Blocking, chip: Chip) -> int:
    """Return bytes of one buffer: its header, and one core's share of all entries, in tiles or in rows."""
    tile = tile_shape(tensor.layout)
    if tile is None:
        share = (tensor.shape[0], tensor.shape[1] // grid[0], tensor.shape[2] // grid[1])
        size = format_named(tensor.format).size_bytes(share)
    else:
        size = blocking.tiles * tile_bytes(tensor.format, tile, chip)
    return queue_header_bytes(chip) + entries * size

"""Queues and ops of the plain netlist to those of the form, settings apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Plain, TensorType
from ttc.dialects.netlist.buda.form import BudaOp, BudaQueue, FusedOp
from ttc.dialects.netlist.buda.normal import TILE
from ttc.dialects.netlist.buda.to_netlist_buffers import usual_input_tiles
from ttc.dialects.netlist.buda.work import OpForm, form_of
from ttc.dialects.netlist.model import Blocking, Ethernet, Grid, Op, Queue
from ttc.dialects.netlist.sizes import tile_shape


def queue_form(queue: Queue, writer: str | None) -> BudaQueue:
    """Return a queue of the plain netlist as one of the form.  writer: op on the device that fills it."""
    flat = tile_shape(queue.tensor.layout) is None
    blocking = queue.blocking or _whole(queue.tensor)
    return BudaQueue(
        name=queue.name,
        input=writer or "HOST",
        entries=queue.entries,
        grid_size=queue.grid,
        t=blocking.t,
        mblock=blocking.mblock,
        ublock=blocking.ublock,
        ublock_order=blocking.order,
        tile_dim=tile_shape(queue.tensor.layout),
        df=queue.tensor.format,
        target_devices=(queue.chip,),
        loc=queue.location,
        addresses=queue.buffers,
        type=queue.type,
        layout="flat" if flat and writer is None else "tilized",
        alias=queue.alias or "",
    )


def _whole(tensor: TensorType) -> Blocking:
    """Return the blocks of a tensor in rows that lies in one buffer: micro blocks of one tile."""
    lead = (1, 1, *tensor.shape)
    return Blocking(prod(lead[:-2]), (-(-lead[-2] // TILE[0]), -(-lead[-1] // TILE[1])), (1, 1))


def op_form(op: Op, types: Mapping[str, TensorType], failures: dict[str, Error]) -> tuple[BudaOp, FusedOp | None]:
    """Return an op of the plain netlist as one of the form, and the fused op that it runs, if its work says so.

    Args:    types: of what ops read.  failures: by op, why its work cannot be read; such an op has its type and no more.
    Raises:  E0503 for an op on the host.
    """
    read = _read(op, failures)
    result = op.work.value_types[op.work.outputs[0]]
    blocking, place = op.blocking, op.place
    if blocking is None or not isinstance(place, Grid | Ethernet):
        raise Error("E0503", "an op on the host is not part of a Buda netlist", where=f"op '{op.name}'")
    inputs = tuple([op.inputs[index] for index in read.inputs if isinstance(index, int)])
    tile = tile_shape(result.layout)
    attributes: dict[str, Plain] = {}
    if op.inner is not None:
        attributes |= {"m_k": op.inner[0], "u_kt": op.inner[1]}
    attributes |= read.attributes
    if isinstance(place, Ethernet):
        attributes |= {"ingress_channels": place.ingress, "egress_channels": place.egress, "dest_device": place.chip}
    return BudaOp(
        name=op.name,
        type=read.type,
        grid_loc=(place.row, place.col) if isinstance(place, Grid) else None,
        grid_size=(place.rows, place.cols) if isinstance(place, Grid) else _cells(result, blocking),
        grid_transpose=isinstance(place, Grid) and place.transposed,
        inputs=inputs,
        in_df=tuple([types[name].format for name in inputs]),
        out_df=result.format,
        intermed_df=op.intermediate,
        acc_df=op.accumulate,
        math_fidelity=op.fidelity,
        t=blocking.t,
        mblock=blocking.mblock,
        ublock=blocking.ublock,
        ublock_order=blocking.order,
        tile_dim=tile,
        buf_size_mb=_buffered_blocks(op, blocking),
        input_buf_min_size_tiles=_least_tiles(op, read.type, blocking, len(inputs)),
        untilize_output=tile is None,
        input_tms=dict(read.tms),
        pads=dict(read.pads),
        unpads=dict(read.unpads),
        attributes=attributes,
    ), read.fused


def _read(op: Op, failures: dict[str, Error]) -> OpForm:
    try:
        read = form_of(op)
        if not all(isinstance(x, int) for x in read.inputs):
            raise Error("E0503", "its work holds a literal, which an op of Buda reads from a queue", where=f"op '{op.name}'")
    except Error as error:
        failures[op.name] = error
        read = OpForm(op.type, tuple(range(len(op.inputs))))
    return read


def _cells(result: TensorType, blocking: Blocking) -> tuple[int, int]:
    """Return the grid that the blocks imply."""
    height, width = tile_shape(result.layout) or TILE
    rows, columns = (blocking.mblock[i] * blocking.ublock[i] for i in (0, 1))
    return max(result.shape[-2] // (rows * height), 1), max(result.shape[-1] // (columns * width), 1)


def _buffered_blocks(op: Op, blocking: Blocking) -> int:
    """Macro blocks that the result's buffer holds, a part of one counted as whole."""
    out = next((b for b in op.buffers if b.role == "out"), None)
    return 1 if out is None else max(-(-out.tiles * out.copies // blocking.tiles_per_step), 1)


def _least_tiles(op: Op, type_: str, blocking: Blocking, inputs: int) -> tuple[int, ...] | None:
    """Return what buffers of inputs hold where it is more than kernels buffer anyway."""
    tiles = {b.role: b.tiles * b.copies for b in op.buffers}
    found: Sequence[int] = [tiles.get(f"in{i}", 0) for i in range(inputs)]
    usual = [usual_input_tiles(type_, op.inner, i, blocking) for i in range(inputs)]
    more = tuple([given if given > least else 0 for given, least in zip(found, usual, strict=True)])
    return more if any(more) else None

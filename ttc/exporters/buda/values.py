"""What the host puts into the queues of an exported netlist."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.formats import format_named
from ttc.dialects.netlist.buda.work.depthwise import diagonal_tiles
from ttc.dialects.netlist.model import Netlist
from ttc.exporters.buda.canonical import padded
from ttc.exporters.buda.export import Exported
from ttc.inputs.files import npz_of
from ttc.runtime.program import Program

NO_INDEX = 0xFFFFFFFF
"""The index that stands for a row of zeros."""


def bundle_of(exported: Exported, program: Program) -> bytes:
    """Return an .npz file of the entries of all rams that the host fills, by queue."""
    return npz_of(held_values(exported, program.netlist, tensors_of(program)))


def tensors_of(program: Program) -> dict[str, NDArray]:
    """Return the tensors that a program's queues hold, by key."""
    return {queue.key: program.constants[queue.key] for queue in program.netlist.queues.values() if queue.key is not None}


def held_values(exported: Exported, netlist: Netlist, tensors: Mapping[str, NDArray]) -> dict[str, NDArray]:
    """Return the entries of the rams that the host fills, if only at first, by queue: [1, t, rows, columns] in whole tiles.

    Args:    netlist: that was exported.  tensors: of its archive by key, in the compute dtypes of their formats.
    """
    found: dict[str, NDArray] = {}
    sums = {op.name for graph in exported.form.graphs.values() for op in graph.ops if op.gradient_op}  # their rams start from zero
    for name, queue in exported.form.queues.items():
        copy = exported.fillings.copies.get(name)
        source = name if copy is None else copy.queue
        if queue.input in sums or (queue.input != "HOST" and netlist.queues[source].key is None):
            continue
        if name in exported.fillings.constants:
            found[name] = exported.fillings.constants[name][None].astype(format_named(queue.df or "Float32").compute)
        elif (made := netlist.queues.get(source)) is not None and made.key is not None:
            value = tensors[made.key].reshape(made.tensor.shape)
            diagonal = copy is not None and copy.manner == "diagonals"
            found[name] = (diagonal_tiles(value.reshape(-1, value.shape[-1]))[None] if diagonal else padded(value, made.tensor))[None]
    return found


def entries(name: str, exported: Exported, netlist: Netlist, values: Sequence[NDArray]) -> NDArray:
    """Return entries of a queue [entries, t, rows, columns] in whole tiles, given those of the netlist that was exported."""
    if name in exported.fillings.indices:
        return np.stack([_stream(np.asarray(value), exported.fillings.indices[name]) for value in values])
    return np.stack([padded(np.asarray(value), netlist.queues[name].tensor) for value in values])


def _stream(indices: NDArray, count: int) -> NDArray:
    """Return indices as rows of cores read them: `count` one after another through tiles of their own; rows without an index are zero."""
    cores, tiles = -(-indices.size // count), -(-count // 1024)
    found = np.full((cores, tiles * 1024), NO_INDEX, np.int64)
    flat = np.full(cores * count, NO_INDEX, np.int64)
    flat[: indices.size] = indices.ravel()
    found[:, :count] = flat.reshape(cores, count)
    return found.reshape(1, cores * tiles * 32, 32)

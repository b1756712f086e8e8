"""Lowering of ops that write where an index tensor says: into a copy of their operand."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ttc.runtime.engines.native.graph.storage import Storage
from ttc.runtime.engines.native.graph.tensors import Place, View, dense_strides
from ttc.runtime.engines.native.jobs import copies
from ttc.runtime.engines.native.jobs.job import NotTaken
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.jobs.products import FLOATS
from ttc.runtime.engines.native.kernels import scatter as kernels
from ttc.runtime.engines.native.kernels.gather import CheckIndices, key_words
from ttc.runtime.engines.native.lower import LOWERINGS

_MOST_KEYS = 4
"""Indices that name a row."""


@LOWERINGS.rule("scatter_nd")
def scatter_nd(n: Lowering) -> None:
    """Lower tile.scatter_nd: slices combined with updates at tuples of indices."""
    n.only("reduction")
    reduction, indices, updates = _operands(n)
    y = _copied(n, reduction)
    keys = indices.shape[-1]
    if not 1 <= keys <= _MOST_KEYS:
        raise NotTaken(f"rows named by {keys} indices")
    columns = prod(y.shape[keys:])
    lanes = max(n.cpu.vector_bytes // 4, 4)
    kernel = kernels.ScatterRows(y.storage, updates.storage, indices.storage, keys, reduction, lanes)
    words = {"target": y, "indices": indices, "updates": updates, "status": n.status}
    words |= {"rows": indices.elements // keys, "columns": columns, **key_words(y.shape[:keys], dense_strides(y.shape)[:keys])}
    moved = 2 * updates.elements * updates.item_bytes
    n.job(kernel, words, tasks=1, written=[y, *_status(n, indices, y.shape[:keys])], moved_bytes=moved)
    _finish(n, y)


@LOWERINGS.rule("scatter_elements")
def scatter_elements(n: Lowering) -> None:
    """Lower tile.scatter_elements: elements combined with updates."""
    n.only("axis", "reduction")
    reduction, indices, updates = _operands(n)
    axis = n.attr("axis")
    if not isinstance(axis, int) or not indices.shape:
        raise NotTaken("no axis")
    y = _copied(n, reduction)
    axis %= len(y.shape)
    *strides, last = (0 if i == axis else stride for i, stride in enumerate(y.strides))
    *batch, columns = indices.shape
    kernel = kernels.ScatterElements(y.storage, updates.storage, indices.storage, len(batch), reduction)
    tasks = prod(batch[:axis])
    words = {"target": y, "indices": indices, "updates": updates, "status": n.status, "rows": prod(batch[axis:])}
    words |= {"size": y.shape[axis], "along": y.strides[axis], "columns": columns, "column_target": last}
    for i, (size, stride) in enumerate(zip(batch, strides, strict=True)):
        words |= {f"batch{i}": size, f"batch{i}_target": stride}
    moved = 2 * updates.elements * updates.item_bytes
    n.job(kernel, words, tasks=tasks, written=[y, *_status(n, indices, y.shape[axis : axis + 1])], moved_bytes=moved)
    _finish(n, y)


def _operands(n: Lowering) -> tuple[kernels.Reduction, View, View]:
    """Return how elements are combined with updates, where, and with what."""
    x, indices, updates, reduction = n.operand(0), n.dense(1), n.dense(2), n.attr("reduction")
    if indices.storage[0] not in "iu":
        raise NotTaken(f"indices in {indices.storage}")
    if x.storage != updates.storage and not (x.storage in FLOATS and updates.storage in FLOATS):
        raise NotTaken(f"{updates.storage} into {x.storage}")
    if reduction not in ("none", "add", "mul", "max", "min") or (reduction != "none" and x.storage == "bool"):
        raise NotTaken(f"{reduction} of {x.storage}")
    return reduction, indices, updates  # pyright: ignore[reportReturnType]


def _status(n: Lowering, indices: View, sizes: Sequence[int]) -> list[View]:
    """Return the status, if the job that writes elements may set it.

    Where entries of the caller are changed a job before it looks at the indices: a run that fails then does so before it has changed any.
    """
    if n.operand(0).buffer.place is not Place.BOUND:
        return [n.status]
    kernel = CheckIndices(indices.storage, len(sizes))
    words = {"indices": indices, "status": n.status, "rows": indices.elements // len(sizes)}
    words |= {f"size{i}": size for i, size in enumerate(sizes)}
    n.job(kernel, words, tasks=1, written=[n.status], moved_bytes=indices.elements * indices.item_bytes)
    return []


def _copied(n: Lowering, reduction: str) -> View:
    """Return the operand where it is changed: floats in float32 if several numbers may be combined, since only the result is rounded."""
    x, storage = n.operand(0), n.result_storage()
    if x.storage != storage and not (x.storage in FLOATS and storage in FLOATS):
        raise NotTaken(f"{x.storage} into {storage}")
    held: Storage = "f32" if reduction != "none" and storage in FLOATS else storage
    y = n.result() if held == storage else n.temp(x.shape, held)
    copies.copy(n, x, y)
    return y


def _finish(n: Lowering, y: View) -> None:
    if n.results.get(0) is not y:
        copies.copy(n, y, n.result())

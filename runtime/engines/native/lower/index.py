"""Lowering of ops that read where an index tensor says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.jobs.job import NotTaken
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.jobs.products import FLOATS
from ttc.runtime.engines.native.kernels import gather as kernels
from ttc.runtime.engines.native.lower import LOWERINGS

_WIDEST = 4
"""Indices that name a row, at most."""


@LOWERINGS.rule("embedding")
def embedding(n: Lowering) -> None:
    """Lower tile.embedding: rows of a table."""
    n.only()
    _gather(n, n.operand(0), 0)


@LOWERINGS.rule("gather")
def gather(n: Lowering) -> None:
    """Lower tile.gather: slices along one axis."""
    n.only("axis")
    x, axis = n.operand(0), n.attr("axis")
    if not isinstance(axis, int):
        raise NotTaken("no axis")
    _gather(n, x, axis % len(x.shape))


@LOWERINGS.rule("gather_nd")
def gather_nd(n: Lowering) -> None:
    """Lower tile.gather_nd: slices at tuples of indices."""
    n.only("batch_dims")
    x, indices, batch = n.operand(0), _indices(n), n.attr("batch_dims")
    if not isinstance(batch, int):
        raise NotTaken("no batch_dims")
    keys = indices.shape[-1]
    if not 1 <= keys <= _WIDEST:
        raise NotTaken(f"rows named by {keys} indices")
    sizes = x.shape[batch : batch + keys]
    x = _reshaped(n, x, (prod(x.shape[:batch]), *sizes, prod(x.shape[batch + keys :])))
    rows = prod(indices.shape[batch:-1])
    _submit(n, x, indices, (x.shape[0], rows), rows * keys)


@LOWERINGS.rule("gather_elements")
def gather_elements(n: Lowering) -> None:
    """Lower tile.gather_elements: an element for each index."""
    n.only("axis")
    x, indices, axis = n.operand(0), _indices(n), n.attr("axis")
    if not isinstance(axis, int) or not x.shape:
        raise NotTaken("no axis")
    axis %= len(x.shape)
    *strides, last = (0 if i == axis else stride for i, stride in enumerate(x.strides))
    y = n.result()
    _require_copied(x, y)
    *batch, columns = indices.shape
    kernel = kernels.GatherElements(x.storage, y.storage, indices.storage, len(batch))
    words = {"source": x, "indices": indices, "target": y, "status": n.status, "columns": columns, "column_source": last}
    words |= {"size": x.shape[axis], "along": x.strides[axis]}
    for i, (size, stride) in enumerate(zip(batch, strides, strict=True)):
        words |= {f"batch{i}": size, f"batch{i}_source": stride}
    moved = y.elements * (x.item_bytes + y.item_bytes + indices.item_bytes)
    n.job(kernel, words, tasks=prod(batch), written=[y, n.status], moved_bytes=moved)


def _gather(n: Lowering, x: View, axis: int) -> None:
    """Slices of x along an axis."""
    indices = _indices(n)
    x = _reshaped(n, x, (prod(x.shape[:axis]), x.shape[axis], prod(x.shape[axis + 1 :])))
    _submit(n, x, replace(indices, shape=(*indices.shape, 1), strides=(*indices.strides, 1)), (x.shape[0], indices.elements), 0)


def _submit(n: Lowering, x: View, indices: View, rows: tuple[int, int], index_batch: int) -> None:
    """Rows of x[batch, sizes..., columns] at indices[..., keys].  rows: of the result, batch times those of an element of it."""
    y = n.result()
    _require_copied(x, y)
    _, *sizes, columns = x.shape
    lanes = max(n.cpu.vector_bytes // 4, 4)
    while lanes > columns:
        lanes //= 2
    kernel = kernels.Gather(x.storage, y.storage, indices.storage, indices.shape[-1], lanes)
    words = {"source": x, "indices": indices, "target": y, "status": n.status, "rows": rows[1], "columns": columns}
    words |= {"source_batch": x.strides[0], "index_batch": index_batch, **kernels.key_words(sizes, x.strides[1:-1])}
    moved = y.elements * (x.item_bytes + y.item_bytes) + indices.elements * indices.item_bytes
    n.job(kernel, words, tasks=prod(rows), written=[y, n.status], moved_bytes=moved)


def _indices(n: Lowering) -> View:
    """Return the tensor of indices, dense."""
    found = n.dense(1)
    if found.storage[0] not in "iu":
        raise NotTaken(f"indices in {found.storage}")
    return found


def _reshaped(n: Lowering, x: View, shape: Sequence[int]) -> View:
    """x in another shape, its last dimension dense."""
    found = x.reshaped(shape)
    if found is None or (found.strides[-1] != 1 and found.shape[-1] != 1):
        found = n.densified(x).reshaped(shape)
    if found is None:
        raise NotTaken("no elements")
    return found


def _require_copied(x: View, y: View) -> None:
    if x.storage != y.storage and not (x.storage in FLOATS and y.storage in FLOATS):
        raise NotTaken(f"{x.storage} into {y.storage}")

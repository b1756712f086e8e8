"""Normalizations over the trailing dimensions."""

from __future__ import annotations

from math import prod

from ttc.runtime.engines.native.graph.storage import Storage
from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.jobs.job import NotTaken
from ttc.runtime.engines.native.jobs.lines import axes_of, chunk_of, lead_words
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.kernels.norm import NormRows
from ttc.runtime.engines.native.lower import LOWERINGS

_FLOATS: tuple[Storage, ...] = ("f32", "bf16", "f16")


LOWERINGS.add("layer_norm", lambda n: _norm(n, centered=True))
LOWERINGS.add("rms_norm", lambda n: _norm(n, centered=False))


def _norm(n: Lowering, *, centered: bool) -> None:
    n.only("axis", "eps")
    x, axis, eps = n.operand(0), n.attr("axis"), n.attr("eps")
    if not isinstance(axis, int) or not isinstance(eps, int | float) or not x.shape:
        raise NotTaken("no axis")
    if x.storage not in _FLOATS or n.result_storage() not in _FLOATS:
        raise NotTaken(f"a norm of {x.storage}")
    axis %= len(x.shape)
    x = x if x.rows_from(axis) else n.densified(x)
    scale, scale_spread = _other(n, 1, x, axis)
    bias, bias_spread = _other(n, 2, x, axis) if centered else (None, False)
    y = n.result()
    tensors = [x, y, *(view for view in (scale, bias) if view is not None)]
    lead = axes_of(x.shape, tensors, range(axis))
    storages: list[Storage | None] = [None if view is None else view.storage for view in (scale, bias)]
    kernel = NormRows(x.storage, y.storage, centered, storages[0], storages[1], (scale_spread, bias_spread), len(lead))
    length = prod(x.shape[axis:])
    words = dict(zip(kernel.tensors, tensors, strict=True))
    words |= {"length": length, "eps": float(eps), **lead_words(lead, kernel.tensors)}
    row_bytes = length * (x.item_bytes + y.item_bytes)
    n.job(
        kernel,
        words,
        tasks=x.elements // length,
        written=[y],
        chunk=chunk_of(row_bytes),
        flops=8 * x.elements,
        moved_bytes=x.elements * x.item_bytes + y.elements * y.item_bytes,
    )


def _other(n: Lowering, index: int, x: View, axis: int) -> tuple[View | None, bool]:
    """Scale or bias in the shape of x, and whether a row has but one element of it."""
    if not n.has(index):
        return None, False
    view = n.operand(index)
    if view.storage not in _FLOATS:
        raise NotTaken(f"a norm with {view.storage}")
    view = view.expanded(x.shape)
    if all(stride == 0 or size == 1 for size, stride in zip(view.shape[axis:], view.strides[axis:], strict=True)):
        return view, True
    return (view if view.rows_from(axis) else n.densified(view)), False

"""Lowering from tile to jobs of ops that order elements."""

from __future__ import annotations

from math import prod

from ttc.runtime.engines.native.graph.storage import STORAGE_BYTES, Storage
from ttc.runtime.engines.native.jobs.job import NotTaken
from ttc.runtime.engines.native.jobs.lines import axes_of, lead_words
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.kernels.order import Order
from ttc.runtime.engines.native.lower import LOWERINGS

_TARGETS: tuple[Storage, ...] = ("i32", "i64")
_FEW = 64
"""Places up to which each element is put where it belongs."""
_SCRATCH_BYTES = 16 << 20
"""The most bytes of scratch memory of a thread."""


@LOWERINGS.rule("order")
def order(n: Lowering) -> None:
    """Lower tile.order: places of the k largest or smallest elements along an axis, in order."""
    n.only("k", "axis", "largest")
    x, axis, count = n.operand(0), n.attr("axis"), n.attr("k")
    if not isinstance(axis, int) or not isinstance(count, int) or not x.shape:
        raise NotTaken("no axis")
    if STORAGE_BYTES[x.storage] > 4 or n.result_storage() not in _TARGETS:
        raise NotTaken(f"an order of {x.storage}")
    axis %= len(x.shape)
    y = n.result()
    others = [i for i in range(len(x.shape)) if i != axis]
    lead = axes_of(x.shape, (x, y), others)
    kernel = Order(x.storage, y.storage, bool(n.attr("largest", False)), count <= _FEW, len(lead))
    length = x.shape[axis]
    scratch = kernel.scratch_bytes(length, count)
    if scratch > _SCRATCH_BYTES:
        raise NotTaken("a longer axis")
    words = {"x": x, "y": y, "length": length, "count": count, **lead_words(lead, ("x", "y"))}
    words |= {"x_step": x.strides[axis] * x.item_bytes, "y_step": y.strides[axis] * y.item_bytes}
    moved = x.elements * x.item_bytes + y.elements * y.item_bytes
    n.job(kernel, words, tasks=prod(x.shape[i] for i in others), written=[y], scratch=scratch, moved_bytes=moved)

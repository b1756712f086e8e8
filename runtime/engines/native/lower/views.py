"""Ops that only name the elements of their operand anew: no work where the elements may stay where they lie."""

from __future__ import annotations

from ttc.runtime.engines.native.jobs.job import NotTaken
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.jobs.products import FLOATS
from ttc.runtime.engines.native.lower import LOWERINGS


@LOWERINGS.rule("reshape")
def reshape(n: Lowering) -> None:
    """Lower tile.reshape: the elements in row-major order, in another shape."""
    x, shape = n.operand(0), n.result_shape()
    found = x.reshaped(shape) or n.densified(x).reshaped(shape)
    if found is None:
        raise NotTaken("no elements")
    n.alias(found)


@LOWERINGS.rule("transpose")
def transpose(n: Lowering) -> None:
    """Lower tile.transpose: dimensions in another order, as a view, which readers that need rows copy."""
    n.only("perm")
    order = n.attr("perm")
    if not isinstance(order, tuple):
        raise NotTaken("no order")
    n.alias(n.operand(0).permuted([int(i) for i in order if isinstance(i, int)]))


@LOWERINGS.rule("hslice")
def hslice(n: Lowering) -> None:
    """Lower tile.hslice as a view: [..., s, n * d] -> [..., n, s, d]."""
    n.only("n")
    x, (*lead, heads, rows, columns) = n.operand(0), n.result_shape()
    split = n.reshaped(x, (*lead[: len(x.shape) - 2], rows, heads, columns))
    n.alias(split.permuted([*range(len(lead)), len(lead) + 1, len(lead), len(lead) + 2]))


@LOWERINGS.rule("hstack")
def hstack(n: Lowering) -> None:
    """Lower tile.hstack as a view: [..., n, s, d] -> [..., s, n * d]."""
    n.only("n")
    x = n.operand(0)
    lead = len(x.shape) - 3
    moved = x.permuted([*range(lead), lead + 1, lead, lead + 2])
    n.alias(n.reshaped(moved, n.result_shape()))


@LOWERINGS.rule("slice")
def slice_(n: Lowering) -> None:
    """Lower tile.slice: every so many elements of dimensions, as a view."""
    n.only("starts", "ends", "steps", "axes", "sizes")
    x = n.operand(0)
    starts, steps, shape = n.attr("starts"), n.attr("steps"), n.result_shape()
    if not isinstance(starts, tuple) or len(starts) != len(shape) or len(shape) != len(x.shape):
        raise NotTaken("bounds of another kind")
    steps = steps if isinstance(steps, tuple) else (1,) * len(shape)
    for axis, (start, step, size) in enumerate(zip(starts, steps, shape, strict=True)):
        if not isinstance(start, int) or not isinstance(step, int):
            raise NotTaken("bounds of another kind")
        x = x.sliced(axis, start, size, step)
    n.alias(x)


@LOWERINGS.rule("broadcast")
def broadcast(n: Lowering) -> None:
    """Lower tile.broadcast: dimensions of size 1 repeated, as a view that does not move along them."""
    n.only("shape")
    n.alias(n.operand(0).expanded(n.result_shape()))


@LOWERINGS.rule("relayout")
def relayout(n: Lowering) -> None:
    """Lower tile.relayout: the elements as they lie."""
    n.only()
    n.alias(n.operand(0))


@LOWERINGS.rule("to_host")
def to_host(n: Lowering) -> None:
    """Lower tile.to_host: the values, as the host holds them."""
    _same(n)


@LOWERINGS.rule("from_host")
def from_host(n: Lowering) -> None:
    """Lower tile.from_host: the values, as the device holds them."""
    _same(n)


def _same(n: Lowering) -> None:
    n.only()
    x, storage = n.operand(0), n.result_storage()
    if x.storage != storage and not (x.storage in FLOATS and storage in FLOATS):
        raise NotTaken(f"{x.storage} into {storage}")
    n.alias(x)

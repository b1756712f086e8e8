"""Gradients of ops that cut tensors and join them."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttc.dialects.core.shapes import axis_in
from ttc.dialects.nn.gradients.base import Cotangents, GradientSite, Ints, cotangent, gradient, padded, reversed_along, total
from ttc.dialects.nn.making import OpMaker, part


def spread(b: OpMaker, x: SSAValue, axis: int, step: int) -> SSAValue:
    """Return the elements of one dimension moved apart by a step, with zeros between them."""
    shape = b.shape(x)
    count = shape[axis]
    if step == 1 or count < 2:
        return x
    apart = padded(b, b.reshape(x, *shape[: axis + 1], 1, *shape[axis + 1 :]), axis + 1, 0, step - 1)
    return part(b, b.reshape(apart, *shape[:axis], count * step, *shape[axis + 1 :]), axis, 0, (count - 1) * step + 1)


def put_back(b: OpMaker, x: SSAValue, shape: Ints, starts: Ints, steps: Ints) -> SSAValue:
    """Return zeros of a shape, with x where a slice with these starts and steps reads: the transpose of `nn.slice`."""
    before, after = [0] * len(shape), [0] * len(shape)
    for axis, (size, start, step) in enumerate(zip(shape, starts, steps, strict=True)):
        count = b.shape(x)[axis]
        if step < 0:
            x, start, step = reversed_along(b, x, axis), start + (count - 1) * step, -step
        x = spread(b, x, axis, step)
        start = start if count else 0
        before[axis], after[axis] = start, size - start - b.shape(x)[axis]
    if not any(before) and not any(after):
        return x
    return b.nn("pad", x, before=tuple(before), after=tuple(after), value=0.0, mode="constant")


@gradient("nn.slice")
def slice_(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return the cotangent of x: dy where the elements came from, 0 elsewhere."""
    return [put_back(b, site.dy, b.shape(site.operand(0)), site.attrs["starts"], site.attrs["steps"])]


@gradient("nn.concat")
def concat(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return dy cut apart as the operands were joined."""
    axis = axis_in(site.attrs["axis"], b.rank(site.dy))
    sizes = tuple(b.shape(x)[axis] for x in site.operands if x is not None)
    parts = b.nn_all("split", site.dy, axis=axis, sizes=sizes) if len(sizes) > 1 else (site.dy,)
    return [x if wanted else None for x, wanted in zip(parts, site.wanted, strict=True)]


@gradient("nn.split")
def split(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return the cotangents of the pieces, joined."""
    pieces = [cotangent(b, site, i) for i in range(len(site.results))]
    return [b.nn("concat", *pieces, axis=site.attrs["axis"]) if len(pieces) > 1 else pieces[0]]


@gradient("nn.pad")
def pad(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return the cotangent of x: dy inside the margins, plus that of the margins where their elements came from."""
    dy, sizes = site.dy, b.shape(site.operand(0))
    margins = zip(site.attrs["before"], site.attrs["after"], strict=True)
    if site.attrs["mode"] == "constant":
        return [b.nn("slice", dy, starts=site.attrs["before"], sizes=sizes, steps=(1,) * len(sizes))]
    for axis, (before, after) in enumerate(margins):
        if before or after:
            dy = _folded(b, dy, axis, before, sizes[axis], site.attrs["mode"])
    return [dy]


def _folded(b: OpMaker, dy: SSAValue, axis: int, before: int, size: int, mode: str) -> SSAValue:
    """The inside of one dimension, plus its margins where they were read."""
    after = b.shape(dy)[axis] - before - size
    found = part(b, dy, axis, before, size)
    for start, count in ((0, before), (before + size, after)):
        if not count:
            continue
        margin, at_end = part(b, dy, axis, start, count), start > 0
        if mode == "edge":
            margin, count, place = total(b, margin, (axis,), keepdims=True), 1, size - 1 if at_end else 0
        elif mode == "reflect":
            margin, place = reversed_along(b, margin, axis), size - 1 - count if at_end else 1
        else:
            place = 0 if at_end else size - count
        found = b.nn("add", found, padded(b, margin, axis, place, size - place - count))
    return found

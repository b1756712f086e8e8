"""Facts of ops that only rearrange elements."""

from __future__ import annotations

from math import prod

from ttc.dialects.core.errors import Error
from ttc.dialects.core.shapes import Shape, axis_in, require_broadcastable
from ttc.dialects.tile.facts.base import FLOAT, INT, INTS, Ints, Role, fact


@fact(Role.VIEW, {"shape": INTS}, in_transit=True, bijective=True, rearranges=True)
def reshape(x: Shape, *, shape: Ints) -> Shape:
    """Return the shape announced.  Raises E0401 if it holds another number of elements."""
    if min(shape, default=1) < 0 or prod(shape) != prod(x):
        raise Error("E0401", f"{list(x)} cannot be reshaped to {list(shape)}")
    return shape


@fact(Role.VIEW, {"perm": INTS}, as_nn=True, in_transit=True, bijective=True, rearranges=True)
def transpose(x: Shape, *, perm: Ints) -> Shape:
    """Return the sizes of x in the order of perm.  Raises E0402."""
    if sorted(perm) != list(range(len(x))):
        raise Error("E0402", f"{list(perm)} is no permutation of the dimensions of {list(x)}")
    return tuple(x[p] for p in perm)


@fact(Role.VIEW, {"n": INT}, in_transit=True, bijective=True, rearranges=True)
def hslice(x: Shape, *, n: int) -> Shape:
    """Return [..., n, rows, width / n] for x[..., rows, width].  Raises E0402."""
    if len(x) < 2 or n < 1 or x[-1] % n:
        raise Error("E0402", f"the columns of {list(x)} cannot be cut into {n} parts")
    *lead, rows, width = x
    return (*lead, n, rows, width // n)


@fact(Role.VIEW, {"n": INT}, in_transit=True, bijective=True, rearranges=True)
def hstack(x: Shape, *, n: int) -> Shape:
    """Return [..., rows, n * width] for x[..., n, rows, width].  Raises E0402."""
    if len(x) < 3 or x[-3] != n:
        raise Error("E0402", f"{list(x)} is not a stack of {n} parts")
    *lead, _, rows, width = x
    return (*lead, rows, n * width)


@fact(Role.VIEW, {"shape": INTS}, in_transit=True)
def broadcast(x: Shape, *, shape: Ints) -> Shape:
    """Return the shape announced.  Raises E0401 if x does not broadcast to it."""
    require_broadcastable(x, shape)
    return shape


@fact(Role.VIEW, {"starts": INTS, "sizes": INTS, "steps": INTS}, as_nn=True, in_transit=True, rearranges=True)
def slice_(x: Shape, *, starts: Ints, sizes: Ints, steps: Ints) -> Shape:
    """Return the sizes announced.  Raises E0402 if the box does not lie inside x."""
    if not len(x) == len(starts) == len(sizes) == len(steps):
        raise Error("E0402", f"a slice of {list(x)} needs one start, size and step a dimension")
    for dim, start, size, step in zip(x, starts, sizes, steps, strict=True):
        last = start + (size - 1) * step
        if size < 0 or step == 0 or (size and not (0 <= start < dim and 0 <= last < dim)):
            raise Error("E0402", f"slice from {list(starts)} of {list(sizes)} by {list(steps)} leaves {list(x)}")
    return sizes


@fact(Role.VIEW, in_transit=True, bijective=True)
def relayout(x: Shape) -> Shape:
    """Return the shape of x."""
    return x


@fact(Role.MOVEMENT, {"before": INTS, "after": INTS, "value": FLOAT}, in_transit=True)
def pad(x: Shape, *, before: Ints, after: Ints, value: float) -> Shape:
    """Return the shape of x, larger by what is added.  Raises E0402."""
    if not len(x) == len(before) == len(after) or min((*before, *after), default=0) < 0:
        raise Error("E0402", f"{list(x)} cannot be padded by {list(before)} and {list(after)}")
    return tuple(d + b + a for d, b, a in zip(x, before, after, strict=True))


@fact(Role.MOVEMENT, {"axis": INT}, as_nn=True, rearranges=True)
def concat(*xs: Shape, axis: int) -> Shape:
    """Return the shape of the operands, of all their sizes along the axis.  Raises E0401, E0412."""
    if not xs:
        raise Error("E0401", "there is nothing to concatenate")
    at = axis_in(axis, len(xs[0]))
    if len({(*x[:at], *x[at + 1 :]) for x in xs}) != 1 or len({len(x) for x in xs}) != 1:
        raise Error("E0401", f"{', '.join(str(list(x)) for x in xs)} do not fit along axis {axis}")
    return (*xs[0][:at], sum(x[at] for x in xs), *xs[0][at + 1 :])

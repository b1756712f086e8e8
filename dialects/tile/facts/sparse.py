"""Facts of products with matrices that are mostly zero."""

from __future__ import annotations

from math import prod

from ttc.dialects.core.errors import Error
from ttc.dialects.core.shapes import Shape, require_broadcastable
from ttc.dialects.nn import counts
from ttc.dialects.tile.facts.base import BOOL, FLOATS, INT, INTS, STR, Floats, Ints, Role, fact, optional

MAX_STEP = 1 << 31
"""The largest magnitude of a number in the attributes of a selection."""
MAX_ROWS = 1 << 27
"""The most rows of a selection, those that are summed included."""
_GRIDS = ("source", "sizes", "steps", "offsets", "divisors", "shape")


@fact(Role.CONTRACTION, {**dict.fromkeys(_GRIDS, INTS), "terms": INT, "nearest": BOOL}, flops=counts.one_each)
def sparse_matmul(
    x: Shape,
    *,
    source: Ints,
    sizes: Ints,
    steps: Ints,
    offsets: Ints,
    divisors: Ints,
    terms: int,
    nearest: bool,
    shape: Ints,
) -> Shape:
    """Return the shape announced, of one row for each point of `sizes` without its first `terms` dimensions.  Raises E0401, E0402."""
    lengths = (len(steps), len(offsets), len(divisors))
    if lengths != (len(source) * len(sizes), len(source), len(source)) or not 0 <= terms <= len(sizes):
        raise Error("E0402", f"a selection from {list(source)} to {list(sizes)} has {lengths} steps, offsets and divisors")
    numbers = (*source, *sizes, *shape, *steps, *offsets, *divisors)
    if max(map(abs, numbers), default=0) > MAX_STEP or min((*sizes, *shape), default=0) < 0 or min((*source, *divisors), default=1) < 1:
        raise Error("E0402", "the numbers of a selection are out of range")
    rows = prod(sizes[terms:])
    if not x or not shape or shape[-1] != x[-1] or prod(shape[:-1]) != rows or prod(source) != prod(x[:-1]):
        raise Error("E0401", f"a selection of {rows} rows from {list(source)} does not take {list(x)} to {list(shape)}")
    if prod(sizes) > MAX_ROWS:
        raise Error("E0402", f"a selection of {prod(sizes):,} rows is too long")
    return shape


@fact(Role.CONTRACTION, {"activation": optional(STR), "activation_args": optional(FLOATS)}, flops=counts.one_each)
def depthwise(
    a: Shape, b: Shape, bias: Shape | None = None, *, activation: str | None = None, activation_args: Floats | None = ()
) -> Shape:
    """Return [r, c] for a[z, r, c] and b[z, c].  Raises E0401."""
    if len(a) != 3 or b != (a[0], a[2]):
        raise Error("E0401", f"a depthwise product takes [z, r, c] and [z, c], not {list(a)} and {list(b)}")
    require_broadcastable(bias, a[1:])
    return a[1:]

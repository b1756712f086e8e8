"""Shapes of ops that rearrange elements."""

from __future__ import annotations

from math import prod

from ttc.runtime.engines.native.prepare.shape_rules import Ints, Shape, axis_in, require, require_fits


def reshape(x: Shape, *, shape: Ints) -> Shape:
    """The one announced."""
    require(min(shape, default=1) >= 0 and prod(shape) == prod(x), "another number of elements")
    return shape


def transpose(x: Shape, *, perm: Ints) -> Shape:
    """That of x, its dimensions in another order."""
    require(sorted(perm) == list(range(len(x))), "no permutation")
    return tuple(x[i] for i in perm)


def hslice(x: Shape, *, n: int) -> Shape:
    """[..., n, rows, width / n]."""
    *lead, rows, width = x
    require(n >= 1 and width % n == 0, "columns in parts")
    return (*lead, n, rows, width // n)


def hstack(x: Shape, *, n: int) -> Shape:
    """[..., rows, n * width]."""
    *lead, count, rows, width = x
    require(count == n, "another number of parts")
    return (*lead, rows, n * width)


def broadcast(x: Shape, *, shape: Ints) -> Shape:
    """The one announced."""
    require_fits(x, shape)
    return shape


def slice_(x: Shape, *, starts: Ints, sizes: Ints, steps: Ints) -> Shape:
    """The one announced."""
    require(len(x) == len(starts) == len(sizes) == len(steps), "bounds of another rank")
    for dim, start, size, step in zip(x, starts, sizes, steps, strict=True):
        require(size >= 0 and step != 0, "sizes and steps")
        require(size == 0 or (0 <= start < dim and 0 <= start + (size - 1) * step < dim), "elements outside")
    return sizes


def relayout(x: Shape) -> Shape:
    """That of x."""
    return x


def to_host(x: Shape) -> Shape:
    """That of x."""
    return x


def from_host(x: Shape) -> Shape:
    """That of x."""
    return x


def pad(x: Shape, *, before: Ints, after: Ints, value: float) -> Shape:
    """That of x, larger by what is added."""
    del value
    require(len(x) == len(before) == len(after) and min((*before, *after), default=0) >= 0, "amounts")
    return tuple(size + b + a for size, b, a in zip(x, before, after, strict=True))


def concat(*xs: Shape, axis: int) -> Shape:
    """That of the operands, of all their sizes along the axis."""
    require(xs and len({len(x) for x in xs}) == 1, "operands of several ranks")
    at = axis_in(axis, len(xs[0]))
    require(len({(*x[:at], *x[at + 1 :]) for x in xs}) == 1, "operands of other sizes")
    return (*xs[0][:at], sum(x[at] for x in xs), *xs[0][at + 1 :])


def repeat(x: Shape, *, axis: int, n: int) -> Shape:
    """That of x, n times as large along the axis."""
    at = axis_in(axis, len(x))
    require(n >= 1, "no times")
    return (*x[:at], x[at] * n, *x[at + 1 :])


def tile_broadcast(x: Shape, *, dim: str, tile: Ints) -> Shape:
    """That of x."""
    require(dim in ("r", "c", "rc"), "another direction")
    _tiles(x, tile)
    return x


def retile(x: Shape, *, source: Ints, kept: Ints, target: Ints) -> Shape:
    """As many tiles of other sides."""
    rows, columns = _tiles(x, source)
    lead = x[:-2]
    require(len(kept) == len(target) == 2, "sides of tiles")
    require(all(1 <= k <= min(s, t) for k, s, t in zip(kept, source, target, strict=True)), "more than a tile holds")
    return (*lead, rows * target[0], columns * target[1])


def splice(
    *xs: Shape,
    pieces: Ints,
    units: int,
    granularity: str,
    grid: Ints = (1, 1),
    mblock: Ints = (1, 1),
    block: Ints = (1, 1),
    order: str = "r",
) -> Shape:
    """Matrices, or blocks of every core's share of them, in turn."""
    require(xs and all(len(x) == 3 for x in xs) and len(pieces) == 3 * len(xs) and order in ("r", "c"), "operands")
    specs = [pieces[3 * i : 3 * i + 3] for i in range(len(xs))]
    require(all(index >= 0 and 0 < length <= stride for index, length, stride in specs), "pieces")
    if granularity == "t":
        require(len({x[1:] for x in xs}) == 1, "matrices of several shapes")
        return (units, *xs[0][1:])
    require(granularity == "ublock" and len(grid) == len(mblock) == len(block) == 2, "another granularity")
    require(min((*grid, *mblock, *block)) >= 1 and units == prod(mblock), "blocks")
    share = (grid[0] * block[0], grid[1] * block[1])
    require(all(x[0] == xs[0][0] and x[1] % share[0] == x[2] % share[1] == 0 for x in xs), "parts of blocks")
    return (xs[0][0], share[0] * mblock[0], share[1] * mblock[1])


def _tiles(x: Shape, tile: Ints) -> tuple[int, int]:
    *_, rows, columns = x
    require(len(tile) == 2 and min(tile) >= 1, "sides of tiles")
    require(rows % tile[0] == columns % tile[1] == 0, "parts of tiles")
    return rows // tile[0], columns // tile[1]

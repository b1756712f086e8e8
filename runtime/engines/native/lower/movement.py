"""Lowering of ops that put elements of their operands into another place."""

from __future__ import annotations

from math import prod

from ttc.runtime.engines.native.graph.tensors import View, lies_at
from ttc.runtime.engines.native.jobs import copies
from ttc.runtime.engines.native.jobs.copies import copied, copy, fill
from ttc.runtime.engines.native.jobs.job import NotTaken
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.jobs.products import FLOATS
from ttc.runtime.engines.native.lower import LOWERINGS


@LOWERINGS.rule("concat")
def concat(n: Lowering) -> None:
    """Lower tile.concat: operands side by side; those that their producers wrote there are in place already."""
    n.only("axis")
    xs = [_movable(n, i) for i in range(len(n.node.operands))]
    (axis,) = _numbers(n, "axis")
    y, start = n.result(strided=True), 0
    axis %= len(y.shape)
    for x in xs:
        place = y.sliced(axis, start, x.shape[axis])
        start += x.shape[axis]
        if not lies_at(x, place):
            copy(n, x, place)


@LOWERINGS.rule("pad")
def pad(n: Lowering) -> None:
    """Lower tile.pad: elements of one value around those of the operand, dimension by dimension, in front and behind."""
    n.only("before", "after", "value")
    x, value = _movable(n, 0), n.attr("value")
    before = _numbers(n, "before")
    if not isinstance(value, int | float):
        raise NotTaken("a value of another kind")
    y = n.result(strided=True)
    if y.storage != x.storage or y.storage == "bool":
        raise NotTaken(f"padding of {x.storage} in {y.storage}")
    copies.pad(n, x, y, before, value)


@LOWERINGS.rule("repeat")
def repeat(n: Lowering) -> None:
    """Lower tile.repeat: the operand several times along an axis."""
    n.only("axis", "n")
    x, (axis,), (count,) = _movable(n, 0), _numbers(n, "axis"), _numbers(n, "n")
    axis %= len(x.shape)
    y = n.result()
    lead, rest = x.shape[: axis + 1], x.shape[axis + 1 :]
    split = _split(y, (*lead[:-1], count, lead[-1], *rest))
    copy(n, _inserted(x, axis).expanded(split.shape), split)


@LOWERINGS.rule("tile_broadcast")
def tile_broadcast(n: Lowering) -> None:
    """Lower tile.tile_broadcast: the first row, column or element of each tile in place of all of the tile."""
    n.only("dim", "tile")
    x, dim, tile = _movable(n, 0), n.attr("dim"), _numbers(n, "tile")
    tiles, y = _tiled(n.densified(x), tile), _tiled(n.result(), tile)
    last = len(tiles.shape) - 1
    for axis, name in ((last - 2, "r"), (last, "c")):
        if name in str(dim):
            tiles = tiles.sliced(axis, 0, 1)
    copy(n, tiles.expanded(y.shape), y)


@LOWERINGS.rule("retile")
def retile(n: Lowering) -> None:
    """Lower tile.retile: the upper left part of each tile, in tiles of other sides, beside zeros."""
    n.only("source", "kept", "target")
    x, source, kept, target = _movable(n, 0), *(_numbers(n, name) for name in ("source", "kept", "target"))
    tiles, y = _tiled(n.densified(x), source), n.result()
    if y.storage == "bool":
        raise NotTaken("truth values")
    places = _tiled(y, target)
    last = len(tiles.shape) - 1
    if kept != target:
        fill(n, y, 0)
    for axis, size in ((last - 2, kept[0]), (last, kept[1])):
        tiles, places = tiles.sliced(axis, 0, size), places.sliced(axis, 0, size)
    copy(n, tiles, places)


@LOWERINGS.rule("splice")
def splice(n: Lowering) -> None:
    """Lower tile.splice: matrices, or blocks of matrices, of the operands in turn."""
    n.only("pieces", "units", "granularity", "grid", "mblock", "block", "order")
    xs = [_movable(n, i) for i in range(len(n.node.operands))]
    pieces, (units,) = _numbers(n, "pieces"), _numbers(n, "units")
    y = n.result()
    if n.attr("granularity") == "t":
        _joined(n, xs, pieces, units, y)
        return
    grid, mblock, block = (_numbers(n, name, (1, 1)) for name in ("grid", "mblock", "block"))
    by_rows = n.attr("order", "r") == "r"
    parts = [_blocks(n, x, grid, block, by_rows) for x in xs]
    _, *shape = parts[0].shape
    target = n.temp((units, *shape), y.storage)
    _joined(n, parts, pieces, units, target)
    sizes = mblock if by_rows else mblock[::-1]
    split = _split(target, (*sizes, *shape))
    order = (2, 3, 0, 5, 4, 1, 6) if by_rows else (2, 3, 1, 5, 4, 0, 6)
    moved = split.permuted(order)
    copy(n, moved, _split(y, moved.shape))


def _joined(n: Lowering, xs: list[View], pieces: tuple[int, ...], units: int, y: View) -> None:
    """What `pieces` take of the operands along axis 0, turn by turn, one after the other."""
    specs = [pieces[3 * i : 3 * i + 3] for i in range(len(xs))]
    a_turn = sum(length for _, length, _ in specs)
    turns, filled = units // a_turn, 0
    if turns * a_turn != units or any(turns * (index + stride) != x.shape[0] for x, (index, _, stride) in zip(xs, specs, strict=True)):
        raise NotTaken("pieces that are not used up")
    target = _split(y, (turns, a_turn, *y.shape[1:]))
    for x, (index, length, stride) in zip(xs, specs, strict=True):
        source = _split(n.densified(x), (turns, index + stride, *x.shape[1:])).sliced(1, index, length)
        copy(n, source, target.sliced(1, filled, length))
        filled += length


def _blocks(n: Lowering, x: View, grid: tuple[int, ...], block: tuple[int, ...], by_rows: bool) -> View:
    """[t, R, C] as [blocks of a core in their order, t, cores down, cores across, rows and columns of a block], dense."""
    t, rows, columns = x.shape
    down, across = rows // grid[0] // block[0], columns // grid[1] // block[1]
    split = _split(n.densified(x), (t, grid[0], down, block[0], grid[1], across, block[1]))
    order = (2, 5, 0, 1, 4, 3, 6) if by_rows else (5, 2, 0, 1, 4, 3, 6)
    return _split(copied(n, split.permuted(order)), (down * across, t, grid[0], grid[1], *block))


def _movable(n: Lowering, index: int) -> View:
    """Return an operand whose elements a copy takes to the result: equal numbers, or floats that are rounded to it."""
    x, storage = n.operand(index), n.result_storage()
    if x.storage != storage and not (x.storage in FLOATS and storage in FLOATS):
        raise NotTaken(f"{x.storage} into {storage}")
    return x


def _numbers(n: Lowering, name: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
    """Return an attribute of one or more integers."""
    found = n.attr(name, default)
    found = found if isinstance(found, tuple) else (found,)
    if not all(isinstance(i, int) for i in found):
        raise NotTaken(f"{name} of another kind")
    return tuple(int(i) for i in found if isinstance(i, int))


def _tiled(x: View, tile: tuple[int, ...]) -> View:
    """[..., rows, columns], dense, as [..., tiles down, rows of a tile, tiles across, columns of a tile]."""
    *lead, rows, columns = x.shape
    return _split(x, (*lead, rows // tile[0], tile[0], columns // tile[1], tile[1]))


def _split(x: View, shape: tuple[int, ...]) -> View:
    """Return a dense view in another shape."""
    found = x.reshaped(shape) if prod(shape) == x.elements else None
    if found is None:
        raise NotTaken("a shape that does not fit")
    return found


def _inserted(x: View, axis: int) -> View:
    """With a dimension of size 1 in front of another."""
    return View(x.buffer, x.storage, (*x.shape[:axis], 1, *x.shape[axis:]), (*x.strides[:axis], 0, *x.strides[axis:]), x.offset)

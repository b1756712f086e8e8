"""Pools: a sparse matmul gathers the pixels under each tap, or sums them."""

from __future__ import annotations

from math import inf, prod

from xdsl.ir import SSAValue

from ttc.dialects.core.formats import FORMATS
from ttc.dialects.core.kernels.windows import Window, windows
from ttc.dialects.tile.base import TileOp, tile_of
from ttc.dialects.tile.reduce import ReduceOp
from ttc.dialects.tile.shape import PadOp
from ttc.dialects.tile.sparse import SparseMatmulOp
from ttc.passes.declined import Declined
from ttc.passes.tile.expand import EXPANSIONS
from ttc.passes.tile.expand.expansion import Expansion
from ttc.passes.tile.expand.selection import Selection, bands_of, row_of_taps, windows_of


@EXPANSIONS.rule("max_pool2d")
def expand_max_pool2d(op: TileOp, to: Expansion) -> SSAValue:
    """Expand into a maximum over taps; taps outside the image count as its nearest pixel where every window holds that."""
    moves = _moves(op)
    (x,) = op.operands
    n, h, w, c = tile_of(x).shape
    counts = to.result.shape[1:3]
    nearest = all(_meets(move, size, count) for move, size, count in zip(moves, (h, w), counts, strict=True))
    if not nearest:
        x, (h, w) = _padded(x, (n, h, w, c), moves, counts, to)
        moves = tuple(move._replace(before=0) for move in moves)
    taps = windows_of((n, h, w), counts, moves, nearest=nearest)
    bands = bands_of(taps)
    if bands:
        return to.reshape(_top_by_rows(x, taps, bands, to), to.result.shape, to.result.fold)
    rows = to.select(x, taps, (prod(taps.sizes[:2]), n * prod(counts), c))
    top = to.emit(ReduceOp, rows, fn="max", axes=(0,), keepdims=True)
    return to.reshape(top, to.result.shape, to.result.fold)


def _top_by_rows(x: SSAValue, taps: Selection, bands: int, to: Expansion) -> SSAValue:
    """[bands, 1, windows of a band, channels]: the maximum under each row of taps, which passes over the image once, then of these."""
    kh, kw, n, height, width = taps.sizes
    rows, c = height // bands * width, tile_of(x).shape[3]
    tops: list[SSAValue] = []
    for row in range(kh):
        part = to.select(x, row_of_taps(taps, row, bands), (n * bands, kw * rows, c))
        tops.append(to.emit(ReduceOp, to.reshape(part, (n * bands, kw, rows, c)), fn="max", axes=(1,), keepdims=True))
    top = tops[0]
    for other in tops[1:]:
        top = to.map("maximum", top, other, format=to.result.format)
    return top


@EXPANSIONS.rule("avg_pool2d")
def expand_avg_pool2d(op: TileOp, to: Expansion) -> SSAValue:
    """Expand into a sum over taps, times the reciprocal of their number, which is counted like the pixels."""
    attrs, moves, (x,) = op.plain_attrs(), _moves(op), op.operands
    n, h, w, c = tile_of(x).shape
    format_ = tile_of(x).format
    if not FORMATS[format_].is_float:
        raise Declined("it is a mean of integers")
    counts, fold = to.result.shape[1:3], to.result.fold
    total = _summed(x, (n, h, w, c), moves, counts, fold, to)
    padded = (h + sum(attrs["pads"][::2]), w + sum(attrs["pads"][1::2])) if attrs["count_include_pad"] else (h, w)
    bare = tuple(m._replace(before=0) for m in moves) if attrs["count_include_pad"] else moves
    if all(_inside(move, size, count) for move, size, count in zip(bare, padded, counts, strict=True)):
        return to.map("mul", total, 1.0 / prod(attrs["kernel"]), format=to.result.format)
    ones = to.ones((padded[0] * padded[1], 1), format_)
    number = _summed(ones, (1, *padded, 1), bare, counts, fold, to)
    return to.map("mul", total, to.map("reciprocal", to.map("maximum", number, 1.0)), format=to.result.format)


def _moves(op: TileOp) -> tuple[Window, ...]:
    attrs = op.plain_attrs()
    return windows(attrs["kernel"], attrs["strides"], attrs["pads"], attrs["dilations"], attrs["ceil_mode"])


def _summed(x: SSAValue, image: tuple[int, ...], moves: tuple[Window, ...], counts: tuple[int, ...], fold: int, to: Expansion) -> SSAValue:
    """[n, h', w', c]: sums over the taps of windows over images [n, h, w, c]."""
    n, _, _, c = image
    taps = windows_of(image[:3], counts, moves, terms=2)
    return to.emit(SparseMatmulOp, x, shape=(n, *counts, c), fold=fold, format=to.exact(tile_of(x).format), **taps.attrs())


def _inside(move: Window, size: int, count: int) -> bool:
    """Return whether all taps of all windows lie in the image."""
    return move.before == 0 and move.reach(count) <= size


def _meets(move: Window, size: int, count: int) -> bool:
    """Return whether every window that has taps outside the image has the nearest pixel among its taps."""
    if _inside(move, size, count):
        return True
    return move.dilation == 1 and move.before < move.kernel and (count - 1) * move.stride - move.before < size


def _padded(
    x: SSAValue, image: tuple[int, ...], moves: tuple[Window, ...], counts: tuple[int, ...], to: Expansion
) -> tuple[SSAValue, tuple[int, ...]]:
    """Return the image between as many -inf as the windows reach, and its height and width."""
    if not FORMATS[tile_of(x).format].is_float:
        raise Declined("windows of integers lie outside the image")
    n, h, w, c = image
    after = tuple(max(m.reach(k) - m.before - s, 0) for m, k, s in zip(moves, counts, (h, w), strict=True))
    before = tuple(m.before for m in moves)
    padded = to.emit(PadOp, x, before=(0, *before, 0), after=(0, *after, 0), value=-inf)
    return padded, tuple(b + s + a for b, s, a in zip(before, (h, w), after, strict=True))

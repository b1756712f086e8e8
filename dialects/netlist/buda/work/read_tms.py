"""Views of a work as tile manipulations of the format."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Plain, TensorType, Work, fold_to_tiles
from ttc.dialects.core.records import record
from ttc.dialects.core.rule_tables import RuleTable
from ttc.dialects.netlist.buda.form import Pair, Tm
from ttc.dialects.netlist.buda.work.shared import FRAME
from ttc.dialects.netlist.sizes import tile_shape

Views = Sequence[tuple[Work, TensorType]]
VIEWS: RuleTable[Callable[[Work, TensorType], tuple[Tm, ...]]] = RuleTable("tile manipulations of a view", None)
"""By full name of the tile op: what reads it as manipulations, given the type that it takes."""
VIEWS.refuse("it is read by itself: it adds tiles where it is last, and is a manipulation before that", "tile.pad")


@record(slots=True)
class Manipulated:
    """What is done to an input: tiles dropped first, TMs in their order, tiles added last; None where nothing is."""

    tms: tuple[Tm, ...] = ()
    pad: tuple[int, int, float] | None = None
    unpad: Pair | None = None


def manipulations(views: Views, *, bias: bool = False) -> Manipulated:
    """Views from an input to an operand; of a bias, broadcasts within tiles belong to those of tiles, and one to the op.

    Raises:  E0503 for a view that moves less than tiles.
    """
    views = [(work, type_) for work, type_ in views if work.op not in ("tile.adjust", "tile.retile")]
    tms: list[Tm] = []
    pad, unpad = None, None
    for at, (work, type_) in enumerate(views):
        if work.op == "tile.slice" and _drops(work):
            if tms:
                raise Error("E0503", "Buda drops tiles of an input before it manipulates them")
            unpad = _unpad(work, type_)
        elif work.op == "tile.pad" and at == len(views) - 1:
            pad = _pad(work, type_)
        elif work.op == "tile.pad":
            tms.append(Tm("pad", _pad(work, type_)))
        elif work.op == "tile.tile_broadcast" and bias:
            continue
        else:
            read = VIEWS.get(work.op)
            if read is None:
                raise Error("E0503", f"Buda has no tile manipulation for {work.op}")
            tms.extend(read(work, type_))
    return Manipulated(tuple(tms), pad, unpad)


def broadcast_to(source: TensorType, target: TensorType) -> tuple[Tm, ...]:
    """TMs that repeat an operand to a result's shape as numpy broadcasts; the first element of tiles stands for a size of 1."""
    if source.shape == target.shape:
        return ()
    (t, rows, columns), (old_t, old_rows, old_columns) = tile_dims(target), tile_dims(source)
    height, width = _matrix(source)
    whole_height, whole_width = _matrix(target)
    tms: list[Tm] = []
    for dim, old, new in (("z", old_t, t), ("r", old_rows, rows), ("c", old_columns, columns)):
        if new % old:
            raise Error("E0503", f"Buda cannot repeat {list(source.shape)} to {list(target.shape)}")
        if new != old:
            tms.append(Tm("broadcast", (dim, new // old)))
    inner = ("r" if height == 1 < whole_height else "") + ("c" if width == 1 < whole_width else "")
    return (*tms, Tm("tile_broadcast", (inner,))) if inner else tuple(tms)


def tile_dims(type_: TensorType) -> tuple[int, int, int]:
    """(t, rows, columns) in tiles; of row layout, in those that the device makes of it."""
    return fold_to_tiles(type_.shape, FRAME, 1) if type_.layout == "rows" else type_.tile_dims()


# ---- one by one ------------------------------------------------------------------------------------------------------------------


@VIEWS.rule("tile.repeat")
def _repeat(work: Work, source: TensorType) -> tuple[Tm, ...]:
    dim = {-2: "r", -1: "c", -3: "z"}.get(_integer(work.attrs["axis"]))
    if dim is None or len(source.shape) != 3:
        raise Error("E0503", f"Buda cannot repeat {list(source.shape)} along axis {work.attrs['axis']}")
    return (Tm("broadcast", (dim, _integer(work.attrs["n"]))),)


@VIEWS.rule("tile.tile_broadcast")
def _tile_broadcast(work: Work, source: TensorType) -> tuple[Tm, ...]:
    return (Tm("tile_broadcast", (str(work.attrs["dim"]),)),)


@VIEWS.rule("tile.hslice", "tile.hstack")
def _heads(work: Work, source: TensorType) -> tuple[Tm, ...]:
    return (Tm(work.op.removeprefix("tile."), (_integer(work.attrs["n"]),)),)


@VIEWS.rule("tile.transpose")
def _transpose(work: Work, source: TensorType) -> tuple[Tm, ...]:
    perm = work.attrs["perm"]
    if not isinstance(perm, tuple):
        raise Error("E0402", "a transpose needs a permutation")
    rank = len(perm)
    moved = [p for p in perm if source.shape[_integer(p)] > 1]
    if moved == sorted(moved, key=_integer) and _matrix(source)[1] == _matrix(work.results[0])[1]:
        return _reshape(work, source)
    if perm == (*range(rank - 2), rank - 1, rank - 2):
        return (Tm("transpose"),)
    raise Error("E0503", f"Buda cannot permute dimensions by {list(perm)}")


@VIEWS.rule("tile.reshape", "tile.relayout")
def _reshape(work: Work, source: TensorType) -> tuple[Tm, ...]:
    """Return rows cut into matrices, or matrices stacked: whole tiles keep their order."""
    target = work.results[0]
    if work.op == "tile.reshape" and (source.shape, source.layout) == (target.shape, target.layout):
        return (Tm("vslice", (1,)),)
    (t, rows, columns), (new_t, new_rows, new_columns) = tile_dims(source), tile_dims(target)
    (high, wide), (new_high, new_wide) = _matrix(source), _matrix(target)
    whole = high == new_high or (high % FRAME[0] == 0 and new_high % FRAME[0] == 0)
    if columns != new_columns or t * rows != new_t * new_rows or wide != new_wide or not whole:
        raise Error("E0503", f"Buda cannot make {list(target.shape)} of {list(source.shape)} by moving tiles")
    if new_t % t == 0:
        return (Tm("vslice", (new_t // t,)),) if new_t != t else ()
    if t % new_t == 0:
        return (Tm("vstack", (t // new_t,)),)
    return (Tm("vstack", (t,)), Tm("vslice", (new_t,)))


@VIEWS.rule("tile.broadcast")
def _broadcast(work: Work, source: TensorType) -> tuple[Tm, ...]:
    return broadcast_to(source, work.results[0])


@VIEWS.rule("tile.slice")
def _same(work: Work, source: TensorType) -> tuple[Tm, ...]:
    if source.shape != work.results[0].shape:
        raise Error("E0503", f"Buda cannot take {list(work.results[0].shape)} out of {list(source.shape)}")
    return ()


def _drops(work: Work) -> bool:
    """Return whether a slice drops what is at the end of rows or columns."""
    starts, steps = work.attrs["starts"], work.attrs["steps"]
    return isinstance(starts, tuple) and isinstance(steps, tuple) and set(starts) <= {0} and set(steps) <= {1}


def _unpad(work: Work, source: TensorType) -> Pair | None:
    rt, ct = _difference(source.shape, work.results[0].shape, tile_shape(source.layout) or FRAME)
    return None if rt == ct == 0 else (rt, ct)


def _pad(work: Work, source: TensorType) -> tuple[int, int, float]:
    value, before = work.attrs["value"], work.attrs["before"]
    if not isinstance(before, tuple) or any(before) or not isinstance(value, int | float):
        raise Error("E0503", "Buda pads below and to the right only")
    rt, ct = _difference(work.results[0].shape, source.shape, tile_shape(source.layout) or FRAME)
    return rt, ct, float(value)


def _difference(large: tuple[int, ...], small: tuple[int, ...], tile: tuple[int, int]) -> Pair:
    rows, columns = large[-2] - small[-2], large[-1] - small[-1]
    if large[:-2] != small[:-2] or rows % tile[0] or columns % tile[1]:
        raise Error("E0503", f"{list(large)} and {list(small)} do not differ by whole tiles")
    return rows // tile[0], columns // tile[1]


def _matrix(type_: TensorType) -> Pair:
    """Return rows and columns in elements: of a matrix, of one folded from several dimensions, or of a row."""
    found = type_.layout.removeprefix("tiles(").rstrip(")").split(", ")
    fold = int(found[2]) if len(found) == 3 else 1
    lead = (1, 1, *type_.shape)
    rows = 1
    for size in lead[max(len(lead) - 1 - fold, 0) : -1]:
        rows *= size
    return rows, lead[-1]


def _integer(value: Plain) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise Error("E0402", f"{value!r} is not an integer"[:120])
    return value

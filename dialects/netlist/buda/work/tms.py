"""Tile manipulations: as works on [t, rows, columns], and read back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ttc.dialects.core.errors import Error
from ttc.dialects.core.rule_tables import RuleTable
from ttc.dialects.netlist.buda.form import Pair, Tm
from ttc.dialects.netlist.buda.work.shared import DIMS, WorkBuilder

Tile = tuple[int, int]
MANIPULATIONS: RuleTable[Callable[[WorkBuilder, int, Tm, Tile], int]] = RuleTable("work of a tile manipulation", None)
"""What emits a tile manipulation on a value, by the manipulation's kind."""


def apply_tms(builder: WorkBuilder, value: int, tms: Sequence[Tm], tile: Tile, *, full: bool = False) -> int:
    """Return an input after its TMs in their order.

    Args:    tile: height and width of its tiles.  full: broadcasts repeat the first row or column of every tile within it, too.
    Raises:  E0602 where a TM does not divide what it cuts.
    """
    for tm in tms:
        known = MANIPULATIONS.get(tm.kind)
        if known is None:
            raise Error("E0503", f"there is no tile manipulation '{tm.kind}'")
        value = known(builder, value, tm, tile)
        if full and tm.kind == "broadcast" and tm.args[0] != "z":
            value = _tile_broadcast(builder, value, Tm("tile_broadcast", tm.args[:1]), tile)
    return value


def padded(builder: WorkBuilder, value: int, pad: tuple[int, int, float], tile: Tile) -> int:
    """Return tiles of one value below and to the right; the value itself where there are none."""
    rt, ct, fill = pad
    if rt == ct == 0:
        return value
    if min(rt, ct) < 0:
        raise Error("E0602", f"an input cannot be padded by {rt} x {ct} tiles")
    t, rows, columns = builder.shape(value)
    after = (0, rt * tile[0], ct * tile[1])
    return builder.emit(
        "tile.pad", (value,), (t, rows + after[1], columns + after[2]), tile, before=(0, 0, 0), after=after, value=float(fill)
    )


def unpadded(builder: WorkBuilder, value: int, unpad: Pair, tile: Tile) -> int:
    """Return a value without trailing tiles; the value itself where there are none to drop."""
    t, rows, columns = builder.shape(value)
    sizes = (t, rows - unpad[0] * tile[0], columns - unpad[1] * tile[1])
    if unpad == (0, 0):
        return value
    if min(unpad) < 0 or min(sizes) < 1:
        raise Error("E0602", f"{unpad[0]} x {unpad[1]} tiles cannot be dropped of {list(builder.shape(value))} elements")
    return builder.emit("tile.slice", (value,), sizes, tile, starts=(0, 0, 0), sizes=sizes, steps=(1, 1, 1))


# ---- one by one ------------------------------------------------------------------------------------------------------------------


@MANIPULATIONS.rule("broadcast")
def _broadcast(builder: WorkBuilder, value: int, tm: Tm, tile: Tile) -> int:
    dim, n = _dim(tm, tuple(DIMS)), _factor(tm, 1)
    shape = list(builder.shape(value))
    shape[DIMS[dim]] *= n
    return builder.emit("tile.repeat", (value,), tuple(shape), tile, axis=DIMS[dim], n=n)


@MANIPULATIONS.rule("hslice")
def _hslice(builder: WorkBuilder, value: int, tm: Tm, tile: Tile) -> int:
    t, rows, columns = builder.shape(value)
    n = _dividing(tm, columns // tile[1], "columns")
    value = builder.emit("tile.hslice", (value,), (t, n, rows, columns // n), tile, n=n)
    return _reshape(builder, value, (t * n, rows, columns // n), tile)


@MANIPULATIONS.rule("hstack")
def _hstack(builder: WorkBuilder, value: int, tm: Tm, tile: Tile) -> int:
    t, rows, columns = builder.shape(value)
    n = _dividing(tm, t, "matrices")
    value = _reshape(builder, value, (t // n, n, rows, columns), tile)
    return builder.emit("tile.hstack", (value,), (t // n, rows, n * columns), tile, n=n)


@MANIPULATIONS.rule("vslice")
def _vslice(builder: WorkBuilder, value: int, tm: Tm, tile: Tile) -> int:
    t, rows, columns = builder.shape(value)
    n = _dividing(tm, rows // tile[0], "rows")
    return _reshape(builder, value, (t * n, rows // n, columns), tile)


@MANIPULATIONS.rule("vstack")
def _vstack(builder: WorkBuilder, value: int, tm: Tm, tile: Tile) -> int:
    t, rows, columns = builder.shape(value)
    n = _dividing(tm, t, "matrices")
    return _reshape(builder, value, (t // n, rows * n, columns), tile)


@MANIPULATIONS.rule("transpose")
def _transpose(builder: WorkBuilder, value: int, tm: Tm, tile: Tile) -> int:
    t, rows, columns = builder.shape(value)
    return builder.emit("tile.transpose", (value,), (t, columns, rows), (tile[1], tile[0]), perm=(0, 2, 1))


@MANIPULATIONS.rule("tile_broadcast")
def _tile_broadcast(builder: WorkBuilder, value: int, tm: Tm, tile: Tile) -> int:
    return builder.emit("tile.tile_broadcast", (value,), builder.shape(value), tile, dim=_dim(tm, ("r", "c", "rc")), tile=tile)


@MANIPULATIONS.rule("pad")
def _pad(builder: WorkBuilder, value: int, tm: Tm, tile: Tile) -> int:
    rt, ct, fill = (float(a) if isinstance(a, int | float) else -1.0 for a in (*tm.args, 0.0)[:3])
    return padded(builder, value, (int(rt), int(ct), fill), tile)


def _reshape(builder: WorkBuilder, value: int, shape: tuple[int, ...], tile: Tile) -> int:
    return builder.emit("tile.reshape", (value,), shape, tile, shape=shape)


def _dim(tm: Tm, known: tuple[str, ...]) -> str:
    dim = tm.args[0] if tm.args else None
    if not isinstance(dim, str) or dim not in known:
        raise Error("E0602", f"there is no dimension '{dim}' for '{tm.kind}'")
    return dim


def _factor(tm: Tm, at: int) -> int:
    n = tm.args[at] if at < len(tm.args) else None
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise Error("E0602", f"the factor of '{tm.kind}' is a positive integer, not {n}")
    return n


def _dividing(tm: Tm, whole: int, what: str) -> int:
    """Return the factor of a TM that cuts, or joins (0: all), so many parts."""
    if tm.kind.endswith("stack") and tm.args[:1] == (0,):
        return whole
    n = _factor(tm, 0)
    if whole % n:
        raise Error("E0602", f"{tm.kind} by {n} does not divide {whole} {what}")
    return n

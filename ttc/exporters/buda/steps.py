"""Results that a core computes in several steps: to Buda they are cut into more matrices, by tile manipulations of what is read.

A result of [t, rows, columns] tiles that is cut along its rows into s parts becomes [t * s, rows / s, columns], part after part of each
matrix; along its columns likewise.
"""

from __future__ import annotations

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import TensorType
from ttc.dialects.core.records import record
from ttc.dialects.netlist.buda.form import Tm
from ttc.dialects.netlist.model import Blocking

Tms = tuple[Tm, ...]


@record(slots=True)
class Steps:
    """The numbers of parts in which rows and columns of a result are computed."""

    rows: int = 1
    columns: int = 1

    @property
    def many(self) -> bool:
        return self.rows * self.columns > 1

    def restoring(self) -> Tms:
        """Return the tile manipulations that make the whole result of its parts."""
        return (*_tm("hstack", self.columns), *_tm("vstack", self.rows))


def steps_of(type_: TensorType, grid: tuple[int, int], blocking: Blocking) -> Steps:
    """Return the steps that blocks over a grid (rows, columns) imply. Raises E0503 where they leave padding, or spread matrices over the
    grid.
    """
    t, rows, columns = type_.tile_dims()
    down, across = (g * m * u for g, m, u in zip(grid, blocking.mblock, blocking.ublock, strict=True))
    if rows % down or columns % across or blocking.spread != (1, 1) or blocking.t != t * (rows // down) * (columns // across):
        hint = "compile with --kernels buda"
        raise Error("E0503", f"its blocks do not cut {t} x {rows} x {columns} tiles into equal parts, as Buda's have to", hint=hint)
    return Steps(rows // down, columns // across)


def cutting(type_: str, index: int, steps: Steps, t: int, groups: int) -> Tms:
    """Return the tile manipulations that cut an input of an op as its result is cut.

    Args:    type_: of the op; matmuls that sum over z and reductions along z have groups of matrices.  index: of the input.
             t: matrices of the result.  groups: matrices of the input for each of the result.
    Raises:  E0503 for what tile manipulations cannot do.
    """
    if not steps.many:
        return ()
    if type_ in ("matmul", "depthwise") and index < 2:
        return (_left if index == 0 else _right)(type_, steps, t, groups)
    if type_ == "embedding" or (type_ == "reduce" and groups > 1 and t > 1):
        raise Error("E0503", f"Buda cannot compute this '{type_}' in steps", hint="a smaller format or batch would fit L1 at once")
    if groups > 1 and type_ == "reduce":
        return (*_grouped("v", steps.rows, groups), *_grouped("h", steps.columns, groups))
    return (*_tm("vslice", steps.rows), *_tm("hslice", steps.columns))


def _left(type_: str, steps: Steps, t: int, groups: int) -> Tms:
    """Return rows cut; the same for all columns."""
    _require_simple(type_, steps, t, groups)
    cut = _grouped("v", steps.rows, groups) if groups > 1 else _tm("vslice", steps.rows)
    if t == 1:
        return (*cut, *_broadcast("z", steps.columns))
    return (*cut, *_broadcast("c", steps.columns), *_tm("hslice", steps.columns))


def _right(type_: str, steps: Steps, t: int, groups: int) -> Tms:
    """Return columns cut; the same for all rows."""
    _require_simple(type_, steps, t, groups)
    again = _broadcast("z", steps.rows) if t == 1 else (*_broadcast("r", steps.rows), *_tm("vslice", steps.rows))
    cut = _grouped("h", steps.columns, groups) if groups > 1 else _tm("hslice", steps.columns)
    return (*again, *cut)


def _require_simple(type_: str, steps: Steps, t: int, groups: int) -> None:
    if (groups > 1 and t > 1) or (steps.rows > 1 and steps.columns > 1) or (type_ == "depthwise" and steps.columns > 1):
        raise Error("E0503", f"Buda cannot compute this '{type_}' in steps", hint="a smaller format or batch would fit L1 at once")


def _grouped(side: str, n: int, groups: int) -> Tms:
    """Return each of a group of matrices cut into n parts, the parts of a group side by side: first parts first."""
    if n == 1:
        return ()
    join, part = ("hstack", "hslice") if side == "v" else ("vstack", "vslice")
    return (Tm(join, (groups,)), Tm(f"{side}slice", (n,)), Tm(part, (groups,)))


def _tm(kind: str, n: int) -> Tms:
    return (Tm(kind, (n,)),) if n > 1 else ()


def _broadcast(dim: str, n: int) -> Tms:
    return (Tm("broadcast", (dim, n)),) if n > 1 else ()

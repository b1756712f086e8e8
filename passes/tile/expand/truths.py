"""Truth values that stay numbers: Buda compares numbers, and converts none to integers."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from ttc.dialects.core.formats import FORMATS
from ttc.dialects.core.ir.adapter import set_type
from ttc.dialects.tile.base import tile_of, tile_type
from ttc.dialects.tile.eltwise import CastOp, MapOp

COMPARISONS = frozenset(("greater", "less", "greater_equal", "less_equal", "equal", "not_equal"))
LOGIC = frozenset(("not", "and", "or", "xor"))


def keep_numbers(function: FuncOp) -> None:
    """Let comparisons give 0 and 1 in the format of what they compare, where only choices, casts and further logic read them.

    Else these would be integers, which the host would make of numbers, and numbers of them.
    """
    found: dict[SSAValue, str] = {}
    for op in function.body.block.ops:
        format_ = _numbers(op, found)
        if format_ is not None:
            found[op.results[0]] = format_
    kept = _readable(found)
    while len(kept) < len(found):
        found, kept = kept, _readable(kept)
    for x, format_ in found.items():
        set_type(x, tile_type(tile_of(x).with_(format=format_)))


def _readable(found: dict[SSAValue, str]) -> dict[SSAValue, str]:
    """Return the truth values that all readers take as numbers, and that are made of what still is one."""
    return {x: f for x, f in found.items() if _numbers(x.owner, found) and all(_takes(u.operation, u.index, found) for u in x.uses)}


def _numbers(op: object, found: dict[SSAValue, str]) -> str | None:
    """Return the format in which an op can give its truth values as numbers; None if it cannot."""
    if not isinstance(op, MapOp) or FORMATS[tile_of(op.y).format].is_float:
        return None
    fn = op.plain_attrs()["fn"]
    if fn in COMPARISONS:
        formats = {tile_of(x).format for x in op.xs}
        return next(iter(formats)) if all(FORMATS[name].is_float for name in formats) else None
    if fn in LOGIC and all(x in found for x in op.xs):
        return found[op.xs[0]]
    return None


def _takes(op: Operation, index: int, found: dict[SSAValue, str]) -> bool:
    """Return whether an op can read truth values that are numbers."""
    if isinstance(op, CastOp):
        return FORMATS[tile_of(op.y).format].is_float
    return isinstance(op, MapOp) and (op.results[0] in found or (op.plain_attrs()["fn"] == "where" and index == 0 and _is_float(op.y)))


def _is_float(x: SSAValue) -> bool:
    return FORMATS[tile_of(x).format].is_float

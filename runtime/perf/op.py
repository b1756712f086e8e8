"""Cycles of an op of a plain netlist on one of its cores."""

from __future__ import annotations

from functools import lru_cache

from ttc.dialects.core.plain import Function, TensorType, Work
from ttc.dialects.netlist.model import Blocking, Grid, Op
from ttc.runtime.perf.base import OpView, Share
from ttc.runtime.perf.cycles import share_cycles
from ttc.runtime.perf.primitives import tiles_of
from ttc.runtime.perf.work import NOTHING, OpCycles, in_sequence


def op_cycles(op: Op, arch: str) -> OpCycles:
    """Cycles for one microbatch on one core: the sum over the computing works of the op, in its own blocks, formats and fidelity.

    An op that is on no core (on the host, on Ethernet) costs none.
    """
    if not isinstance(op.place, Grid) or op.blocking is None:
        return NOTHING
    return _op_cycles(_Key(op), arch)


class _Key:
    """An op by what its cycles depend on, so that equal ops are costed once."""

    __slots__ = ("hash", "key", "op")

    def __init__(self, op: Op) -> None:
        self.op = op
        grid = (op.place.rows, op.place.cols) if isinstance(op.place, Grid) else None
        self.key = (grid, op.blocking, op.inner, op.fidelity, op.intermediate, op.accumulate, _identity(op.work))
        self.hash = hash(self.key)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.key == other.key


def _identity(work: Function | None) -> object:
    if work is None:
        return None
    works = tuple((w.op, w.operands, tuple(w.attrs.items()), w.results, _identity(w.body)) for w in work.works)
    return work.inputs, works, work.outputs


@lru_cache(maxsize=1 << 14)
def _op_cycles(key: _Key, arch: str) -> OpCycles:
    op = key.op
    if op.blocking is None or not op.work.outputs:
        return NOTHING
    types = op.work.value_types
    result = types[op.work.outputs[0]]
    works = [work for work in op.work.works if work.results and not _is_view(work)]
    parts = [_cycles_of(work, op, types, result, op.blocking, arch) for work in works]
    if not parts:  # an op that hands its input on, as views show it
        parts = [share_cycles(OpView("copy", {}, (result,), result, op.fidelity), _share(result, result, op, op.blocking), arch)]
    return in_sequence(parts)


VIEWS = frozenset(
    f"tile.{name}" for name in "reshape transpose hslice hstack vslice vstack broadcast slice relayout pad tile_broadcast".split()
)
"""Tile ops that only say how an operand is read."""


def _is_view(work: Work) -> bool:
    return work.op in VIEWS or not work.op.startswith("tile.")


def _cycles_of(work: Work, op: Op, types: list[TensorType], result: TensorType, blocking: Blocking, arch: str) -> OpCycles:
    operands = tuple(None if i is None else types[i] for i in work.operands)
    view = OpView(work.op.partition(".")[2], work.attrs, operands, work.results[0], op.fidelity, work.body, op.intermediate)
    return share_cycles(view, _share(work.results[0], result, op, blocking), arch)


def _share(own: TensorType, result: TensorType, op: Op, blocking: Blocking) -> Share:
    """One core's share of a value inside the op: that of the result, scaled to the value's size."""
    (m, n), (rt, ct) = blocking.mblock, blocking.ublock
    whole, ours = tiles_of(result), tiles_of(own)
    grid = (op.place.rows, op.place.cols) if isinstance(op.place, Grid) else (1, 1)
    reread = result.layout != "rows" and n * ct * grid[1] < result.tile_dims()[2]  # rows too wide to hold are taken in parts
    if ours == whole:
        return Share(blocking.t, m * rt, n * ct, (rt, ct), reread, op.inner)
    t, rows, cols = own.tile_dims() if own.layout != "rows" else (1, 1, ours)
    tiles = max(-(-t * rows * cols // (grid[0] * grid[1])), 1)
    columns = max(min(cols, n * ct), 1)
    ublock = (1, next(d for d in range(min(columns, rt * ct), 0, -1) if columns % d == 0))
    return Share(1, max(-(-tiles // columns), 1), columns, ublock, reread, op.inner)

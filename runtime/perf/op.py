"""Cycles of an op of a plain netlist on one of its cores."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.dialects.netlist.model import Blocking, Grid, Op
from ttc.dialects.netlist.op_attributes import adds_up_in_l1, is_approximate
from ttc.dialects.tile.facts import in_transit
from ttc.runtime.perf.base import OpView, Share
from ttc.runtime.perf.core import core_cycles
from ttc.runtime.perf.cycles import beside, gathering
from ttc.runtime.perf.primitives import functions_of, tiles_of, works_of, works_of_copy
from ttc.runtime.perf.work import NOTHING, CoreWork, OpCycles, in_sequence


def op_cycles(op: Op, arch: str) -> OpCycles:
    """Return cycles for one microbatch on one core: the sum over the computing works of the op, in its own blocks, formats and fidelity.

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
        self.key = (grid, op.blocking, op.inner, op.fidelity, op.intermediate, op.accumulate, op.settings, work_key(op.work))
        self.hash = hash(self.key)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.key == other.key


def work_key(work: Function | None) -> object:
    """Return a key that is equal for works that compute the same, wherever they come from."""
    if work is None:
        return None
    works = tuple((w.op, w.operands, tuple(w.attrs.items()), w.results, work_key(w.body)) for w in work.works)
    return work.inputs, works, work.outputs


@lru_cache(maxsize=1 << 14)
def _op_cycles(key: _Key, arch: str) -> OpCycles:
    op = key.op
    if op.blocking is None or not op.work.outputs:
        return NOTHING
    types, formats = op.work.value_types, _formats(op)
    result = types[op.work.outputs[0]]
    choices = adds_up_in_l1(op.settings), is_approximate(op.settings)
    works: list[CoreWork] = []
    gathered = 0
    computing = [work for work in op.work.works if work.results and not _is_view(work)]
    for work in computing:
        operands = tuple(None if i is None else replace(types[i], format=formats[i]) for i in work.operands)
        own = replace(work.results[0], format=result.format if work is computing[-1] else op.intermediate)
        view = OpView(work.op.partition(".")[2], work.attrs, operands, own, op.fidelity, work.body, op.intermediate, *choices)
        share = _share(work.results[0], result, op, op.blocking)
        gathered += gathering(view, share)
        _append(works, view, share)
    if not works:  # an op that hands its input on, as views show it
        view = OpView("copy", {}, (result,), result, op.fidelity)
        works = works_of_copy(view, _share(result, result, op, op.blocking))
    return beside(in_sequence([core_cycles(work, arch) for work in works]), gathered, arch)


def _append(works: list[CoreWork], view: OpView, share: Share) -> None:
    """Add the primitives of a work; a function of what the primitive before gives is applied to it in the destination register."""
    functions = functions_of(view)
    if functions is not None and works and works[-1].tiles == share.tiles:
        works[-1] = works[-1]._replace(then=works[-1].then + functions, output=view.result.format)
        return
    works += works_of(view, share)


def _formats(op: Op) -> list[str]:
    """The format of each value as the core holds it: inputs in their own, also through views; what is between works in the intermediate."""
    found = [type_.format for type_ in op.work.inputs]
    for work in op.work.works:
        source = work.operands[0] if work.operands and _is_view(work) else None
        found += [op.intermediate if source is None else found[source]] * len(work.results)
    return found


def _is_view(work: Work) -> bool:
    """Return whether a work only says how an operand is read, or how a result is stored."""
    return in_transit(work.op) or not work.op.startswith("tile.")


def _share(own: TensorType, result: TensorType, op: Op, blocking: Blocking) -> Share:
    """Return one core's share of a value inside the op: that of the result, scaled to the value's size."""
    (m, n), (rt, ct) = blocking.mblock, blocking.ublock
    whole, ours = tiles_of(result), tiles_of(own)
    grid = (op.place.rows, op.place.cols) if isinstance(op.place, Grid) else (1, 1)
    parts = blocking.spread[0] if result.layout != "rows" and result.tile_dims()[0] <= 1 else 1  # that share columns
    across = grid[1] // blocking.spread[1] * parts
    reread = result.layout != "rows" and n * ct * across < result.tile_dims()[2]  # rows too wide to hold are taken in parts
    if ours == whole:
        return Share(blocking.t, m * rt, n * ct, (rt, ct), reread, op.inner)
    t, rows, cols = own.tile_dims() if own.layout != "rows" else (1, 1, ours)
    tiles = max(-(-t * rows * cols // (grid[0] * grid[1])), 1)
    columns = max(min(cols, n * ct), 1)
    ublock = (1, next(d for d in range(min(columns, rt * ct), 0, -1) if columns % d == 0))
    return Share(1, max(-(-tiles // columns), 1), columns, ublock, reread, op.inner)

"""Making every op one that the target can hold and compute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from xdsl.ir import Operation, SSAValue

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.ir.locations import where
from ttc.dialects.core.machines.targets import Target
from ttc.dialects.core.records import record
from ttc.dialects.core.rule_tables import RuleTable
from ttc.dialects.core.shapes import axes_in, axis_in
from ttc.dialects.tile.attention import AttentionOp
from ttc.dialects.tile.base import Tile, TileOp, TileType, tile_of
from ttc.dialects.tile.eltwise import CastOp, MapOp
from ttc.dialects.tile.facts import fact_of
from ttc.dialects.tile.host import FromHostOp, ToHostOp
from ttc.dialects.tile.index import EmbeddingOp
from ttc.dialects.tile.linear import MatmulOp
from ttc.dialects.tile.reduce import ReduceOp
from ttc.dialects.tile.shape import BroadcastOp, ConcatOp, PadOp, RelayoutOp, ReshapeOp, SliceOp, TransposeOp
from ttc.passes.base import Pass, Rewriter, Unit

MAX_RANK = 4
"""The highest rank of tensors that kernels on tiles take."""

Legal = Callable[[Any, Rewriter], "SSAValue | None"]
Along = Callable[[int, tuple[int, int, int]], dict[str, Any]]

LOWER_RANK: RuleTable[Legal] = RuleTable("way to lower the rank")
"""What replaces an op that can have a higher rank, by mnemonic: the new value, or None if its rank cannot be lowered."""
LOWER_RANK.refuse("its images have four dimensions", "conv2d", "conv_transpose2d", "max_pool2d", "avg_pool2d")
LOWER_RANK.refuse("it has no kernel that minds", "reshape", "relayout", "to_host", "from_host")
LOWER_RANK.refuse("it takes matrices", "sparse_matmul", "depthwise", "encoded_matmul", "tile_depthwise", "lookup", "topk")
LOWER_RANK.refuse(
    "later passes and netlists make it, of matrices",
    *("eltwise", "repeat", "tile_broadcast", "retile", "adjust", "hslice", "hstack", "sfpu", "binary", "relu", "rescale", "splice"),
)


@record
class LegalizeTile(Pass):
    """Bring ops on tiles to at most four dimensions, and refuse what the target cannot hold.

    Before:
        (%x: !tile.tensor<"2x3x4x32x64xFloat32", "tiles(32, 32)">)
        %0 = tile.map(%x) {fn = "relu"}
            : (!tile.tensor<"2x3x4x32x64xFloat32", "tiles(32, 32)">) -> !tile.tensor<"2x3x4x32x64xFloat32", "tiles(32, 32)">
        return %0 : !tile.tensor<"2x3x4x32x64xFloat32", "tiles(32, 32)">
    After:
        (%x: !tile.tensor<"2x3x4x32x64xFloat32", "tiles(32, 32)">)
        %0 = tile.reshape(%x) {shape = [24, 32, 64]}
            : (!tile.tensor<"2x3x4x32x64xFloat32", "tiles(32, 32)">) -> !tile.tensor<"24x32x64xFloat32", "tiles(32, 32)">
        %1 = tile.map(%0) {fn = "relu"}
            : (!tile.tensor<"24x32x64xFloat32", "tiles(32, 32)">) -> !tile.tensor<"24x32x64xFloat32", "tiles(32, 32)">
        %2 = tile.reshape(%1) {shape = [2, 3, 4, 32, 64]}
            : (!tile.tensor<"24x32x64xFloat32", "tiles(32, 32)">) -> !tile.tensor<"2x3x4x32x64xFloat32", "tiles(32, 32)">
        return %2 : !tile.tensor<"2x3x4x32x64xFloat32", "tiles(32, 32)">
    Missed:  nothing: what cannot be made legal is an error (E0503).
    """

    name = "legalize-tile"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        for function in entry_functions(unit.module):
            for op in list(function.body.block.ops):
                _check_formats(op, unit.target)
                if isinstance(op, TileOp) and fact_of(op.name).rows_only and unit.target.tile is not None:
                    raise Error("E0503", f"{unit.target.name} has no kernel for {op.name}", where=where(op))
                if unit.target.tile is not None and _rank(op) > MAX_RANK:
                    _lower_rank(op, unit.target, rewriter)


def _check_formats(op: Operation, target: Target) -> None:
    for value in (*op.operands, *op.results):
        if isinstance(value.type, TileType) and value.type.data.format not in target.formats:
            needed = value.type.data.format
            raise Error("E0503", f"{op.name} needs {needed}; {target.name} holds {', '.join(target.formats)}", where=where(op))


def _rank(op: Operation) -> int:
    """Return the highest rank that the op's kernel meets; reshapes, relayouts and borders to the host have no kernel that minds."""
    if not isinstance(op, TileOp) or isinstance(op, ReshapeOp | RelayoutOp | ToHostOp | FromHostOp):
        return 0
    return max((len(v.type.data.shape) for v in (*op.operands, *op.results) if isinstance(v.type, TileType)), default=0)


def _lower_rank(op: Operation, target: Target, rewriter: Rewriter) -> None:
    rule = _along_last if fact_of(op.name).steps else LOWER_RANK.of(op.name.removeprefix("tile."))
    value = None if rule is None else rule(op, rewriter)
    if value is None:
        raise Error("E0503", f"{op.name} needs rank {_rank(op)}; {target.name} computes up to rank {MAX_RANK}", where=where(op))
    rewriter.replace(op, value)


# ---- rules -----------------------------------------------------------------------------------------------------------------------


Groups = Sequence[Sequence[int]]
"""Neighbouring dimensions that become one."""


def _groups(rank: int, joinable: Callable[[int], bool]) -> Groups | None:
    """At most four groups; dimension i may join the one before it if joinable(i).  The last two stay alone where possible."""
    for alone in (2, 1, 0):
        groups: list[list[int]] = []
        for index in range(rank):
            if index and joinable(index) and index < rank - alone:
                groups[-1].append(index)
            else:
                groups.append([index])
        if len(groups) <= MAX_RANK:
            return groups
    return None


def _reshaped(x: SSAValue, shape: Sequence[int], op: Operation, rewriter: Rewriter) -> SSAValue:
    """x in another shape, one matrix for every leading dimension; x itself if that is its shape."""
    if tile_of(x).shape == tuple(shape):
        return x
    return rewriter.insert(op, ReshapeOp.build(x, location=op.location, shape=tuple(shape), fold=1)).y


def _grouped(shape: Sequence[int], groups: Groups) -> tuple[int, ...]:
    """Return the shape after grouping; dimensions that a broadcast operand lacks in front count as 1."""
    full = (*([1] * (sum(map(len, groups)) - len(shape))), *shape)
    return tuple(prod(full[i] for i in group) for group in groups)


def _rebuilt(op: TileOp, groups: Groups | None, rewriter: Rewriter, **attrs: Any) -> SSAValue | None:
    """Return the op on operands of grouped shapes, its result in the old shape."""
    if groups is None or not rewriter.allow("lower-rank", op):
        return None
    operands = [None if x is None else _operand(x, groups, op, rewriter) for x in op.named_operands()]
    made = rewriter.insert(op, type(op).build(*operands, location=op.location, format=_tile(op).format, **attrs))
    tile = _tile(op)
    return rewriter.insert(op, ReshapeOp.build(made.results[0], location=op.location, shape=tile.shape, fold=tile.fold)).y


def _operand(x: SSAValue, groups: Groups, op: TileOp, rewriter: Rewriter) -> SSAValue:
    """x grouped, unless all its dimensions are among the last ones that stay alone."""
    tile = tile_of(x)
    alone = next((n for n, group in enumerate(reversed(groups)) if len(group) > 1), len(groups))
    return x if len(tile.shape) <= alone else _reshaped(x, _grouped(tile.shape, groups), op, rewriter)


def _tile(op: TileOp) -> Tile:
    return tile_of(op.results[0])


@LOWER_RANK.rule("map", "cast", "broadcast")
def _elementwise(op: MapOp | CastOp | BroadcastOp, rewriter: Rewriter) -> SSAValue | None:
    """Neighbours merge if each operand has both, or repeats both."""
    shape = _tile(op).shape
    spread = [_repeats(tile_of(x).shape, shape) for x in op.operands]
    groups = _groups(len(shape), lambda i: all(r[i] == r[i - 1] for r in spread))
    attrs = op.plain_attrs()
    if isinstance(op, BroadcastOp) and groups is not None:
        attrs["shape"] = _grouped(shape, groups)
    return _rebuilt(op, groups, rewriter, **attrs)


def _repeats(shape: Sequence[int], result: Sequence[int]) -> list[bool]:
    """Which dimensions of a result an operand repeats; one of size 1 goes with the one before it, or with the first that is larger."""
    full = (*([1] * (len(result) - len(shape))), *shape)
    found: list[bool] = []
    last = next((a != b for a, b in zip(full, result, strict=True) if b != 1), False)
    for a, b in zip(full, result, strict=True):
        last = last if b == 1 else a != b
        found.append(last)
    return found


@LOWER_RANK.rule("matmul", "attention")
def _batched(op: MatmulOp | AttentionOp, rewriter: Rewriter) -> SSAValue | None:
    """Neighbours in front of the matrices merge if each operand has both, or repeats both."""
    shape = _tile(op).shape
    lead = shape[:-2]
    spread = [_repeats(tile_of(x).shape[:-2], lead) for x in op.operands if len(tile_of(x).shape) > 2]
    groups = _groups(len(shape), lambda i: i < len(lead) and all(r[i] == r[i - 1] for r in spread))
    return _rebuilt(op, groups, rewriter, **op.plain_attrs())


@LOWER_RANK.rule("embedding")
def _embedding(op: EmbeddingOp, rewriter: Rewriter) -> SSAValue | None:
    """The indices become one row of them."""
    if not rewriter.allow("lower-rank", op):
        return None
    tile = _tile(op)
    indices = _reshaped(op.indices, (tile_of(op.indices).elements,), op, rewriter)
    rows = rewriter.insert(op, EmbeddingOp.build(op.table, indices, location=op.location, format=tile.format)).y
    return rewriter.insert(op, ReshapeOp.build(rows, location=op.location, shape=tile.shape, fold=tile.fold)).y


def _along_last(op: Operation, rewriter: Rewriter) -> SSAValue | None:
    """Return all but the last dimension merge."""
    if not isinstance(op, TileOp):
        return None
    rank = len(_tile(op).shape)
    if op.plain_attrs()["axis"] not in (-1, rank - 1):
        return None
    attrs = {**op.plain_attrs(), "axis": -1}
    return _rebuilt(op, _groups(rank, lambda i: i < rank - 1), rewriter, **attrs)


def _along_each(op: ReduceOp | SliceOp | PadOp, axes: Sequence[int], make: Along, rewriter: Rewriter) -> SSAValue | None:
    """Return the op along one axis after the other, all dimensions before it as one, and all after it.

    make: the attributes of the op [before, axis, after] along one axis.
    """
    if not rewriter.allow("lower-rank", op):
        return None
    tile, value = _tile(op), op.x
    shape = list(tile_of(value).shape)
    for axis in axes:
        parts = (prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :]))
        part = _reshaped(value, parts, op, rewriter)
        value = rewriter.insert(op, type(op).build(part, location=op.location, format=tile.format, **make(axis, parts))).results[0]
        shape[axis] = tile_of(value).shape[1]
    return rewriter.insert(op, ReshapeOp.build(value, location=op.location, shape=tile.shape, fold=tile.fold)).y


@LOWER_RANK.rule("reduce")
def _reduce(op: ReduceOp, rewriter: Rewriter) -> SSAValue | None:
    """Neighbours merge if both are reduced, or neither."""
    rank = len(tile_of(op.x).shape)
    attrs = op.plain_attrs()
    reduced = set(axes_in(attrs["axes"], rank))
    groups = _groups(rank, lambda i: (i in reduced) == (i - 1 in reduced))
    if groups is None:
        return _along_each(op, sorted(reduced), lambda axis, parts: {"fn": attrs["fn"], "axes": (1,), "keepdims": True}, rewriter)
    axes = tuple(n for n, group in enumerate(groups) if group[0] in reduced)
    return _rebuilt(op, groups, rewriter, fn=attrs["fn"], axes=axes, keepdims=True)


@LOWER_RANK.rule("slice")
def _slice(op: SliceOp, rewriter: Rewriter) -> SSAValue | None:
    """Neighbours merge if both are taken whole."""
    shape, attrs = tile_of(op.x).shape, op.plain_attrs()
    whole = [s == d and step == 1 for s, d, step in zip(attrs["sizes"], shape, attrs["steps"], strict=True)]
    groups = _groups(len(shape), lambda i: whole[i] and whole[i - 1])
    if groups is None:
        return _along_each(op, [i for i, kept in enumerate(whole) if not kept], lambda i, parts: _slice_along(attrs, i, parts), rewriter)
    sizes = _grouped(attrs["sizes"], groups)
    return _rebuilt(op, groups, rewriter, starts=_first(attrs["starts"], groups), sizes=sizes, steps=_first(attrs["steps"], groups))


def _slice_along(attrs: dict[str, Any], axis: int, parts: tuple[int, int, int]) -> dict[str, Any]:
    starts, sizes, steps = (attrs[k][axis] for k in ("starts", "sizes", "steps"))
    return {"starts": (0, starts, 0), "sizes": (parts[0], sizes, parts[2]), "steps": (1, steps, 1)}


@LOWER_RANK.rule("pad")
def _pad(op: PadOp, rewriter: Rewriter) -> SSAValue | None:
    """Neighbours merge if neither is padded."""
    attrs = op.plain_attrs()
    bare = [b == a == 0 for b, a in zip(attrs["before"], attrs["after"], strict=True)]
    groups = _groups(len(bare), lambda i: bare[i] and bare[i - 1])
    if groups is None:
        return _along_each(op, [i for i, none in enumerate(bare) if not none], lambda i, parts: _pad_along(attrs, i), rewriter)
    before, after = (_first(attrs[k], groups) for k in ("before", "after"))
    return _rebuilt(op, groups, rewriter, before=before, after=after, value=attrs["value"])


def _pad_along(attrs: dict[str, Any], axis: int) -> dict[str, Any]:
    return {"before": (0, attrs["before"][axis], 0), "after": (0, attrs["after"][axis], 0), "value": attrs["value"]}


def _first(values: Sequence[int], groups: Groups) -> tuple[int, ...]:
    """Return the value of each group's first dimension: those of its others are the same."""
    return tuple(values[group[0]] for group in groups)


@LOWER_RANK.rule("concat")
def _concat(op: ConcatOp, rewriter: Rewriter) -> SSAValue | None:
    """Return all but the axis merge."""
    rank = len(_tile(op).shape)
    axis = axis_in(op.plain_attrs()["axis"], rank)
    groups = _groups(rank, lambda i: axis not in (i, i - 1))
    at = next((n for n, group in enumerate(groups or ()) if axis in group), 0)
    return _rebuilt(op, groups, rewriter, axis=at)


@LOWER_RANK.rule("transpose")
def _transpose(op: TransposeOp, rewriter: Rewriter) -> SSAValue | None:
    """Neighbours that stay together merge; what still has too many dimensions is a sequence of swaps of two blocks."""
    if not rewriter.allow("lower-rank", op):
        return None
    perm: tuple[int, ...] = op.plain_attrs()["perm"]
    sizes = tile_of(op.x).shape
    order, wanted, value = list(range(len(perm))), list(perm), op.x
    for position in range(len(perm)):
        found = order.index(wanted[position])
        count = next((n for n in range(1, len(perm)) if order[found : found + n + 1] != wanted[position : position + n + 1]), 1)
        if found == position:
            continue
        parts = [order[:position], order[position:found], order[found : found + count], order[found + count :]]
        shape = tuple(prod(sizes[i] for i in part) for part in parts)
        value = _swap(_reshaped(value, shape, op, rewriter), op, rewriter)
        order = parts[0] + parts[2] + parts[1] + parts[3]
    return rewriter.insert(op, ReshapeOp.build(value, location=op.location, shape=_tile(op).shape, fold=_tile(op).fold)).y


def _swap(x: SSAValue, op: Operation, rewriter: Rewriter) -> SSAValue:
    return rewriter.insert(op, TransposeOp.build(x, location=op.location, perm=(0, 2, 1, 3))).y

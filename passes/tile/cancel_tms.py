"""Removing tile manipulations that undo or repeat each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import Operation, SSAValue

from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.records import record
from ttc.dialects.core.rule_tables import RuleTable
from ttc.dialects.tile.base import Tile, TileOp, tile_of
from ttc.dialects.tile.eltwise import MapOp
from ttc.dialects.tile.shape import HsliceOp, HstackOp, RelayoutOp, ReshapeOp, TransposeOp, ViewOp
from ttc.passes.base import Pass, Rewriter, Unit

Rule = Callable[[Any, Rewriter], SSAValue | None]
REWRITES: RuleTable[tuple[Rule, ...]] = RuleTable("rewrites of a view")
"""What may replace a view, tried in this order, by mnemonic of the view."""
REWRITES.refuse("it has another number of elements than its operand: no view undoes it", "broadcast", "slice", "pad")


@record
class CancelTms(Pass):
    """Cancel inverse transposes, reshapes and relayouts, also across elementwise maps, and join what one tile manipulation can do.

    Before:
        (%x: !tile.tensor<"1x64x128xFloat32", "tiles(32, 32)">)
        %0 = tile.reshape(%x) {shape = [1, 64, 4, 32]}
            : (!tile.tensor<"1x64x128xFloat32", "tiles(32, 32)">) -> !tile.tensor<"1x64x4x32xFloat32", "tiles(32, 32)">
        %1 = tile.transpose(%0) {perm = [0, 2, 1, 3]}
            : (!tile.tensor<"1x64x4x32xFloat32", "tiles(32, 32)">) -> !tile.tensor<"1x4x64x32xFloat32", "tiles(32, 32)">
        return %1 : !tile.tensor<"1x4x64x32xFloat32", "tiles(32, 32)">
    After:
        (%x: !tile.tensor<"1x64x128xFloat32", "tiles(32, 32)">)
        %0 = tile.hslice(%x) {n = 4}
            : (!tile.tensor<"1x64x128xFloat32", "tiles(32, 32)">) -> !tile.tensor<"1x4x64x32xFloat32", "tiles(32, 32)">
        return %0 : !tile.tensor<"1x4x64x32xFloat32", "tiles(32, 32)">
    Missed:  nothing is remarked: what stays is a view, or an op of its own.
    """

    name = "cancel-tms"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        for function in entry_functions(unit.module):
            for op in list(function.body.block.ops):
                _simplify(op, rewriter)


def _simplify(op: Operation, rewriter: Rewriter) -> None:
    """Apply rules to a view, and to the view that replaces it, until none fits."""
    while isinstance(op, ViewOp):
        value = _rewritten(op, rewriter)
        if value is None:
            return
        feeding = op.x.owner
        rewriter.replace(op, value)
        if isinstance(feeding, Operation):
            rewriter.erase_dead(feeding)
        if not isinstance(value.owner, Operation):
            return
        op = value.owner


def _rewritten(op: ViewOp, rewriter: Rewriter) -> SSAValue | None:
    for rule in REWRITES.of(op.name.removeprefix("tile.")) or ():
        value = rule(op, rewriter)
        if value is not None:
            return value
    return None


def _new(
    op: ViewOp,
    kind: type[TileOp],
    *operands: SSAValue,
    name: str,
    sources: Sequence[Operation] = (),
    rewriter: Rewriter,
    **attrs: Any,
) -> SSAValue | None:
    """Return an op of the type of `op`, before it, located at it and the sources; None if an instrument refuses the rewrite."""
    if not rewriter.allow(name, op):
        return None
    tile = tile_of(op.y)
    made = kind.build(*operands, location=rewriter.location((*sources, op)), format=tile.format, fold=tile.fold, **attrs)
    return rewriter.insert(op, made).results[0]


def _insert(
    op: ViewOp, kind: type[ViewOp], x: SSAValue, tile: Tile, sources: Sequence[Operation], rewriter: Rewriter, **attrs: Any
) -> SSAValue:
    """Return a view of x in the fold of a type, before `op`."""
    return rewriter.insert(op, kind.build(x, location=rewriter.location(sources), fold=tile.fold, **attrs)).y


# ---- rules: the value that replaces a view, or None if the rule does not fit -------------------------------------------------------


def _identity(op: ViewOp, rewriter: Rewriter) -> SSAValue | None:
    """Return a view that changes nothing."""
    unmoved = not isinstance(op, TransposeOp) or _perm(op) == tuple(range(len(tile_of(op.x).shape)))
    return op.x if op.x.type == op.y.type and unmoved and rewriter.allow("drop-identity", op) else None


def _join_same_kind(op: ViewOp, rewriter: Rewriter) -> SSAValue | None:
    """Return a reshape of a reshape, a relayout of a relayout."""
    inner = op.x.owner
    if type(inner) is not type(op) or not isinstance(inner, ViewOp):
        return None
    return _new(op, type(op), inner.x, name="join-views", sources=(inner,), rewriter=rewriter, **op.plain_attrs())


def _join_transposes(op: TransposeOp, rewriter: Rewriter) -> SSAValue | None:
    """Return a transpose of a transpose; nothing, if they are inverse."""
    inner = op.x.owner
    if not isinstance(inner, TransposeOp):
        return None
    perm = tuple(_perm(inner)[p] for p in _perm(op))
    if perm == tuple(range(len(perm))):
        return _retyped(op, inner.x, "cancel-transposes", inner, rewriter)
    return _new(op, TransposeOp, inner.x, name="join-views", sources=(inner,), rewriter=rewriter, perm=perm)


def _plain_reshape(op: ReshapeOp, rewriter: Rewriter) -> SSAValue | None:
    """Return a reshape to the same shape only changes the fold."""
    if tile_of(op.x).shape != tile_of(op.y).shape or op.x.type == op.y.type:
        return None
    return _new(op, RelayoutOp, op.x, name="reshape-to-relayout", rewriter=rewriter)


def _split_heads(op: TransposeOp, rewriter: Rewriter) -> SSAValue | None:
    """[..., s, n * d] reshaped to [..., s, n, d], transposed to [..., n, s, d] is hslice, perhaps after a reshape in front."""
    inner = op.x.owner
    if not isinstance(inner, ReshapeOp) or not _swaps_before_last(op):
        return None
    *lead, rows, n, width = tile_of(op.x).shape
    source = tile_of(inner.x)
    if source.shape[-1:] != (n * width,) or not rewriter.allow("form-hslice", op):
        return None
    shape = (*lead, rows, n * width)
    flat = inner.x
    if source.shape != shape:
        flat = _insert(op, ReshapeOp, flat, _with_rows(source.with_(shape=shape), source.matrix()), (inner,), rewriter, shape=shape)
    return _insert(op, HsliceOp, flat, tile_of(op.y), (inner, op), rewriter, n=n)


def _join_heads(op: ReshapeOp, rewriter: Rewriter) -> SSAValue | None:
    """[..., n, s, d] transposed to [..., s, n, d], reshaped to [..., s, n * d] is hstack, perhaps before a reshape in front."""
    inner = op.x.owner
    if not isinstance(inner, TransposeOp) or not _swaps_before_last(inner):
        return None
    *lead, rows, n, width = tile_of(op.x).shape
    wanted = tile_of(op.y)
    if wanted.shape[-1:] != (n * width,) or not rewriter.allow("form-hstack", op):
        return None
    stacked = _with_rows(wanted.with_(shape=(*lead, rows, n * width)), wanted.matrix())
    if stacked.shape == wanted.shape:
        return _insert(op, HstackOp, inner.x, wanted, (inner, op), rewriter, n=n)
    value = _insert(op, HstackOp, inner.x, stacked, (inner, op), rewriter, n=n)
    return _insert(op, ReshapeOp, value, wanted, (op,), rewriter, shape=wanted.shape)


def _cancel_heads(op: HsliceOp | HstackOp, rewriter: Rewriter) -> SSAValue | None:
    """hslice of hstack, or hstack of hslice, of the same parts."""
    inner = op.x.owner
    opposite = HstackOp if isinstance(op, HsliceOp) else HsliceOp
    if not isinstance(inner, opposite) or tile_of(inner.x).shape != tile_of(op.y).shape:
        return None
    return _retyped(op, inner.x, "cancel-heads", inner, rewriter)


def _relayout_into_view(op: RelayoutOp, rewriter: Rewriter) -> SSAValue | None:
    """A view that nothing else reads takes the fold that its reader wants."""
    inner = op.x.owner
    if not isinstance(inner, ViewOp) or not op.x.has_one_use():
        return None
    return _new(op, type(inner), inner.x, name="relayout-into-view", sources=(inner,), rewriter=rewriter, **inner.plain_attrs())


def _cancel_across_map(op: ReshapeOp | TransposeOp, rewriter: Rewriter) -> SSAValue | None:
    """Return a view of a map whose operands are the inverse view, or one element: the map works on what the inverse views read."""
    inner = op.x.owner
    if not isinstance(inner, MapOp) or not op.x.has_one_use():
        return None
    shape = tile_of(op.y).shape
    found = [_before_inverse(x, op) for x in inner.xs]
    operands = [x for x in found if x is not None and len(tile_of(x).shape) <= len(shape)]
    moved = [x for x in operands if tile_of(x).shape == shape]
    if len(operands) < len(found) or not moved or any(tile_of(x).fold != tile_of(op.y).fold for x in moved):
        return None
    views = [x.owner for x in inner.xs if isinstance(x.owner, ViewOp)]
    return _new(op, MapOp, *operands, name="cancel-across-map", sources=(*views, inner), rewriter=rewriter, **inner.plain_attrs())


def _before_inverse(x: SSAValue, view: ReshapeOp | TransposeOp) -> SSAValue | None:
    """Return what x was before a view that `view` undoes; x itself if it is one element; None otherwise."""
    if tile_of(x).elements == 1:
        return x
    owner = x.owner
    if isinstance(owner, TransposeOp) and isinstance(view, TransposeOp):
        perm = [_perm(owner)[p] for p in _perm(view)]
        return owner.x if perm == sorted(perm) else None
    if isinstance(owner, ReshapeOp) and isinstance(view, ReshapeOp):
        return owner.x if tile_of(x).shape == tile_of(view.x).shape and tile_of(owner.x).shape == tile_of(view.y).shape else None
    return None


REWRITES.add_all(
    {
        "reshape": (_identity, _plain_reshape, _join_same_kind, _join_heads, _cancel_across_map),
        "transpose": (_identity, _join_transposes, _split_heads, _cancel_across_map),
        "relayout": (_identity, _join_same_kind, _relayout_into_view),
        "hslice": (_cancel_heads,),
        "hstack": (_cancel_heads,),
    }
)


def _retyped(op: ViewOp, value: SSAValue, name: str, inner: Operation, rewriter: Rewriter) -> SSAValue | None:
    """Return the value in the type of `op`, of whose shape it is."""
    if value.type == op.y.type:
        return value if rewriter.allow(name, op) else None
    return _new(op, RelayoutOp, value, name=name, sources=(inner,), rewriter=rewriter)


def _perm(op: TransposeOp) -> tuple[int, ...]:
    return op.plain_attrs()["perm"]


def _swaps_before_last(op: TransposeOp) -> bool:
    rank = len(_perm(op))
    return rank >= 3 and _perm(op) == (*range(rank - 3), rank - 2, rank - 3, rank - 1)


def _with_rows(tile: Tile, matrix: tuple[int, int, int]) -> Tile:
    """Return the type in the fold that gives matrices of those sizes, if there is one, else with fold 1."""
    folds = (tile.with_(fold=fold).shaped(tile.shape) for fold in range(1, len(tile.shape)))
    return next((found for found in folds if found.matrix() == matrix), tile.with_(fold=1))

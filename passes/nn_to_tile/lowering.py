"""What a lowering rule works with: tile values of nn values, in the format and fold that it asks for.

A rule is registered in `TO_TILE`, in the module of this package that has the stem of the op's file in dialect nn.  It takes the op and a
`FunctionLowering` and returns the tile values of the op's results, or raises Declined, and the op runs on the host (what was emitted is
dropped as unused).  A rule in `WISHES` beside it may say in which folds the op wants its operands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from ttc.dialects.core.formats import FORMATS, format_of
from ttc.dialects.core.ir.adapter import set_type
from ttc.dialects.core.ir.attributes import LiteralAttr
from ttc.dialects.core.ir.leaves import LeafOp
from ttc.dialects.core.ir.spec import Spec, spec_of, tensor_type
from ttc.dialects.core.plain.functions import fold_to_tiles
from ttc.dialects.nn.base import NNOp
from ttc.dialects.tile.base import Tile, TileOp, TileType, tile_of, tile_type
from ttc.dialects.tile.host import FromHostOp, ToHostOp
from ttc.dialects.tile.shape import RelayoutOp
from ttc.passes.base import Unit
from ttc.passes.declined import Declined
from ttc.passes.nn_to_tile import WISHES
from ttc.passes.nn_to_tile.ranges import Bounds, Ranges, limits

Rule: TypeAlias = "Callable[[Any, FunctionLowering], SSAValue | Sequence[SSAValue]]"
Wishes: TypeAlias = "Callable[[Any], dict[SSAValue, int]]"

STAND_INS = {"Int64": "Int32", "Int16": "Int32", "Bool": "UInt8", "Half": "Float32"}
"""The format that holds the values of one that a target lacks: of integers those in its range (`refusal`), of all others every value."""

MAX_RANK = 4
"""The highest rank of tensors in tiles."""


@cache
def tiles_of(shape: tuple[int, ...], fold: int) -> int:
    """Number of 32 x 32 tiles that a tensor takes."""
    t, rows, columns = fold_to_tiles(shape, (32, 32), fold)
    return t * rows * columns


@cache
def natural_fold(shape: tuple[int, ...]) -> int:
    """Return the fold in which all leading dimensions are rows if that takes fewer tiles, else the one without folding."""
    folds = (1, max(len(shape) - 1, 1))
    return min(folds, key=lambda fold: tiles_of(shape, fold))


class FunctionLowering:
    """The function under construction: its new block, and where each nn value lives there.

    A value lives as a tile (in one or more folds), on the host, or both; leaves and arguments take the fold of their first reader.
    """

    def __init__(self, unit: Unit, ops: Sequence[Operation]) -> None:
        self.unit = unit
        self.block = Block()
        self.location: Attribute | None = None
        self._tiles: dict[SSAValue, dict[int, SSAValue]] = {}
        self._hosts: dict[SSAValue, SSAValue] = {}
        self._leaves: dict[SSAValue, LeafOp] = {}
        self._arguments: dict[SSAValue, BlockArgument] = {}
        self._refusals: dict[int, tuple[Attribute, Spec, str | None]] = {}
        self._types: dict[tuple[int, int], tuple[Attribute, TileType]] = {}
        self._formats: dict[np.dtype, str | None] = {}
        self._wishes = _wishes(ops)
        self.ranges = Ranges(ops, unit.weights, self._room)

    # ---- types -------------------------------------------------------------------------------------------------------------------

    def format(self, dtype: np.dtype) -> str | None:
        """Return the target's format for values of a dtype; None if they stay on the host."""
        if dtype not in self._formats:
            name, formats = format_of(dtype).name, self.unit.target.formats
            held = next((found for found in (name, STAND_INS.get(name)) if found in formats), None)
            self._formats[dtype] = held
        return self._formats[dtype]

    def fold_in(self, shape: tuple[int, ...], fold: int) -> int:
        """Return the fold nearest to one asked for that a shape can have; 1 in row layout."""
        return 1 if self.unit.target.tile is None else max(1, min(fold, len(shape) - 1))

    def tile_for(self, spec: Spec, fold: int) -> Tile | None:
        """Return the type of a value as a tile; None if the target does not hold it."""
        name = self.format(spec.dtype)
        if name is None or not spec.is_static:
            return None
        return Tile(spec.shape, name, self.unit.target.tile, self.fold_in(spec.shape, fold))

    def refusal(self, value: SSAValue) -> str | None:
        """Return why the target cannot hold a value; None if it can."""
        known = self._refusals.get(id(value.type))  # by identity: types are shared, and hashing one takes longer than all else here
        if known is None:
            spec = spec_of(value.type)
            known = self._refusals[id(value.type)] = value.type, spec, self._refusal_of_type(spec)
        _, spec, refusal = known
        if refusal is None and spec.dtype.kind in "iu" and self.ranges.exceeds(value):
            return f"{'a constant exceeds' if value in self._leaves else 'numbers may exceed'} {self.format(spec.dtype)}"
        return refusal

    def _refusal_of_type(self, spec: Spec) -> str | None:
        tile = self.tile_for(spec, 1)
        if tile is None:
            return f"{self.unit.target.name} does not hold {spec}"
        if tile.tile is not None and not tile.elements:
            return f"{spec} has no elements: it takes no tiles"
        return None

    def _room(self, dtype: np.dtype) -> Bounds | None:
        """Return what the stand-in for a dtype of integers holds; None if there is none, or the format is the dtype's own."""
        name = self.format(dtype)
        return None if name is None or FORMATS[name].storage == dtype else limits(FORMATS[name].storage)

    @property
    def has_tiles(self) -> bool:
        """Whether the target computes on tiles instead of rows."""
        return self.unit.target.tile is not None

    def require_rows(self) -> None:
        """Raises Declined if the target computes on tiles."""
        if self.has_tiles:
            raise Declined(f"{self.unit.target.name} has no kernel for it")

    # ---- values ------------------------------------------------------------------------------------------------------------------

    def add_arguments(self, values: Sequence[BlockArgument]) -> None:
        """Let arguments of a new block give the values: tiles, or tensors on the host where the target does not hold them."""
        self.block = Block(arg_types=[value.type for value in values])
        for value, new in zip(values, self.block.args, strict=True):
            new.name_hint = value.name_hint
            if self.refusal(value) is None:
                self._arguments[value] = new
            else:
                self._hosts[value] = new

    def add_leaf(self, value: SSAValue, leaf: LeafOp) -> None:
        """Note that a leaf gives the value."""
        self._leaves[value] = leaf

    def add_tile(self, value: SSAValue, tile: SSAValue) -> None:
        """Note that a tile holds the value."""
        if tile.name_hint is None and value.name_hint is not None:
            tile.name_hint = value.name_hint
        self._tiles.setdefault(value, {})[tile_of(tile).fold] = tile

    def add_host(self, value: SSAValue, tensor: SSAValue) -> None:
        """Note that a tensor on the host holds the value."""
        tensor.name_hint = tensor.name_hint or value.name_hint
        self._hosts[value] = tensor

    def leaf(self, value: SSAValue) -> LeafOp | None:
        """Return the leaf that gives a value, if one does."""
        return self._leaves.get(value)

    def literal(self, value: SSAValue) -> np.ndarray | None:
        """Return the value, if it is a literal."""
        leaf = self._leaves.get(value)
        return leaf.value.array if leaf is not None and isinstance(leaf.value, LiteralAttr) else None

    def is_placed(self, value: SSAValue) -> bool:
        """Return whether a tile holds the value, in a fold that is settled."""
        return value in self._tiles

    def is_tile(self, value: SSAValue) -> bool:
        """Return whether a tile holds the value, or a leaf or argument can."""
        return value in self._tiles or value in self._leaves or value in self._arguments

    def fold(self, value: SSAValue) -> int:
        """Return the fold in which a value lives, or would: the one its first reader wants."""
        held = self._tiles.get(value)
        if held:
            return next(iter(held))
        shape = spec_of(value.type).shape
        return self.fold_in(shape, self._wishes.get(value) or natural_fold(shape))

    def expect(self, argument: BlockArgument, fold: int) -> None:
        """Note the fold in which an argument comes in, whatever its readers want."""
        self._wishes[argument] = fold

    def wish(self, value: SSAValue) -> int | None:
        """Return the fold in which the first reader of a value wants it."""
        return self._wishes.get(value)

    def tile(self, value: SSAValue, fold: int | None = None) -> SSAValue:
        """Return the value as a tile; in a given fold, or as it lives."""
        held = self._tiles.get(value)
        if held and fold is None:
            return next(iter(held.values()))
        wanted = self.fold(value) if fold is None else self.fold_in(spec_of(value.type).shape, fold)
        if held and wanted in held:
            return held[wanted]
        if held:
            made = self.add(RelayoutOp.build(next(iter(held.values())), location=self._at(), fold=wanted)).y
        elif value in self._leaves:
            made = self._grow(self._leaves[value], wanted)
        elif value in self._arguments:
            made = self._arguments[value]
            set_type(made, self._type(value, wanted))
        else:
            made = self.add(FromHostOp.make((self._hosts[value],), {}, (self._type(value, wanted),), self._at())).y
        self.add_tile(value, made)
        return made

    def host(self, value: SSAValue) -> SSAValue:
        """Return the value as a tensor on the host."""
        if value not in self._hosts:
            leaf = self._leaves.get(value)
            made = (
                self.add(leaf.clone()).result
                if leaf is not None
                else self.add(ToHostOp.make((self.tile(value),), {}, (tensor_type(spec_of(value.type)),), self._at())).y
            )
            self.add_host(value, made)
        return self._hosts[value]

    def _type(self, value: SSAValue, fold: int) -> TileType:
        """Return the type of a value as a tile.  Raises Declined."""
        known = self._types.get((id(value.type), fold))
        if known is None:
            tile = self.tile_for(spec_of(value.type), fold)
            if tile is None:
                raise Declined(self.refusal(value))
            known = self._types[id(value.type), fold] = value.type, tile_type(tile)
        return known[1]

    def _grow(self, leaf: LeafOp, fold: int) -> SSAValue:
        types = (self._type(leaf.results[0], fold),)
        return self.add(type(leaf).create(result_types=types, properties=leaf.properties, location=leaf.location)).results[0]

    # ---- ops ---------------------------------------------------------------------------------------------------------------------

    def add(self, op: Any) -> Any:
        """Append an op; returns it."""
        self.block.add_op(op)
        return op

    def emit(
        self, kind: type[TileOp], *operands: SSAValue | None, like: SSAValue | None = None, fold: int | None = None, **attrs: Any
    ) -> SSAValue:
        """Append a tile op; returns its result.

        Args:
            like: nn value whose dtype gives the format of the result (default: the format of the first operand).
            fold: of the result (default: that of the first operand), as near as its shape allows.
        """
        return self.emit_all(kind, *operands, like=like, fold=fold, **attrs)[0]

    def emit_all(
        self, kind: type[TileOp], *operands: SSAValue | None, like: SSAValue | None = None, fold: int | None = None, **attrs: Any
    ) -> Sequence[SSAValue]:
        """Append a tile op as `emit` does; returns all its results."""
        format_ = None if like is None else self.format(spec_of(like.type).dtype)
        return self.add(kind.build(*operands, location=self._at(), format=format_, fold=fold, **attrs)).results

    def _at(self) -> Attribute:
        if self.location is None:
            raise ValueError("nothing is being lowered")
        return self.location


def _wishes(ops: Sequence[Operation]) -> dict[SSAValue, int]:
    """Return the fold that the first reader of each value wants; elementwise ops pass on what their readers want."""
    found: dict[SSAValue, int] = {}
    by_kind: dict[type[Operation], Wishes | None] = {}
    for op in reversed(ops):
        kind = type(op)
        if kind not in by_kind:
            passes_on = issubclass(kind, NNOp) and getattr(kind, "ELEMENTWISE", False)
            by_kind[kind] = WISHES.get(op.name.removeprefix("nn.")) or (_pass_on(found) if passes_on else None)
        wants = by_kind[kind]
        if wants is not None:
            found.update(wants(op))
    return found


def _pass_on(found: dict[SSAValue, int]) -> Wishes:
    def wants(op: NNOp) -> dict[SSAValue, int]:
        fold = found.get(op.results[0])
        shape = spec_of(op.results[0].type).shape
        return {} if fold is None else {x: fold for x in op.operands if spec_of(x.type).shape == shape}

    return wants

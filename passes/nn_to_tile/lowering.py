"""What a lowering rule works with: tile values of nn values, in the format and fold that it asks for.

A rule is a function `lower_<mnemonic>(op, low)` in the module of this package that has the stem of the op's file in dialect nn.  It
returns the tile values of the op's results, or raises Declined, and the op runs on the host (what was emitted is dropped as unused).  An
optional `wants_<mnemonic>(op)` beside it says in which fold it reads its operands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

import ttc.passes.nn_to_tile as package
from ttc.dialects.core.attributes import LiteralAttr
from ttc.dialects.core.formats import FORMATS, format_of
from ttc.dialects.core.ir import set_type
from ttc.dialects.core.leaves import LeafOp
from ttc.dialects.core.plain import fold_to_tiles
from ttc.dialects.core.spec import Spec, spec_of, tensor_type
from ttc.dialects.nn.base import NNOp
from ttc.dialects.tile.base import Tile, TileOp, tile_of, tile_type
from ttc.dialects.tile.host import FromHostOp, ToHostOp
from ttc.dialects.tile.shape import RelayoutOp
from ttc.passes.base import Unit
from ttc.passes.rule_tables import Declined, rules

Rule: TypeAlias = "Callable[[Any, Lowering], SSAValue | Sequence[SSAValue]]"
Wishes: TypeAlias = "Callable[[Any], dict[SSAValue, int]]"

NARROWER = {"Int64": "Int32", "Int16": "Int32", "Bool": "UInt8", "Half": "Float16"}
"""What holds the values of a format that a target lacks."""

MAX_RANK = 4
"""Of tensors in tiles."""


def tiles_of(shape: tuple[int, ...], fold: int) -> int:
    """Number of 32 x 32 tiles that a tensor takes."""
    t, rows, columns = fold_to_tiles(shape, (32, 32), fold)
    return t * rows * columns


def natural_fold(shape: tuple[int, ...]) -> int:
    """All leading dimensions fold into rows where that takes fewer tiles than one."""
    folds = (1, max(len(shape) - 1, 1))
    return min(folds, key=lambda fold: tiles_of(shape, fold))


class Lowering:
    """The function under construction: its new block, and where each nn value lives there.

    A value lives as a tile (in one or more folds), on the host, or both; leaves and arguments take the fold of their first reader.
    """

    def __init__(self, unit: Unit, ops: Iterable[Operation]) -> None:
        self.unit = unit
        self.block = Block()
        self.location: Attribute | None = None
        self._tiles: dict[SSAValue, dict[int, SSAValue]] = {}
        self._hosts: dict[SSAValue, SSAValue] = {}
        self._leaves: dict[SSAValue, LeafOp] = {}
        self._arguments: dict[SSAValue, BlockArgument] = {}
        self._wishes = _wishes(ops)

    # ---- types -------------------------------------------------------------------------------------------------------------------

    def format(self, dtype: np.dtype) -> str | None:
        """The target's format for values of a dtype; None if they stay on the host."""
        name = format_of(dtype).name
        formats = self.unit.target.formats
        name = name if name in formats else NARROWER.get(name, "")
        return name if name in formats else None

    def fold_in(self, shape: tuple[int, ...], fold: int) -> int:
        """The fold nearest to one asked for that a shape can have; 1 in row layout."""
        return Tile((), "", self.unit.target.tile, fold).shaped(shape).fold

    def tile_for(self, spec: Spec, fold: int) -> Tile | None:
        """The type of a value as a tile; None if the target does not hold it."""
        name = self.format(spec.dtype)
        if name is None or not spec.is_static:
            return None
        return Tile((), name, self.unit.target.tile, fold).shaped(spec.shape)

    def refusal(self, value: SSAValue) -> str | None:
        """Why the target cannot hold a value; None if it can."""
        spec = spec_of(value.type)
        tile = self.tile_for(spec, 1)
        if tile is None:
            return f"{self.unit.target.name} does not hold {spec}"
        if tile.tile is not None and not tile.elements:
            return f"{spec} has no elements: it takes no tiles"
        if value in self._leaves and FORMATS[tile.format].storage != spec.dtype and spec.dtype.kind in "iu":
            array = self._leaf_array(self._leaves[value])
            limits = np.iinfo(FORMATS[tile.format].storage)
            if array.size and not limits.min <= array.min() <= array.max() <= limits.max:
                return f"a constant exceeds {tile.format}"
        return None

    def _leaf_array(self, leaf: LeafOp) -> np.ndarray:
        return leaf.value.array if isinstance(leaf.value, LiteralAttr) else self.unit.weights[leaf.value.key.data].value()

    @property
    def has_tiles(self) -> bool:
        """Whether the target computes on tiles; else on rows."""
        return self.unit.target.tile is not None

    def require_rows(self) -> None:
        """Raises Declined if the target computes on tiles."""
        if self.has_tiles:
            raise Declined(f"{self.unit.target.name} has no kernel for it")

    # ---- values ------------------------------------------------------------------------------------------------------------------

    def add_argument(self, value: BlockArgument) -> None:
        """An argument gives the value: a tile, or a tensor on the host if the target does not hold it."""
        new = self.block.insert_arg(value.type, len(self.block.args))
        new.name_hint = value.name_hint
        if self.refusal(value) is None:
            self._arguments[value] = new
        else:
            self._hosts[value] = new

    def add_leaf(self, value: SSAValue, leaf: LeafOp) -> None:
        """A leaf gives the value."""
        self._leaves[value] = leaf

    def add_tile(self, value: SSAValue, tile: SSAValue) -> None:
        """A tile holds the value."""
        tile.name_hint = tile.name_hint or value.name_hint
        self._tiles.setdefault(value, {})[tile_of(tile).fold] = tile

    def add_host(self, value: SSAValue, tensor: SSAValue) -> None:
        """A tensor on the host holds the value."""
        tensor.name_hint = tensor.name_hint or value.name_hint
        self._hosts[value] = tensor

    def leaf(self, value: SSAValue) -> LeafOp | None:
        """The leaf that gives a value, if one does."""
        return self._leaves.get(value)

    def literal(self, value: SSAValue) -> np.ndarray | None:
        """The value, if it is a literal."""
        leaf = self._leaves.get(value)
        return leaf.value.array if leaf is not None and isinstance(leaf.value, LiteralAttr) else None

    def is_placed(self, value: SSAValue) -> bool:
        """Whether a tile holds the value, in a fold that is settled."""
        return value in self._tiles

    def is_tile(self, value: SSAValue) -> bool:
        """Whether a tile holds the value, or a leaf or argument can."""
        return value in self._tiles or value in self._leaves or value in self._arguments

    def fold(self, value: SSAValue) -> int:
        """The fold in which a value lives, or would: the one its first reader wants."""
        held = self._tiles.get(value)
        if held:
            return next(iter(held))
        shape = spec_of(value.type).shape
        return self.fold_in(shape, self._wishes.get(value) or natural_fold(shape))

    def wish(self, value: SSAValue) -> int | None:
        """The fold in which the first reader of a value wants it."""
        return self._wishes.get(value)

    def tile(self, value: SSAValue, fold: int | None = None) -> SSAValue:
        """The value as a tile; in a given fold, or as it lives."""
        held = self._tiles.get(value) or {}
        wanted = self.fold(value) if fold is None else self.fold_in(spec_of(value.type).shape, fold)
        if wanted in held:
            return held[wanted]
        if held:
            made = self.add(RelayoutOp.build(next(iter(held.values())), location=self._at(), fold=wanted)).y
        elif value in self._leaves:
            made = self._grow(self._leaves[value], wanted)
        elif value in self._arguments:
            made = self._arguments[value]
            set_type(made, tile_type(self._tile(value, wanted)))
        else:
            type_ = tile_type(self._tile(value, wanted))
            made = self.add(FromHostOp.make((self._hosts[value],), {}, (type_,), self._at())).y
        self.add_tile(value, made)
        return made

    def host(self, value: SSAValue) -> SSAValue:
        """The value as a tensor on the host."""
        if value not in self._hosts:
            leaf = self._leaves.get(value)
            made = (
                self.add(leaf.clone()).result
                if leaf is not None
                else self.add(ToHostOp.make((self.tile(value),), {}, (tensor_type(spec_of(value.type)),), self._at())).y
            )
            self.add_host(value, made)
        return self._hosts[value]

    def _tile(self, value: SSAValue, fold: int) -> Tile:
        tile = self.tile_for(spec_of(value.type), fold)
        if tile is None:
            raise Declined(self.refusal(value))
        return tile

    def _grow(self, leaf: LeafOp, fold: int) -> SSAValue:
        new = type(leaf).make((), leaf.plain_attrs(), (tile_type(self._tile(leaf.result, fold)),), leaf.location)
        return self.add(new).result

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
        format_ = None if like is None else self.format(spec_of(like.type).dtype)
        return self.add(kind.build(*operands, location=self._at(), format=format_, fold=fold, **attrs)).results[0]

    def _at(self) -> Attribute:
        if self.location is None:
            raise ValueError("nothing is being lowered")
        return self.location


def in_rows(op: NNOp, kind: type[TileOp], low: Lowering) -> SSAValue:
    """The tile op of the op's own name and attributes, which only targets in row layout have a kernel for."""
    low.require_rows()
    operands = [None if x is None else low.tile(x) for x in op.named_operands()]
    return low.emit(kind, *operands, like=op.results[0], **op.plain_attrs())


def _wishes(ops: Iterable[Operation]) -> dict[SSAValue, int]:
    """The fold that the first reader of each value wants; elementwise ops pass on what their readers want."""
    found: dict[SSAValue, int] = {}
    wishes: dict[str, Wishes] = rules(package.__name__, "wants_")
    for op in reversed(list(ops)):
        if not isinstance(op, NNOp):
            continue
        wants = wishes.get(op.name.removeprefix("nn.")) or (_pass_on(found) if getattr(op, "ELEMENTWISE", False) else None)
        if wants is not None:
            found.update(wants(op))
    return found


def _pass_on(found: dict[SSAValue, int]) -> Wishes:
    def wants(op: NNOp) -> dict[SSAValue, int]:
        fold = found.get(op.results[0])
        shape = spec_of(op.results[0].type).shape
        return {} if fold is None else {x: fold for x in op.operands if spec_of(x.type).shape == shape}

    return wants

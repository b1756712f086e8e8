"""Types of dialect tile, the base of its ops, and the dialect made of all of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import prod
from typing import Any, NamedTuple, Self, cast

from numpy.typing import NDArray
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase
from xdsl.ir import Attribute, Data, Dialect, Region, SSAValue, TypeAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    OperandDef,
    OptOperandDef,
    VarOperandDef,
    base,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

import ttc.dialects.tile as package
from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import FORMATS
from ttc.dialects.core.ir.adapter import TtcOp
from ttc.dialects.core.ir.attributes import BOOL, FLOAT, FLOATS, INT, INTS, STR, STRS
from ttc.dialects.core.ir.effects import DeclaredEffects
from ttc.dialects.core.ir.op_classes import collect_ops
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.core.plain.functions import TensorType, fold_to_tiles
from ttc.dialects.core.plain.interpret import kernel
from ttc.dialects.core.shapes import Shape
from ttc.dialects.nn.base import ops as nn_ops
from ttc.dialects.tile.facts import fact_of, facts


class Tile(NamedTuple):
    """The type of a value in dialect tile.

    Args:
        shape: logical, unpadded elements; the last dimension runs along tile columns.
        format: name of its data format.
        tile: (height, width) of a tile in elements, or None for row layout.
        fold: how many dimensions before the last fold into tile rows (1: only the one before); the rest count as t.
    """

    shape: tuple[int, ...]
    format: str
    tile: tuple[int, int] | None = None
    fold: int = 1

    @property
    def layout(self) -> str:
        """The layout as the type prints it: `rows`, `tiles(h, w)`, or `tiles(h, w, fold)`."""
        if self.tile is None:
            return "rows"
        return f"tiles({self.tile[0]}, {self.tile[1]}{f', {self.fold}' if self.fold != 1 else ''})"

    @property
    def elements(self) -> int:
        """How many elements the tensor has without padding."""
        return prod(self.shape)

    def matrix(self) -> tuple[int, int, int]:
        """(t, rows, columns) in elements: t matrices, the folded dimensions along the rows."""
        lead = (1, 1, *self.shape)
        split = max(len(lead) - 1 - max(self.fold, 1), 0)
        return prod(lead[:split]), prod(lead[split:-1]), lead[-1]

    def tile_dims(self) -> tuple[int, int, int]:
        """(t, rows, columns) in tiles.  Raises E0302 in row layout."""
        if self.tile is None:
            raise Error("E0302", f"{self.shape} is in row layout: it has no tiles")
        return fold_to_tiles(self.shape, self.tile, self.fold)

    def shaped(self, shape: tuple[int, ...]) -> Tile:
        """The type with another shape, and the nearest fold that it can have: 1 in row layout."""
        return Tile(shape, self.format, self.tile, 1 if self.tile is None else max(1, min(self.fold, len(shape) - 1)))

    def with_(self, **changes: Any) -> Tile:
        """Return a copy with some fields changed."""
        return self._replace(**changes)


@irdl_attr_definition
class TileType(Data[Tile], TypeAttribute):
    """The type of tensors on a device, such as `!tile.tensor<1x128x768xFloat32, tiles(32, 32)>`."""

    name = "tile.tensor"

    def print_parameter(self, printer: Printer) -> None:
        shape = "".join(f"{d}x" for d in self.data.shape)
        printer.print_string(f'<"{shape}{self.data.format}", "{self.data.layout}">')

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Tile:
        with parser.in_angle_brackets():
            *dims, format_ = parser.parse_str_literal().split("x")
            parser.parse_punctuation(",")
            layout = re.fullmatch(r"rows|tiles\((\d{1,4}), (\d{1,4})(?:, (\d))?\)", parser.parse_str_literal())
        if layout is None or format_ not in FORMATS or not all(d.isdecimal() and len(d) < 16 for d in dims):
            parser.raise_error('a tile type reads <"1x128x768xFloat32", "tiles(32, 32)">')
        h, w, fold = layout.groups()
        return Tile(tuple(map(int, dims)), format_, None if h is None else (int(h), int(w)), int(fold or 1))

    def get_shape(self) -> tuple[int, ...]:
        return self.data.shape

    def plain_type(self) -> TensorType:
        """Return the type as plain functions and netlists hold it."""
        return TensorType(self.data.shape, self.data.format, self.data.layout)


@cache
def tile_type(tile: Tile) -> TileType:
    """Return the type attribute of a tile; one object a tile."""
    return TileType(tile)


@cache
def _shaped(shape: tuple[int, ...], format_: str, tile: tuple[int, int] | None, fold: int) -> TileType:
    """Return the type of that shape with the nearest fold that it can have."""
    return tile_type(Tile((), format_, tile, fold).shaped(shape))


def tile_of(value: SSAValue | Attribute) -> Tile:
    """Return the tile of a value or type.  Raises E0302."""
    type_ = getattr(value, "type", value)
    if type(type_) is not TileType:
        raise Error("E0302", f"{type_} is not a type of dialect tile")
    return type_.data


TILE = base(TileType)


VALUES = base(ArrayAttr) | base(DenseArrayBase)
"""Attribute values of any kind, in a list."""
_CONSTRAINTS: Mapping[str, Any] = {
    "int": INT,
    "bool": BOOL,
    "float": FLOAT,
    "str": STR,
    "ints": INTS,
    "floats": FLOATS,
    "strs": STRS,
    "values": VALUES,
}


class TileOp(TtcOp):
    """An op of dialect tile.  Format and layout of results are chosen by passes.

    A class gives operands, results and documentation.  What attributes the op has and what shapes its results have are facts of
    `ttc.dialects.tile.facts`.  Its numpy kernel is registered in `tile/kernels/`.
    """

    traits = traits_def(DeclaredEffects())

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        name = vars(cls).get("name")
        if isinstance(name, str):
            for key, attr in fact_of(name).attrs.items():
                if key not in vars(cls):
                    define = opt_prop_def if attr.optional else prop_def
                    setattr(cls, key, define(_CONSTRAINTS[attr.kind]))

    def check(self) -> None:
        tiles = [None if v is None else tile_of(v) for v in self.named_operands()]
        try:
            found = type(self).infer(*tiles, **self.plain_attrs())
        except Error as error:
            raise VerifyException(error.message) from error
        shapes = [tile_of(r).shape for r in self.results]
        if found != shapes:
            raise VerifyException(f"{self.name} gives {tuple(found)}, but its results are {tuple(shapes)}")

    @classmethod
    def infer(cls, *operands: Tile | None, **attrs: Any) -> list[Shape]:
        """Return shapes of the results from operand tiles (None: absent) and plain attributes.  Raises E04xx, E0901."""
        return fact_of(cls.name).shapes([None if x is None else x.shape for x in operands], attrs)

    @classmethod
    def evaluate(cls, *operands: NDArray | None, **attrs: Any) -> Any:
        """Reference semantics on numpy arrays."""
        return kernel(cls.name)(*operands, **attrs)

    @classmethod
    def build(
        cls,
        *operands: SSAValue | None,
        location: Attribute,
        format: str | None = None,
        fold: int | None = None,
        regions: Sequence[Region] = (),
        **attrs: Any,
    ) -> Self:
        """Create the op; results take format, tile shape and fold (as far as their rank allows) of the first operand unless given.

        Raises E04xx at the location.
        """
        given = {k: v for k, v in attrs.items() if v is not None}
        tiles = [None if x is None else tile_of(x) for x in operands]
        shapes = cls.inferred(lambda types, attrs: cls.infer(*types, **attrs), tiles, given, location)
        first = tiles[0] or next(t for t in tiles if t is not None)
        likes = format or first.format, first.tile, first.fold if fold is None else fold
        return cast("Self", cls.make(operands, given, [_shaped(s, *likes) for s in shapes], location, regions))


class RowsOp(TileOp):
    """An op that only targets in row layout have a kernel for: it takes operands of the dtypes that the nn op of its name takes."""

    @classmethod
    def infer(cls, *operands: Tile | None, **attrs: Any) -> list[Shape]:
        kind = nn_ops()[cls.name.partition(".")[2]]
        specs = [None if x is None else Spec(x.shape, FORMATS[x.format].compute) for x in operands]
        found = kind.infer(*specs, **attrs)
        return [spec.shape for spec in ((found,) if isinstance(found, Spec) else found)]


_OPERANDS: Mapping[type[OperandDef], Callable[..., Any]] = {
    OperandDef: operand_def,
    OptOperandDef: opt_operand_def,
    VarOperandDef: var_operand_def,
}


@cache
def twin(mnemonic: str) -> type[TileOp]:
    """Return the tile op that means what the nn op of its name does: a class of that op's operands and results, as tiles.

    An op needs a class of its own only where dialect nn has none like it, or where passes read its operands by name.
    Raises: E0901 if dialect nn has no op of that name, or nothing is stated about the tile op.
    """
    if mnemonic not in nn_ops():
        raise Error("E0901", f"tile.{mnemonic} has no class, and dialect nn no op of that name")
    kind = nn_ops()[mnemonic]
    definition = kind.get_irdl_definition()
    operands = {name: _OPERANDS[type(operand)](TILE) for name, operand in definition.operands}
    sized = any(isinstance(option, AttrSizedOperandSegments) for option in definition.options)
    body: dict[str, Any] = {
        "__module__": __name__,
        "__doc__": kind.__doc__,
        "name": f"tile.{mnemonic}",
        **operands,
        **{name: result_def(TILE) for name, _ in definition.results},
        "irdl_options": (AttrSizedOperandSegments(as_property=True),) if sized else (),
    }
    base_class = RowsOp if fact_of(mnemonic).rows_only else TileOp
    return irdl_op_definition(cast("type[TileOp]", type(kind.__name__, (base_class,), body)))


@cache
def ops() -> dict[str, type[TileOp]]:
    """Return all tile ops by mnemonic: the classes in the modules of this package, and twins of nn ops for all other facts."""
    found = collect_ops(package, "tile", TileOp)
    return found | {name: twin(name) for name in facts() if name not in found}


@cache
def dialect() -> Dialect:
    """Return the tile dialect for xDSL."""
    return Dialect("tile", list(ops().values()), [TileType])

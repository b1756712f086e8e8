"""The vocabulary of Buda netlists: which tile ops, with which attributes, are one op or tile manipulation there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import Operation

from ttc.dialects.core.formats import FORMATS
from ttc.dialects.core.ir.leaves import LeafOp
from ttc.dialects.core.kernels.buda_functions import FUNCTIONS
from ttc.dialects.core.rule_tables import RuleTable
from ttc.dialects.tile.base import TileOp, tile_of
from ttc.dialects.tile.eltwise import CastOp, EltwiseOp, MapOp
from ttc.dialects.tile.linear import MatmulOp
from ttc.dialects.tile.reduce import ReduceOp
from ttc.dialects.tile.shape import ConcatOp, is_view
from ttc.dialects.tile.sparse import DepthwiseOp

OPS: dict[str, str] = {
    "adjust": "",
    "binary": "",
    "cast": "nop",
    "concat": "splice",
    "depthwise": "depthwise",
    "eltwise": "fused_op",
    "embedding": "embedding",
    "encoded_matmul": "matmul",
    "from_host": "",
    "lookup": "embedding",
    "matmul": "matmul",
    "reduce": "reduce",
    "relu": "",
    "repeat": "",
    "rescale": "",
    "retile": "",
    "sfpu": "",
    "sparse_matmul": "matmul",
    "splice": "splice",
    "tile_broadcast": "",
    "tile_depthwise": "depthwise",
    "to_host": "",
    "topk": "topk",
    "yield": "",
}
"""The Buda op that each tile op is, by mnemonic; empty where none is needed, or an attribute names it."""

UNSIGNED = frozenset({"UInt8", "UInt16"})
"""Formats of integers that no op takes to floating point or back."""

REDUCED = {1: "c", 2: "r", 3: "z"}
"""Buda's names of the dimensions, by distance from the end, along which a maximum can run."""

VARIANTS: RuleTable[Callable[[Any], str | None]] = RuleTable("check of variants")
"""By mnemonic, the function that says what of a tile op Buda netlists have no words for; it gives None if they have all."""
VARIANTS.refuse("Buda has all variants of it", "adjust", "binary", "embedding", "encoded_matmul", "from_host", "lookup", "relu", "repeat")
VARIANTS.refuse("Buda has all variants of it", "rescale", "retile", "sfpu", "sparse_matmul", "splice", "tile_broadcast", "tile_depthwise")
VARIANTS.refuse("Buda has all variants of it", "to_host", "topk", "yield")


def foreign(op: Operation) -> str | None:
    """Return what of an op is outside the vocabulary of Buda netlists; None if all of it is inside, or it is no op of the device."""
    if not isinstance(op, TileOp) or isinstance(op, LeafOp) or is_view(op):
        return None
    mnemonic = op.name.partition(".")[2]
    if mnemonic not in OPS and not isinstance(op, MapOp):
        return op.name
    check = VARIANTS.of(mnemonic)
    return None if check is None else check(op)


@VARIANTS.rule("map")
def _foreign_map(op: MapOp) -> str | None:
    attrs = op.plain_attrs()
    if not all(FORMATS[tile_of(x).format].is_float for x in op.operands):
        return f"function {attrs['fn']} of integers"
    fn = attrs["fn"]
    given: dict[str, Any] = dict(zip(attrs.get("names") or (), attrs.get("values") or (), strict=True))
    legal = fn in FUNCTIONS and (fn != "clip" or starts_at_zero(given)) and (fn != "gelu" or given.get("approximate") == "tanh")
    return None if legal else f"function {fn}"


def starts_at_zero(clip: dict[str, Any]) -> bool:
    """Return whether a clip with those attributes is one from 0 to some positive number."""
    return clip.get("min") == 0 and clip.get("max", 0) > 0


@VARIANTS.rule("eltwise")
def _foreign_region(op: EltwiseOp) -> str | None:
    return next((reason for inner in op.body.block.ops if (reason := foreign(inner)) is not None), None)


@VARIANTS.rule("cast")
def _foreign_cast(op: CastOp) -> str | None:
    if "to" in op.plain_attrs():
        return f"a cast to {op.plain_attrs()['to']}"
    source, result = tile_of(op.x).format, tile_of(op.y).format
    return f"a cast from {source} to {result}" if {source, result} & UNSIGNED and source != result else None


@VARIANTS.rule("matmul", "depthwise")
def _foreign_product(op: MatmulOp | DepthwiseOp) -> str | None:
    attrs = op.plain_attrs()
    if attrs.get("transpose_a"):
        return "a transposed left operand"
    activation = attrs.get("activation")
    return None if is_epilogue(activation, attrs.get("activation_args") or ()) else f"activation {activation}"


def is_epilogue(activation: str | None, args: Sequence[float]) -> bool:
    """Return whether a product can apply an activation to its result: none, relu, or a clip from 0 to a positive number."""
    return activation in (None, "relu") or (activation == "clip" and len(args) == 2 and args[0] == 0 < args[1])


@VARIANTS.rule("reduce")
def _foreign_reduce(op: ReduceOp) -> str | None:
    attrs, x = op.plain_attrs(), tile_of(op.x)
    rank, axes = len(x.shape), attrs["axes"]
    legal = attrs["fn"] == "max" and attrs["keepdims"] and len(axes) == 1 and rank - axes[0] % rank in REDUCED
    return None if legal and (x.fold == 1 or rank == 2) else f"a {attrs['fn']} over dimensions {list(axes)}"


@VARIANTS.rule("concat")
def _foreign_concat(op: ConcatOp) -> str | None:
    y = tile_of(op.y)
    whole = y.fold == 1 and len(y.shape) >= 3 and op.plain_attrs()["axis"] in (-3, len(y.shape) - 3)
    return None if whole else "a concatenation within matrices"

"""Ops of every class of ttc, nn, tile and netlist, with every field of every kind of value, absent ones and all locations."""

from __future__ import annotations

from functools import cache
from itertools import cycle, islice
from typing import Any

import numpy as np
from xdsl.dialects import builtin, func
from xdsl.ir import Attribute, Block, Region
from xdsl.irdl import OptOperandDef, OptPropertyDef, OptRegionDef, VarOperandDef, VarRegionDef, VarResultDef

from ttc.dialects.core.ir.adapter import TtcOp
from ttc.dialects.core.ir.attributes import FLOATS, INTS, STRS, LiteralAttr, WeightAttr
from ttc.dialects.core.ir.leaves import CORE
from ttc.dialects.core.ir.locations import fused_location, named_location
from ttc.dialects.core.ir.segments import SEGMENTS
from ttc.dialects.core.ir.spec import Spec, tensor_type
from ttc.dialects.netlist import model
from ttc.dialects.netlist.attrs import AddressesAttr, netlist_attribute
from ttc.dialects.netlist.ops import dialect as netlist
from ttc.dialects.nn.base import dialect as nn
from ttc.dialects.tile.base import Tile, tile_type
from ttc.dialects.tile.base import dialect as tile

OPS = [op for dialect in (CORE, nn(), tile(), netlist()) for op in dialect.operations if issubclass(op, TtcOp)]
TENSOR = tensor_type(Spec((2, 3), np.dtype(np.float32)))
TILE = tile_type(Tile((64, 128), "Bfp8_b", (32, 32)))
PLAIN = (
    0, 7, -(1 << 62), False, True, 0.1, 3.0, -0.0, 1e-45, 1.5e300, float("inf"), float("-inf"), float("nan"), "", "relu", '"\\\n\x00 é日',
    (1, -2, 3), (0,), (0.5, 3.0), ("a", 'b"'), ("a", 1, 0.5, ("b", 2), True),
    *(np.dtype(name) for name in ("float32", "float16", "int8", "uint64", "bool")),
    model.Grid(1, 2, 3, 4, transposed=True), model.Host(), model.Blocking(2, (1, 2), (3, 4), "c"), model.Buffer("in0", 8, 4128),
    (model.Buffer("out", 4, 4128, 2),), (model.Argument("x", "input", "q", (8, 3), "float32"),),
    (model.QueueSetting("q", rd_ptr_local="$l", read_only=True),),
)  # fmt: skip
EMPTY = (*(builtin.DenseArrayBase.from_list(kind, []) for kind in (builtin.i64, builtin.f64)), builtin.ArrayAttr(()))
VALUES: tuple[Attribute, ...] = (
    *(netlist_attribute(value) for value in PLAIN),
    AddressesAttr(((0, 1 << 28), (11, 64))),
    *EMPTY,
    LiteralAttr.of(np.array([[0.1, -2.0]], np.float32)),
    WeightAttr.of("/a/w:0", Spec((4, 0), np.dtype(np.int64))),
    TENSOR,
    TILE,
)
NAMED = named_location('/layer "1"\\x')
LOCATIONS: tuple[Any, ...] = (
    NAMED,
    fused_location([NAMED, named_location("model.py:12")]),
    builtin.FileLineColLoc(builtin.StringAttr("a b.mlir"), builtin.IntAttr(3), builtin.IntAttr(9)),
    builtin.UnknownLoc(),
)


def variants(op: type[TtcOp]) -> int:
    """How many ops show all the values that its fields take, and all locations."""
    properties = op.get_irdl_definition().properties
    return max(len(LOCATIONS), *(len(fitting(p.constr)) for p in properties.values()), 1) if properties else len(LOCATIONS)


@cache
def fitting(constraint: Any) -> tuple[Attribute, ...]:
    """Return the values that a field may have; lists of other kinds than these are absent when they are empty."""
    lists = any(constraint is kind for kind in (INTS, FLOATS, STRS))
    return tuple(value for value in VALUES if constraint.verifies(value) and (lists or value not in EMPTY))


def nth(values: Any, number: int) -> Any:
    return next(islice(cycle(values), number, None))


def made(op: type[TtcOp], number: int, *, full: bool) -> builtin.ModuleOp:
    """A function of one such op, whose operands are its arguments.  full: with what is optional, and two of what there may be many."""
    definition = op.get_irdl_definition()
    kind = TENSOR if op.name.startswith("nn.") else TILE
    counts = [_count(d, full) for _, d in definition.operands]
    block = Block(arg_types=[kind] * sum(counts))
    given = {name: p for name, p in definition.properties.items() if (full or not isinstance(p, OptPropertyDef)) and name != SEGMENTS}
    properties = {name: nth(fitting(p.constr), number) for name, p in given.items()}
    if SEGMENTS in definition.properties:
        properties[SEGMENTS] = builtin.DenseArrayBase.from_list(builtin.i32, counts)
    block.add_op(
        op.create(
            operands=block.args,
            result_types=[kind] * sum(_count(d, full) for _, d in definition.results),
            properties=properties,
            regions=[Region(Block(arg_types=[kind])) for _, d in definition.regions for _ in range(_count(d, full))],
            location=nth(LOCATIONS, number),
        )
    )
    return builtin.ModuleOp([func.FuncOp("f", ([kind] * sum(counts), []), Region(block))])


def _count(definition: Any, full: bool) -> int:
    """How many operands, results or regions an op is given for one that it declares."""
    if isinstance(definition, OptOperandDef | OptRegionDef):  # those derive from what there may be many of
        return int(full)
    return 2 * full if isinstance(definition, VarOperandDef | VarRegionDef | VarResultDef) else 1

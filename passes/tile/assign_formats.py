"""Choosing the data formats in which values cross op borders."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from xdsl.dialects import func
from xdsl.ir import Operation, SSAValue

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.formats import FORMATS, format_named
from ttc.dialects.core.ir.adapter import set_type
from ttc.dialects.core.ir.attributes import LiteralAttr, plain
from ttc.dialects.core.ir.entries import entry_functions, module_attr, ports
from ttc.dialects.core.ir.leaves import ConstantOp, ParamOp, StateOp
from ttc.dialects.core.ir.locations import source_names
from ttc.dialects.core.records import record
from ttc.dialects.tile.base import TileType, tile_type
from ttc.dialects.tile.shape import ViewOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.precision import Guard, follow_types

LOWEST = np.array(-3e38, np.float32)
"""Nearly the lowest number of float32: what masks add to scores that do not count."""

LOSS = ("loss", "grad.loss")
"""Sources of ops that compute the loss of a training program, and its gradient."""


@record
class AssignFormats(Pass):
    """Store every floating-point tensor in one format: activations, weights, inputs and outputs.

    Integers and truth values stay as they are.  So do parameters that are trained, the states of their optimizer, updates and losses;
    caches of generation, which are written in place, and its logits;
    one-element literals, which are part of the op that reads them; and masks of an attention, whose most negative number another format
    may round to -inf, and the logarithms of its sums.  Scores of a softmax stay out of formats that share
    exponents or have small ones: there, that number would erase its neighbours, or become one that an exponential does not bring to zero.

    Args:
        format: of floating-point tensors; None keeps those of the source.

    Before:
        (%x: !tile.tensor<"4x8xFloat32", "rows">, %i: !tile.tensor<"4x8xInt32", "rows">)
        %0 = tile.map(%x) {fn = "relu"} : (!tile.tensor<"4x8xFloat32", "rows">) -> !tile.tensor<"4x8xFloat32", "rows">
        return %0, %i : !tile.tensor<"4x8xFloat32", "rows">, !tile.tensor<"4x8xInt32", "rows">
    After:
        (%x: !tile.tensor<"4x8xFloat16_b", "rows">, %i: !tile.tensor<"4x8xInt32", "rows">)
        %0 = tile.map(%x) {fn = "relu"} : (!tile.tensor<"4x8xFloat16_b", "rows">) -> !tile.tensor<"4x8xFloat16_b", "rows">
        return %0, %i : !tile.tensor<"4x8xFloat16_b", "rows">, !tile.tensor<"4x8xInt32", "rows">
    Missed:  a mask, or scores of a softmax.  A format that the target lacks is an error (E0607).
    """

    name = "assign-formats"
    format: str | None = None

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        if self.format is None:
            return
        if not format_named(self.format).is_float:
            raise Error("E0607", f"'{self.format}' is no format of floating-point numbers")
        if self.format not in unit.target.formats:
            hint = nearest(self.format, [f for f in unit.target.formats if FORMATS[f].is_float])
            raise Error("E0607", f"{unit.target.name} does not have the format '{self.format}'", hint=hint)
        notes = [module_attr(unit.module, name) or {} for name in ("training", "generation")]
        wide = frozenset(name for noted in notes for name in noted.get("wide", ()))
        for function in entry_functions(unit.module):
            if rewriter.allow(f"store-in-{self.format}", function):
                _assign(function, self.format, rewriter, wide)


def _assign(function: func.FuncOp, format_: str, rewriter: Rewriter, wide: frozenset[str]) -> None:
    guard = Guard.of(function)
    kept = dict.fromkeys(guard.masks, "a mask") | dict.fromkeys(guard.sums, "logarithms of sums of an attention")
    if wide:
        kept |= dict.fromkeys(_trained(function, wide), "of the loss, an update or a cache")
    if not holds_scores(format_):
        kept = dict.fromkeys(guard.scores, "scores of a softmax") | kept
    for value in _border_values(function):
        if isinstance(value.owner, ViewOp) and value.owner.x in kept:
            kept[value] = kept[value.owner.x]
        if not isinstance(value.type, TileType) or not FORMATS[value.type.data.format].is_float:
            continue
        if value in kept:
            op = value.owner if isinstance(value.owner, Operation) else function
            rewriter.missed(op, f"stays in {value.type.data.format}: {kept[value]}", format=format_)
        else:
            set_type(value, tile_type(value.type.data.with_(format=format_)))
    follow_types(function)


def _trained(function: func.FuncOp, wide: frozenset[str]) -> Iterator[SSAValue]:
    """Yield values that stay in the format of the source: parameters, what updates them, the loss, numbers that come in, caches.

    Views are not among them, as they have the format of what they show.

    wide: names of parameters, states, inputs and outputs.
    """
    arguments, results = ports(function)
    yield from (value for port, value in zip(arguments, function.body.block.args, strict=True) if port.name in wide)
    last = function.body.block.last_op
    returned = () if last is None else last.operands
    yield from (value for port, value in zip(results, returned, strict=True) if port.name in wide or port.updates in wide)
    for op in function.body.block.ops:
        if isinstance(op, ViewOp):
            continue
        first = next(iter(source_names(op.location)), "")
        if first in LOSS or first.startswith("optimizer.") or (isinstance(op, ParamOp | StateOp) and plain(op.sym) in wide):
            yield from op.results


def _border_values(function: func.FuncOp) -> Iterator[SSAValue]:
    """Arguments and results of ops, but for literals of one element."""
    yield from function.body.block.args
    for op in function.body.block.ops:
        if not (isinstance(op, ConstantOp) and isinstance(op.value, LiteralAttr) and op.value.spec.elements == 1):
            yield from op.results


def holds_scores(format_: str) -> bool:
    """Return whether a format keeps numbers of all sizes side by side: elements have exponents of their own, as wide as those of
    float32.
    """
    found = format_named(format_)
    return not found.is_block and bool(np.isclose(found.round(LOWEST), LOWEST, rtol=0.01))

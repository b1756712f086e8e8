"""Lowering to tile ops of the same name and attributes, which only targets in row layout have kernels for."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ttc.dialects.nn.base import NNOp
from ttc.dialects.tile.base import twin
from ttc.passes.nn_to_tile.lowering import FunctionLowering


def in_rows(op: NNOp, low: FunctionLowering) -> Sequence[SSAValue]:
    """Lower an op to the tile op of its name, with the same attributes."""
    low.require_rows()
    operands = [None if x is None else low.tile(x) for x in op.named_operands()]
    return low.emit_all(twin(op.name.removeprefix("nn.")), *operands, like=op.results[0], **op.plain_attrs())

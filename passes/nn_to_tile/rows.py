"""Lowering to tile ops of the same name and attributes, which only targets in row layout have kernels for."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ttc.dialects.nn.base import NNOp
from ttc.dialects.tile.base import twin
from ttc.passes.nn_to_tile import TO_TILE
from ttc.passes.nn_to_tile.lowering import Lowering


@TO_TILE.rule(
    *("argmax", "argmin", "cumprod", "cumsum", "det", "fft", "irfft", "reverse_sequence", "couple_probabilities", "tree_ensemble"),
    *("gather_elements", "gather_nd", "scatter_elements", "scatter_nd", "deform_conv", "grid_sample", "roi_align", "resize", "resize_by"),
    *("gru", "lstm", "rnn"),
)
def in_rows(op: NNOp, low: Lowering) -> Sequence[SSAValue]:
    """Lower an op to the tile op of its name, with the same attributes."""
    low.require_rows()
    operands = [None if x is None else low.tile(x) for x in op.named_operands()]
    return low.emit_all(twin(op.name.removeprefix("nn.")), *operands, like=op.results[0], **op.plain_attrs())

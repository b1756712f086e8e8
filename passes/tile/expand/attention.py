"""Expansion of attention into products, a softmax and views."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttc.dialects.tile.attention import AttentionOp
from ttc.dialects.tile.base import tile_of
from ttc.passes.tile.expand import EXPANSIONS
from ttc.passes.tile.expand.expansion import Expansion
from ttc.passes.tile.expand.reduce import reduced

LOWEST = {"Float32": -3.4028234663852886e38, "Float16_b": -3.3895313892515355e38, "Float16": -65504.0}
"""The number that stands for -inf where a row has no finite score, by the format of the scores."""
LEAST_SUM = 0.5
"""A number below every sum of exponentials of a row with a finite score, one of which is 1."""


@EXPANSIONS.rule("attention")
def expand_attention(op: AttentionOp, to: Expansion) -> SSAValue:
    """Expand attention into scaled, masked products, their exponentials times v, and a division by their sum last, on the smaller
    matrix.
    """
    attrs = op.plain_attrs()
    scores = to.map("mul", to.matmul(op.q, op.k, transpose_b=True), float(attrs["scale"]))
    if op.mask is not None:
        scores = to.map("add", scores, op.mask)
    last = (len(tile_of(scores).shape) - 1,)
    top = reduced(scores, "max", last, to)
    if attrs["zero_masked"]:
        top = to.map("maximum", top, LOWEST[tile_of(top).format])
    powers = to.map("exp", to.map("sub", scores, top))
    total = reduced(powers, "sum", last, to)
    if attrs["zero_masked"]:
        total = to.map("maximum", total, LEAST_SUM)
    y = to.map("mul", to.matmul(powers, op.v), to.map("reciprocal", total), format=to.result.format)
    return to.fit(y)

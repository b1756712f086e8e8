"""The pass that folds margins of zeros into the convolutions that read them."""

from __future__ import annotations

from typing import ClassVar

from ttc.dialects.core.records import record
from ttc.dialects.nn.conv import Conv2dOp
from ttc.dialects.nn.pieces import PadOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.match import attr, owner, rebuilt, sweep_entries


@record
class FoldPad(Pass):
    """Fold margins of zeros around an image into the pads of the convolution that reads it.

    Before:
        (%x: tensor<1x4x4x2xf32>, %w: tensor<3x3x2x5xf32>)
        %0 = nn.pad(%x) {after = [0, 1, 1, 0], before = [0, 0, 0, 0], mode = "constant", value = 0.0}
            : (tensor<1x4x4x2xf32>) -> tensor<1x5x5x2xf32>
        %1 = nn.conv2d(%0, %w, _) {dilations = [1, 1], groups = 1, layout = "nhwc", pads = [0, 0, 0, 0], strides = [2, 2]}
            : (tensor<1x5x5x2xf32>, tensor<3x3x2x5xf32>) -> tensor<1x2x2x5xf32>
        return %1 : tensor<1x2x2x5xf32>
    After:
        (%x: tensor<1x4x4x2xf32>, %w: tensor<3x3x2x5xf32>)
        %0 = nn.conv2d(%x, %w, _) {dilations = [1, 1], groups = 1, layout = "nhwc", pads = [0, 0, 1, 1], strides = [2, 2]}
            : (tensor<1x4x4x2xf32>, tensor<3x3x2x5xf32>) -> tensor<1x2x2x5xf32>
        return %0 : tensor<1x2x2x5xf32>
    Missed:
        the margins are not zeros, or also around batch or channels.
    """

    name: ClassVar[str] = "fold-pad"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        sweep_entries(unit, rewriter, {Conv2dOp: lambda op: _fold(op, rewriter)})


def _fold(conv: Conv2dOp, rewriter: Rewriter) -> None:
    pad = owner(conv.operands[0], PadOp)
    if pad is None:
        return
    before, after = tuple(attr(pad, "before")), tuple(attr(pad, "after"))
    at = 1 if attr(conv, "layout") == "nhwc" else 2
    others = before[:at] + before[at + 2 :] + after[:at] + after[at + 2 :]
    if attr(pad, "mode") != "constant" or attr(pad, "value") != 0 or any(others):
        rewriter.missed(conv, "the margins before it are not zeros, or also around batch or channels")
    elif rewriter.allow("fold-pad", conv):
        margins = before[at : at + 2] + after[at : at + 2]
        pads = tuple(p + m for p, m in zip(attr(conv, "pads"), margins, strict=True))
        image = (pad.operands[0], *conv.named_operands()[1:])
        new = rebuilt(rewriter, conv, conv, image, (pad, conv), pads=pads)
        rewriter.applied(new, "margins folded into nn.conv2d")
        rewriter.replace(conv, new.results[0])
        rewriter.erase_dead(pad)

"""The pass that writes convolutions whose windows do not overlap as products of matrices."""

from __future__ import annotations

from typing import ClassVar

from ttc.dialects.core.records import record
from ttc.dialects.nn.conv import Conv2dOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.making import RewriteMaker
from ttc.passes.nn.match import attr, shape_of, sweep_entries

TILE = 32
"""Channels that a device multiplies at a time."""
GAIN = 2
"""How many times fewer tiles of the inner dimension a product must have for the rearrangement of the image to pay."""


@record
class PatchProduct(Pass):
    """Turn a convolution of separate patches, as large as its strides, into a product of their pixels with the filters.

    A device multiplies 32 channels at a time for each pixel of the window: of 3 channels that is a tenth of its rate.  A patch laid out as
    one row fills the tiles.

    Before:
        (%x: tensor<2x3x8x12xf32>, %w: tensor<5x3x4x4xf32>, %b: tensor<5xf32>)
        %0 = nn.conv2d(%x, %w, %b) {dilations = [1, 1], groups = 1, layout = "nchw", pads = [0, 0, 0, 0], strides = [4, 4]}
            : (tensor<2x3x8x12xf32>, tensor<5x3x4x4xf32>, tensor<5xf32>) -> tensor<2x5x2x3xf32>
        return %0 : tensor<2x5x2x3xf32>
    After:
        (%x: tensor<2x3x8x12xf32>, %w: tensor<5x3x4x4xf32>, %b: tensor<5xf32>)
        %0 = nn.reshape(%x) {shape = [2, 3, 2, 4, 3, 4]} : (tensor<2x3x8x12xf32>) -> tensor<2x3x2x4x3x4xf32>
        %1 = nn.transpose(%0) {perm = [0, 2, 4, 1, 3, 5]} : (tensor<2x3x2x4x3x4xf32>) -> tensor<2x2x3x3x4x4xf32>
        %2 = nn.reshape(%1) {shape = [2, 6, 48]} : (tensor<2x2x3x3x4x4xf32>) -> tensor<2x6x48xf32>
        %3 = nn.reshape(%w) {shape = [5, 48]} : (tensor<5x3x4x4xf32>) -> tensor<5x48xf32>
        %4 = nn.transpose(%3) {perm = [1, 0]} : (tensor<5x48xf32>) -> tensor<48x5xf32>
        %5 = nn.matmul(%2, %4, %b) {transpose_a = false, transpose_b = false}
            : (tensor<2x6x48xf32>, tensor<48x5xf32>, tensor<5xf32>) -> tensor<2x6x5xf32>
        %6 = nn.reshape(%5) {shape = [2, 2, 3, 5]} : (tensor<2x6x5xf32>) -> tensor<2x2x3x5xf32>
        %7 = nn.transpose(%6) {perm = [0, 3, 1, 2]} : (tensor<2x2x3x5xf32>) -> tensor<2x5x2x3xf32>
        return %7 : tensor<2x5x2x3xf32>
    Missed:
        patches do not cover the image exactly; the product would have more than half of the convolution's tiles.
    """

    name: ClassVar[str] = "patch-product"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        sweep_entries(unit, rewriter, {Conv2dOp: lambda op: _as_product(op, unit, rewriter)})


def _as_product(conv: Conv2dOp, unit: Unit, rewriter: Rewriter) -> None:
    if attr(conv, "layout") != "nchw" or attr(conv, "groups") != 1 or any(attr(conv, "pads")) or set(attr(conv, "dilations")) != {1}:
        return
    x, w, bias = conv.named_operands()
    if x is None or w is None or min(*shape_of(x), *shape_of(w)) < 1 or shape_of(w)[2:] != tuple(attr(conv, "strides")):
        return
    (n, c, height, width), (outputs, _, kh, kw) = shape_of(x), shape_of(w)
    if kh * kw == 1:
        return
    if height % kh or width % kw:
        rewriter.missed(conv, f"patches of {kh} x {kw} do not cover an image of {height} x {width} exactly")
        return
    taps, tiles = kh * kw * -(-c // TILE), -(-c * kh * kw // TILE)
    if tiles * GAIN > taps:
        rewriter.missed(conv, f"as a product it would have {tiles} tiles of the inner dimension, and has {taps}")
        return
    if not rewriter.allow("patch-product", conv):
        return
    b = RewriteMaker(conv, unit, rewriter)
    rows, cols, inner = height // kh, width // kw, c * kh * kw
    apart = b.nn("reshape", x, shape=(n, c, rows, kh, cols, kw))
    patches = b.nn("reshape", b.nn("transpose", apart, perm=(0, 2, 4, 1, 3, 5)), shape=(n, rows * cols, inner))
    filters = b.nn("transpose", b.nn("reshape", w, shape=(outputs, inner)), perm=(1, 0))
    activation = {name: attr(conv, name) for name in ("activation", "activation_args") if name in conv.properties}
    product = b.nn("matmul", patches, filters, bias, transpose_a=False, transpose_b=False, **activation)
    image = b.nn("transpose", b.nn("reshape", product, shape=(n, rows, cols, outputs)), perm=(0, 3, 1, 2))
    rewriter.applied(conv, f"a product of {rows * cols} patches: {tiles} tiles of the inner dimension in place of {taps}")
    rewriter.replace(conv, image)

"""Convolutions: a sparse matmul gathers the pixels under each tap, a product with the weights of each tap sums them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any, TypeAlias

from xdsl.ir import SSAValue

from ttc.dialects.core.kernels.windows import windows
from ttc.dialects.tile.base import tile_of
from ttc.dialects.tile.buda import is_epilogue
from ttc.dialects.tile.conv import Conv2dOp, ConvTranspose2dOp
from ttc.dialects.tile.shape import ConcatOp, HsliceOp, HstackOp, RelayoutOp, ReshapeOp, TransposeOp
from ttc.dialects.tile.sparse import DepthwiseOp, SparseMatmulOp
from ttc.passes.tile.expand import EXPANSIONS
from ttc.passes.tile.expand.expansion import Expansion
from ttc.passes.tile.expand.linear import activated, epilogue
from ttc.passes.tile.expand.selection import (
    HELD_TILES,
    TILE_ROWS,
    Selection,
    aligned_bands,
    bands_of,
    permuted,
    row_of_taps,
    scattered,
    stacked,
    windows_of,
)

Product: TypeAlias = "Callable[..., SSAValue]"
"""Builds the product from a bias (one row, or None), its format, and an activation as attributes."""


@EXPANSIONS.rule("conv2d")
def expand_conv2d(op: Conv2dOp, to: Expansion) -> SSAValue:
    """Expand a convolution: if depthwise with one weight a channel and tap, else with matrices of weights, a stack of them a group."""
    attrs = op.plain_attrs()
    moves = windows(tile_of(op.w).shape[:2], attrs["strides"], attrs["pads"], attrs["dilations"])
    taps = windows_of(tile_of(op.x).shape[:3], to.result.shape[1:3], moves)
    depthwise = attrs["groups"] == tile_of(op.x).shape[3] > 1
    product = _depthwise(op, taps, to) if depthwise else _product(op, taps, attrs["groups"], to, transpose=False)
    return _finished(product, op.bias, attrs.get("activation"), tuple(attrs.get("activation_args") or ()), to)


@EXPANSIONS.rule("conv_transpose2d")
def expand_conv_transpose2d(op: ConvTranspose2dOp, to: Expansion) -> SSAValue:
    """Expand a transposed convolution into a selection of pixels for each tap and a product with transposed weights."""
    attrs = op.plain_attrs()
    moves = windows(tile_of(op.w).shape[:2], attrs["strides"], attrs["pads"], attrs["dilations"])
    taps = scattered(tile_of(op.x).shape[:3], to.result.shape[1:3], moves)
    return _finished(_product(op, taps, attrs["groups"], to, transpose=True), op.bias, None, (), to)


def _product(op: Conv2dOp | ConvTranspose2dOp, taps: Selection, groups: int, to: Expansion, *, transpose: bool) -> Product:
    """[windows, outputs]: the sum over taps of pixels times weights."""
    if groups > 1:
        return _grouped(op, taps, groups, to, transpose=transpose)
    kh, kw, inner, outer = tile_of(op.w).shape
    planes = _planes(op)
    if planes is not None and not transpose:
        return _by_planes(op, planes, taps, to)
    count, rows, depth = kh * kw, prod(taps.sizes[2:]), tile_of(op.x).shape[3]
    weights = to.reshape(to.in_fold(op.w, 1), (count, inner, outer) if count > 1 else (inner, outer))
    if count == 1:
        return partial(to.matmul, to.select(op.x, taps, (rows, depth)), weights, transpose_b=transpose)
    bands = bands_of(taps)
    if bands:
        return partial(to.matmul, _by_rows(op.x, taps, bands, to), weights, transpose_b=transpose, accumulate=True)
    return partial(to.matmul, to.select(op.x, taps, (count, rows, depth)), weights, transpose_b=transpose, accumulate=True)


def _planes(op: Conv2dOp | ConvTranspose2dOp) -> SSAValue | None:
    """The image as planes [n, c, h, w], if it is large, comes as such, and its channels under a column of taps fill two tiles at most."""
    n, h, w, c = tile_of(op.x).shape
    if n * h * w // TILE_ROWS <= HELD_TILES or c * tile_of(op.w).shape[0] > 2 * TILE_ROWS:
        return None
    owner = op.x.owner
    while isinstance(owner, ReshapeOp | RelayoutOp):
        owner = owner.x.owner
    rows = owner.x.owner if isinstance(owner, TransposeOp) and owner.plain_attrs()["perm"] == (0, 2, 1) else None
    if not isinstance(rows, SparseMatmulOp) or tile_of(rows.y).shape != (n * h, c, w):
        return None
    moved = permuted((n, c, h), (0, 2, 1)).attrs()
    return rows.x if {name: rows.plain_attrs()[name] for name in moved} == moved else None


def _by_planes(op: Conv2dOp | ConvTranspose2dOp, planes: SSAValue, taps: Selection, to: Expansion) -> Product:
    """Return rows of planes under each column of taps first, side by side as channels of a window's row; then columns of those."""
    kh, kw, c, outer = tile_of(op.w).shape
    n, h, w = taps.source
    _, _, _, height, width = taps.sizes
    down = taps.steps[1]
    steps = ((1, 0, 0, 0), (0, 0, 0, 1), (0, down[3], down[0], 0))
    below = Selection((n, c, h), (n, height, kh, c), steps, (0, 0, taps.offsets[1]), (1, 1, 1))
    tall = to.swap(to.select(planes, below, (n * height, kh * c, w)))
    bands = aligned_bands(height, width)
    pixels = to.select(
        tall, _beside(taps, bands), (n * bands, kw * height // bands * width, kh * c) if bands else (kw, n * height * width, kh * c)
    )
    if bands:
        pixels = to.reshape(pixels, (n * bands, kw, height // bands * width, kh * c))
    weights = to.select(to.reshape(op.w, (kh * kw * c, outer)), permuted((kh, kw, c), (1, 0, 2)), (kw, kh * c, outer))
    return partial(to.matmul, pixels, weights, accumulate=True)


def _beside(taps: Selection, bands: int) -> Selection:
    """Return columns of taps of rows of windows, band by band, [n * bands, kw, h' / bands, w']; without bands [kw, n * h', w']."""
    n, _, w = taps.source
    _, kw, _, height, width = taps.sizes
    across, source, offsets = taps.steps[2], (n * height, w), (0, taps.offsets[2])
    if not bands:
        return Selection(source, (kw, n * height, width), ((0, 1, 0), (across[1], 0, across[4])), offsets, (1, 1))
    rows = height // bands
    return Selection(source, (n * bands, kw, rows, width), ((rows, 0, 1, 0), (0, across[1], 0, across[4])), offsets, (1, 1))


def _by_rows(x: SSAValue, taps: Selection, bands: int, to: Expansion) -> SSAValue:
    """[bands, taps, windows of a band, channels]: the pixels under each row of taps by themselves, as each passes over the image once."""
    kh, kw, n, height, width = taps.sizes
    rows, depth = height // bands * width, tile_of(x).shape[3]
    parts = [to.select(x, row_of_taps(taps, row, bands), (n * bands, kw * rows, depth)) for row in range(kh)]
    return to.emit(ConcatOp, *(to.reshape(part, (n * bands, kw, rows, depth)) for part in parts), axis=1, fold=1)


def _grouped(op: Conv2dOp | ConvTranspose2dOp, taps: Selection, groups: int, to: Expansion, *, transpose: bool) -> Product:
    """Return a matrix a group and tap; the results of the groups lie side by side."""
    kh, kw, inner, outer = tile_of(op.w).shape
    count, rows, depth = kh * kw, prod(taps.sizes[2:]), tile_of(op.x).shape[3]
    stack = to.emit(HsliceOp, to.reshape(op.x, (prod(taps.source), depth)), n=groups, fold=1)
    a = to.select(stack, stacked(taps, groups), (groups, count, rows, depth // groups))
    slices = to.emit(HsliceOp, to.reshape(op.w, (count * inner, outer)), n=groups, fold=1)
    b = to.reshape(slices, (groups, count, inner, outer // groups))

    def build(bias: SSAValue | None, **attrs: Any) -> SSAValue:
        part = None if bias is None else to.emit(HsliceOp, to.reshape(bias, (1, tile_of(bias).elements)), n=groups, fold=1)
        return to.emit(HstackOp, to.matmul(a, b, part, transpose_b=transpose, accumulate=True, **attrs), n=groups, fold=1)

    return build


def _depthwise(op: Conv2dOp, taps: Selection, to: Expansion) -> Product:
    """[windows, outputs]: the sum over taps of pixels times one weight a channel."""
    kh, kw, _, outputs = tile_of(op.w).shape
    depth = tile_of(op.x).shape[3]
    image = op.x if outputs == depth else _repeated(op.x, outputs // depth, to)
    a = to.select(image, taps, (kh * kw, prod(taps.sizes[2:]), outputs))
    return partial(to.emit, DepthwiseOp, a, to.reshape(op.w, (kh * kw, outputs)))


def _repeated(x: SSAValue, count: int, to: Expansion) -> SSAValue:
    """Each channel `count` times, one beside another."""
    *lead, depth = tile_of(x).shape
    t, rows, _ = tile_of(x).matrix()
    copies = Selection((t, depth), (t, depth, count), ((1, 0, 0), (0, 1, 0)), (0, 0), (1, 1))
    wide = to.swap(to.select(to.swap(to.matrices(x)), copies, (t, depth * count, rows)))
    return to.reshape(wide, (*lead, depth * count), tile_of(x).fold)


def _finished(product: Product, bias: SSAValue | None, activation: str | None, args: tuple[float, ...], to: Expansion) -> SSAValue:
    """activation(product + bias) as the result; the product itself does what it can."""
    shape, fold, format_ = to.result.shape, to.result.fold, to.result.format
    is_row = bias is not None and prod(tile_of(bias).shape[:-1]) == 1
    row = to.reshape(bias, tile_of(bias).shape[-1:]) if bias is not None and is_row else None
    if (bias is None or is_row) and is_epilogue(activation, args):
        return to.reshape(product(row, format=format_, **epilogue(activation, args)), shape, fold)
    y = to.reshape(product(row, format=to.exact(format_)), shape, fold)
    if bias is not None and not is_row:
        y = to.map("add", y, bias)
    return to.fit(activated(y, activation, args, to))

"""From views to jobs of products of scaled integers: when they pay, scaling of rows, packing of right operands."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.jobs.convolutions import Images, WindowAxis, result_of, submit_windows
from ttc.runtime.engines.native.jobs.job import NotTaken
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.jobs.products import FLOATS, Panels, rewritten_rows, submit_product, whole_region
from ttc.runtime.engines.native.kernels.gemm_block import Block
from ttc.runtime.engines.native.kernels.gemm_rows import DenseRows, WindowRows
from ttc.runtime.engines.native.kernels.integer_gemm import integer_block
from ttc.runtime.engines.native.kernels.scaled_gemm import ScaledGemm
from ttc.runtime.engines.native.kernels.scaled_pack import ScalePanels, ScaleRows, panel_words, row_words
from ttc.runtime.engines.native.kernels.scaled_parts import runs_of

if TYPE_CHECKING:
    from ttc.runtime.engines.native.kernels.words import Word


def scaled_rows(n: Lowering, a: View) -> View:
    """Return rows a[..., depth] as scaled integers: [..., words of a row]."""
    target = n.temp((*a.shape[:-1], row_words(a.shape[-1])), "f32")
    return rewritten_rows(n, a, target, lambda batch: ScaleRows(a.storage, batch, n.cpu.vector_bytes // 4))


def scaled_panels(n: Lowering, b: View, taps: int, block: Block) -> Panels:
    """Return b[taps and channels, columns] in panels of scaled integers."""
    if b.storage not in FLOATS:
        raise NotTaken(f"operands in {b.storage}")
    by_rows = b.strides[-1] == 1 or b.shape[-1] == 1
    if not by_rows and b.strides[-2] != 1 and b.shape[-2] != 1:
        raise NotTaken("a right operand of scattered elements")
    channels, columns = b.shape
    depth, panels = channels // taps, block.panels(columns)
    target = n.temp((panels * panel_words(depth, taps, block.columns),), "f32")
    kernel = ScalePanels(block.columns, block.lanes, b.storage, by_rows)
    line = (b.strides[0] if by_rows else b.strides[1]) * b.item_bytes
    words = {"source": b, "target": target, "depth": depth, "taps": taps, "columns": columns, "line": line}
    moved = b.elements * b.item_bytes + target.elements * 4
    tasks = taps * runs_of(depth) if by_rows else panels
    n.job(kernel, words, tasks=tasks, written=[target], scratch=kernel.scratch_bytes, moved_bytes=moved)
    return Panels(target, block, channels, columns)


def multiply_scaled(n: Lowering, a: View, b: View, bias: View | None) -> None:
    """Add the jobs of the node's result: the product of a[batch..., rows, depth] and b[depth, columns], through the region."""
    shape = n.result_shape()
    region, views = whole_region(n, bias)
    panels = scaled_panels(n, b, 1, integer_block(n.cpu, prod(shape[:-1]), shape[-1]))
    left = scaled_rows(n, a)

    def kernel(block: Block, spread: tuple[bool, ...], dimensions: int) -> ScaledGemm:
        return ScaledGemm(block, DenseRows(), region, spread, dimensions, source=b.storage)

    submit_product(n, kernel, left.expanded((*shape[:-1], left.shape[-1])), panels, views, n.result(strided=True), source_words(b))


def convolve_scaled(n: Lowering, x: View, w: View, axes: tuple[WindowAxis, WindowAxis], bias: View | None) -> None:
    """Add the jobs of the node's result: x[n, h, w, c] convolved with the matrix of a filter [taps and channels, columns], through the
    region.
    """
    if all(axis.taps == 1 and axis.is_inside for axis in axes):
        for i, axis in enumerate(axes, 1):
            x = x.sliced(i, 0, axis.windows, axis.stride)
        multiply_scaled(n, x, w, bias)
        return
    result = result_of(n, *whole_region(n, bias))
    block = integer_block(n.cpu, prod(result.view.shape[:3]), w.shape[-1])
    panels = scaled_panels(n, w, axes[0].taps * axes[1].taps, block)
    kernel = ScaledGemm(panels.block, WindowRows(), result.region, result.spread, source=w.storage)
    submit_windows(n, kernel, Images(scaled_rows(n, x), *axes, x.shape[3]), panels, result, 1, source_words(w))


def source_words(b: View) -> dict[str, Word]:
    """Return words that tell where the elements of a right operand b[k, n] were before they were packed."""
    return {"source": b, "source_row": b.strides[0] * b.item_bytes, "source_column": b.strides[1] * b.item_bytes}

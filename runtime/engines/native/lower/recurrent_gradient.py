"""The gradient of a recurrent layer, back through time: a job a step, or two, which share kernels and the packed weights of the state."""

from __future__ import annotations

from dataclasses import replace

from ttc.dialects.nn.shapes.recurrent import outer_terms
from ttc.runtime.engines.native.graph.region import RegionBuilder
from ttc.runtime.engines.native.graph.storage import Storage
from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.jobs.copies import copy
from ttc.runtime.engines.native.jobs.job import NotTaken
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.jobs.products import FLOATS, Panels, multiplier_of, packed, span_of, submit_product
from ttc.runtime.engines.native.jobs.recurrent import MOST_STEPS, cut_step, row_strides
from ttc.runtime.engines.native.jobs.tile_choice import tile_parts
from ttc.runtime.engines.native.kernels.amx_block import ROWS
from ttc.runtime.engines.native.kernels.amx_pack import PANEL
from ttc.runtime.engines.native.kernels.amx_parts import DEPTH
from ttc.runtime.engines.native.kernels.gemm import Gemm
from ttc.runtime.engines.native.kernels.gemm_block import Block, Multiplier, narrow_block
from ttc.runtime.engines.native.kernels.gemm_rows import DenseRows
from ttc.runtime.engines.native.kernels.recurrent_gradient import RecurrentGradientStep
from ttc.runtime.engines.native.lower import LOWERINGS


@LOWERINGS.rule("recurrent_gradient")
def recurrent_gradient(n: Lowering) -> None:
    """Lower the gradient of one direction of a recurrent layer."""
    n.only("sources", "targets", "sums", "inner", "reverse")
    _Gradient(n).lower()


class _Gradient:
    """A gradient being lowered."""

    def __init__(self, n: Lowering) -> None:
        self.n = n
        sources, targets = (tuple(map(_int, _tuple(n.attr(name)))) for name in ("sources", "targets"))
        self.terms, self.sums, self.inner = tuple(zip(sources, targets, strict=True)), _int(n.attr("sums")), _int(n.attr("inner"))
        self.factors, self.r, self.dy, self.ends = (self._operand(i) for i in range(4))
        (self.steps, self.samples, self.size), self.states = self.dy.shape, self.ends.shape[0]
        self.within = outer_terms(sources, self.states, self.sums)
        self.outer = self.r.shape[0] - self.inner * self.size
        if self.steps > MOST_STEPS or not self.samples * self.size * self.outer:
            raise NotTaken(f"{self.steps} steps of {self.size} elements")

    def lower(self) -> None:
        """Add the jobs, and set the results."""
        n, outer = self.n, self.outer
        inner = self.r.shape[0] - outer
        narrow = all(multiplier_of(n, depth) == "bf16" for depth in (outer, inner))
        multiplier: Multiplier = "bf16" if narrow else "f32"
        of_sums, starts = self._result(0), self._result(1)
        block = narrow_block(n.cpu, self.samples, self.size)
        in_tiles = narrow and block.columns == PANEL and not outer % DEPTH and not inner % DEPTH
        in_tiles = in_tiles and block.lanes == ROWS and tile_parts(n, self.r, self.samples, self.size, outer) == 1
        block = replace(block, rows=ROWS) if in_tiles else block
        apart = of_sums.storage != multiplier or in_tiles
        panels = self._panels(0, outer, block, multiplier, in_tiles)
        inner_panels = self._panels(outer, inner, block, multiplier, in_tiles) if inner else None
        carried = n.temp(self.ends.shape, "f32")
        copy(n, self.ends, carried)
        memory = -(-self.samples // ROWS) * ROWS, self.r.shape[0]
        held = [n.temp(memory, multiplier).sliced(0, 0, self.samples) for _ in range(2 if apart else 0)]
        first, last = (replace(kernel, in_tiles=in_tiles) for kernel in self._kernels(block, of_sums.storage, multiplier, apart))
        left: View | None = None
        for number in range(self.steps):
            t = number if n.attr("reverse", False) else self.steps - 1 - number
            target = of_sums.at(t)
            kept = held[number % 2] if apart else target
            self._step(first, panels, (left, carried, target, kept), t)
            if inner_panels is not None:
                self._step(last, inner_panels, (kept.sliced(1, outer, inner), carried, target, kept), t)
            left = kept.sliced(1, 0, outer)
        assert left is not None
        self._starts(None if in_tiles else panels, left, carried, starts)

    def _panels(self, first: int, rows: int, block: Block, multiplier: Multiplier, in_tiles: bool) -> Panels:
        """Return so many rows of r, packed as steps multiply them."""
        part = self.r.sliced(0, first, rows)
        if not in_tiles:
            return packed(self.n, part, block, multiplier)
        from ttc.runtime.engines.native.jobs.amx_products import tile_panels

        return Panels(tile_panels(self.n, part, 1, 1).view, block, rows, self.size)

    def _kernels(
        self, block: Block, storage: Storage, multiplier: Multiplier, apart: bool
    ) -> tuple[RecurrentGradientStep, RecurrentGradientStep]:
        """Return the kernels of a step before its inner product, and from there on.

        storage: of the cotangents of sums.  apart: whether what is multiplied is kept beside them.
        """
        outer, inner = self.terms[: self.within], tuple((0, target) for _, target in self.terms[self.within :])
        late = tuple(j for j in range(self.sums) if (0, 2 * self.states + j) in inner)
        early = tuple(j for j in range(self.sums) if j not in late)
        multiplied = self.r.shape[0] // self.size if apart else 0
        types = self.factors.storage, self.dy.storage, storage
        first = RecurrentGradientStep(block, *types, outer, self.states, early, multiplied, False, multiplier, span_of(self.n))
        return first, replace(first, terms=inner, outputs=late, inner=True)

    def _step(self, kernel: RecurrentGradientStep, panels: Panels, views: tuple[View | None, View, View, View], t: int) -> None:
        """Add a job of one step.  views: sums that it multiplies, what is carried, sums of this step as the result and as multiplied."""
        left, carried, target, kept = views
        block, n = kernel.block, self.n
        terms = (self.within, len(self.terms) - self.within) if kernel.inner else (0, self.within)
        factors, dy = self.factors.at(t).sliced(1, *(number * self.size for number in terms)), self.dy.at(t)
        panel_count, row_blocks = block.panels(self.size), -(-self.samples // block.rows)
        flops = 2 * self.samples * panels.depth * self.size
        chunks, tasks, chunk = cut_step(panel_count, row_blocks, flops)
        named = {"left": target if left is None else left, "factors": factors, "dy": dy, "sums": target, "kept": kept}
        words = {**named, "weights": panels.view, "carried": carried, **row_strides(named)}
        n.job(
            kernel,
            {
                **words,
                "rows": self.samples,
                "columns": self.size,
                "depth": 0 if left is None else panels.depth // (2 if kernel.multiplier == "bf16" else 1),
                "panels": panel_count,
                "row_blocks": row_blocks,
                "row_chunks": chunks,
            },
            tasks=tasks,
            written=[carried, target, *([kept] if kernel.multiplied else [])],
            chunk=chunk,
            scratch=kernel.scratch_bytes,
            flops=flops,
            moved_bytes=panels.element_bytes + sum(x.distinct_bytes for x in (factors, dy, target)),
        )

    def _starts(self, panels: Panels | None, left: View, carried: View, starts: View) -> None:
        """Add the jobs of cotangents of the first states.  panels: of the weights; None: they are multiplied in tiles."""
        n = self.n
        steps = RegionBuilder(["f32", "f32"])
        region = steps.region(steps("add", 0, 1))
        first = n.temp((self.samples, self.size), "f32")
        if panels is None:
            from ttc.runtime.engines.native.jobs.amx_products import product_in_tiles

            product_in_tiles(n, left, self.r.sliced(0, 0, self.outer), region, [carried.at(0)], first, 1)
        else:
            multiplier = panels.multiplier

            def kernel(block: Block, spread: tuple[bool, ...], dimensions: int) -> Gemm:
                return Gemm(block, DenseRows(), region, spread, dimensions, multiplier, span_of(n))

            submit_product(n, kernel, left, panels, [carried.at(0)], first)
        for i in range(self.states):
            copy(n, first if i == 0 else carried.at(i), starts.at(i))

    def _operand(self, index: int) -> View:
        """Return an operand whose rows can be read."""
        view = self.n.operand(index)
        if view.storage not in FLOATS:
            raise NotTaken(f"gradients of recurrent layers of {view.storage}")
        return view if view.strides[-1] == 1 or view.shape[-1] == 1 else self.n.densified(view)

    def _result(self, index: int) -> View:
        view = self.n.result(index)
        if view.storage not in FLOATS:
            raise NotTaken(f"gradients of recurrent layers in {view.storage}")
        return view


def _int(value: object) -> int:
    if not isinstance(value, int):
        raise NotTaken("no terms")
    return value


def _tuple(value: object) -> tuple[object, ...]:
    if not isinstance(value, tuple):
        raise NotTaken("no terms")
    return value

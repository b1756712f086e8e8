"""The gradient of a recurrent layer, back through time: a job a step, which share one kernel and the packed weights of the state."""

from __future__ import annotations

from ttc.runtime.engines.native.graph.region import RegionBuilder
from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.jobs.copies import copy
from ttc.runtime.engines.native.jobs.job import NotTaken
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.jobs.products import FLOATS, Panels, multiplier_of, packed, span_of, submit_product
from ttc.runtime.engines.native.jobs.recurrent import MOST_STEPS, cut_step, row_strides
from ttc.runtime.engines.native.kernels.gemm import Gemm
from ttc.runtime.engines.native.kernels.gemm_block import Block, narrow_block
from ttc.runtime.engines.native.kernels.gemm_rows import DenseRows
from ttc.runtime.engines.native.kernels.recurrent_gradient import RecurrentGradientStep
from ttc.runtime.engines.native.lower import LOWERINGS


@LOWERINGS.rule("recurrent_gradient")
def recurrent_gradient(n: Lowering) -> None:
    """Lower the gradient of one direction of a recurrent layer."""
    n.only("sources", "targets", "sums", "reverse")
    _Gradient(n).lower()


class _Gradient:
    """A gradient being lowered."""

    def __init__(self, n: Lowering) -> None:
        self.n = n
        sources, targets, sums = n.attr("sources", ()), n.attr("targets", ()), n.attr("sums", 0)
        if not (isinstance(sources, tuple) and isinstance(targets, tuple) and isinstance(sums, int)):
            raise NotTaken("no terms")
        self.terms, self.sums = tuple(zip(map(_int, sources), map(_int, targets), strict=True)), sums
        self.factors, self.r, self.dy, self.ends = (self._operand(i) for i in range(4))
        (self.steps, self.samples, self.size), self.states = self.dy.shape, self.ends.shape[0]
        if self.steps > MOST_STEPS or not self.samples * self.size * self.r.shape[0]:
            raise NotTaken(f"{self.steps} steps of {self.size} elements")

    def lower(self) -> None:
        """Add the jobs, and set the results."""
        n, (depth, size) = self.n, self.r.shape
        multiplier = multiplier_of(n, depth)
        of_sums, starts = self._result(0), self._result(1)
        block = narrow_block(n.cpu, self.samples, size)
        panels = packed(n, self.r, block, multiplier)
        carried = n.temp(self.ends.shape, "f32")
        copy(n, self.ends, carried)
        apart = of_sums.storage != multiplier
        held = [n.temp((self.samples, depth), "f32" if multiplier == "f32" else "bf16") for _ in range(2 if apart else 0)]
        kernel = RecurrentGradientStep(
            block,
            self.factors.storage,
            self.dy.storage,
            of_sums.storage,
            self.terms,
            self.states,
            self.sums,
            depth // size if apart else 0,
            multiplier,
            span_of(n),
        )
        left: View | None = None
        for number in range(self.steps):
            t = number if n.attr("reverse", False) else self.steps - 1 - number
            target = of_sums.at(t)
            kept = held[number % 2] if apart else target
            self._step(kernel, panels, (left, carried, target, kept), t)
            left = kept if apart else target.sliced(1, 0, depth)
        assert left is not None
        self._starts(panels, left, carried, starts)

    def _step(self, kernel: RecurrentGradientStep, panels: Panels, views: tuple[View | None, View, View, View], t: int) -> None:
        """Add the job of one step.  views: sums of the later step, what is carried, sums of this one as the result and as multiplied."""
        left, carried, target, kept = views
        block, n = kernel.block, self.n
        factors, dy = self.factors.at(t), self.dy.at(t)
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

    def _starts(self, panels: Panels, left: View, carried: View, starts: View) -> None:
        """Add the jobs of cotangents of the first states."""
        n = self.n
        steps = RegionBuilder(["f32", "f32"])
        region = steps.region(steps("add", 0, 1))

        def kernel(block: Block, spread: tuple[bool, ...], dimensions: int) -> Gemm:
            return Gemm(block, DenseRows(), region, spread, dimensions, "f32" if panels.view.storage == "f32" else "bf16", span_of(n))

        first = n.temp((self.samples, self.size), "f32")
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

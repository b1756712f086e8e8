"""The step that lets products pack their right operand themselves, if it is packed in each run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace

from ttc.runtime.engines.native.graph.tensors import PlanBuffer, View
from ttc.runtime.engines.native.jobs.job import Job
from ttc.runtime.engines.native.kernels.gemm import Gemm
from ttc.runtime.engines.native.kernels.packing import PackColumns, PackRows
from ttc.runtime.engines.native.kernels.packing_gemm import PackingGemm
from ttc.runtime.engines.native.kernels.words import Word, words_of
from ttc.runtime.engines.native.planning.python_step import PythonStep
from ttc.runtime.engines.native.prepare.rewriter import Allow, always

LEAST_BYTES = 256 << 10
"""The least bytes of a packed right operand that is packed inside a job: smaller ones stay in caches between the two jobs, and are packed
once for all rows.
"""
LEAST_PANELS = 16
"""The least panels, and so tasks, that keep threads busy: each panel is packed and multiplied by one thread."""
MOST_PANELS = 96
"""The most tasks, one for each panel."""
MOST_PANEL_BYTES = 256 << 10
"""The most bytes of a panel that stays in the second-level cache while it is multiplied."""


def with_packing_inside(steps: Sequence[Job | PythonStep], allow: Allow = always) -> list[Job | PythonStep]:
    """Return the steps of a run in which products pack their right operands, without the jobs that did.

    A product does so if it alone reads what is packed, if that is large, and if there are panels enough for all threads.
    """
    readers = Counter(buffer for step in steps for buffer in _reads(step))
    packing = {
        job.written[0].buffer: job
        for job in steps
        if isinstance(job, Job) and isinstance(job.kernel, PackRows | PackColumns) and readers[job.written[0].buffer] == 1
    }
    found: list[Job | PythonStep] = []
    gone: set[int] = set()
    for step in steps:
        kernel = step.kernel if isinstance(step, Job) else None
        joined = _joined(step, kernel, packing) if isinstance(step, Job) and type(kernel) is Gemm else None
        if joined is not None and allow("pack-inside", joined[0].node):
            job, packed = joined
            gone.add(id(packed))
            step = job
        found.append(step)
    return [step for step in found if id(step) not in gone]


def _reads(step: Job | PythonStep) -> list[PlanBuffer]:
    views = step.read if isinstance(step, Job) else [view for view in step.sources if view is not None]
    return [view.buffer for view in views]


def _joined(job: Job, product: Gemm, packing: dict[PlanBuffer, Job]) -> tuple[Job, Job] | None:
    """Return the product that packs its right operand, and the job that does so for it now; None where that is better."""
    words: dict[str, Word] = dict(zip(product.names, job.words, strict=True))
    panels = words["b"]
    packed = packing.get(panels.buffer) if isinstance(panels, View) else None
    if packed is None or not isinstance(packed.kernel, PackRows | PackColumns):
        return None
    given = dict(zip(packed.kernel.names, packed.words, strict=True))
    count, depth = words["panels"], words["depth"]
    if not isinstance(count, int) or not isinstance(depth, int) or packed.kernel.batch or job.tasks != _tasks(words):
        return None
    own = {item.name: getattr(product, item.name) for item in fields(product)}
    kernel = PackingGemm(**own, packing=packed.kernel)
    panel_bytes = kernel.panel_bytes(depth)
    few = count < LEAST_PANELS or panel_bytes > MOST_PANEL_BYTES or count * panel_bytes <= LEAST_BYTES
    if few or words["taps"] != 1 or kernel.multiplier != "f32":
        return None
    tasks = min(count, MOST_PANELS)
    words |= {"b": given["source"], "line": given["line"], "row_chunks": 1, "panel_chunks": tasks, "panels_outside": 1}
    scratch = kernel.scratch_bytes(depth, 1)
    return replace(job, kernel=kernel, words=words_of(kernel.names, words), tasks=tasks, chunk=1, scratch=scratch), packed


def _tasks(words: Mapping[str, Word]) -> Word:
    """Tasks of one element of the batch."""
    rows, panels = words["row_chunks"], words["panel_chunks"]
    return rows * panels if isinstance(rows, int) and isinstance(panels, int) else 0

"""The step that makes copies of a tensor in another order only once for steps soon after each other: panels of products, and rows in parts
or as scaled integers, among them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Sequence

from ttc.runtime.engines.native.graph.tensors import Place, PlanBuffer
from ttc.runtime.engines.native.jobs.job import Job
from ttc.runtime.engines.native.kernels.movement import Movement
from ttc.runtime.engines.native.kernels.operands import RowKernel
from ttc.runtime.engines.native.kernels.packing import Packing
from ttc.runtime.engines.native.planning.steps import Step, buffers_of
from ttc.runtime.engines.native.prepare.rewriter import Allow, always
from ttc.runtime.engines.native.prepare.shared_constants import identity_of, reading_instead

MOST_STEPS = 16
"""The most steps from a reader of a copy to the next: memory of copies that are kept for long is not free for others."""


def share_copies(steps: Sequence[Step], named: Collection[PlanBuffer], allow: Allow = always) -> list[Step]:
    """Return the steps without copies that another step has just made.

    Args:
        steps: of a run.
        named: buffers of values of the graph, which the plan names elsewhere than in jobs: they stay as they are.
    """
    writers = Counter(buffer for step in steps for buffer in dict.fromkeys(buffers_of(step)[1]))
    fixed = {*named, *(buffer for step in steps if not isinstance(step, Job) for half in buffers_of(step) for buffer in half)}
    known: dict[Hashable, tuple[int, int, Job]] = {}
    instead: dict[PlanBuffer, PlanBuffer] = {}
    kept: list[Step] = []
    changed: dict[PlanBuffer, int] = {}
    for number, step in enumerate(reading_instead(instead, step) if isinstance(step, Job) else step for step in steps):
        sources, targets = buffers_of(step)
        if isinstance(step, Job) and _is_copy(step) and all(b.place is Place.ARENA and writers[b] == 1 for b in targets):
            key = (identity_of(step), step.node.conditions)
            made, used, same = known.get(key, (-1, -MOST_STEPS - 1, step))
            unchanged = all(changed.get(buffer, -1) < made for buffer in sources)
            if number - used <= MOST_STEPS and unchanged and fixed.isdisjoint(targets) and allow("share", step.node):
                instead |= dict(zip(targets, buffers_of(same)[1], strict=True))
                known[key] = made, number, same
                continue
            known[key] = number, number, step
        changed |= dict.fromkeys(targets, number)
        kept.append(step)
    return kept


def _is_copy(job: Job) -> bool:
    return isinstance(job.kernel, Movement | Packing | RowKernel)

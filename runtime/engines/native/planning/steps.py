"""Steps of a plan: jobs of native code, and steps in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from ttc.runtime.engines.native.graph.tensors import STATUS, PlanBuffer
from ttc.runtime.engines.native.planning.python_step import PythonStep

if TYPE_CHECKING:
    from ttc.runtime.engines.native.jobs.job import Job

Step: TypeAlias = "Job | PythonStep"


def buffers_of(step: Step) -> tuple[list[PlanBuffer], list[PlanBuffer]]:
    """Return the buffers that a step reads, and those that it writes."""
    if isinstance(step, PythonStep):
        return [v.buffer for v in step.sources if v is not None], [v.buffer for v in step.targets if v is not None]
    return [view.buffer for view in step.read], [view.buffer for view in step.written]


def can_fail(step: Step) -> bool:
    """Return whether a run may end with this step, as data is out of range or not as announced."""
    return isinstance(step, PythonStep) or STATUS.buffer in buffers_of(step)[1]

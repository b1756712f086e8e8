"""PyTorch's schedules of pipelines, by the names that `ttc.pipeline` has for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import torch
from torch.distributed.pipelining import PipelineStage, schedules
from torch.distributed.pipelining.schedules import _ComputationType

from ttc.dialects.core.errors import Error, nearest

SCHEDULES: dict[str, type[Any]] = {
    "gpipe": schedules.ScheduleGPipe,
    "1f1b": schedules.Schedule1F1B,
    "interleaved": schedules.ScheduleInterleaved1F1B,
}

_BACKWARD = frozenset((_ComputationType.FULL_BACKWARD, _ComputationType.SEND_B, _ComputationType.RECV_B, _ComputationType.REDUCE_GRAD))
"""What a schedule has no use for where nothing goes backward."""


def check_schedule(name: str, stages: int, pipe: int, microbatches: int) -> None:
    """Raises E0101 for a schedule that there is not, and for stages or microbatches that it cannot have in so many processes."""
    if name not in SCHEDULES:
        raise Error("E0101", f"there is no schedule '{str(name)[:80]}'", hint=nearest(str(name), SCHEDULES))
    if stages % pipe or not stages:
        raise Error("E0101", f"{stages} stages do not divide among {pipe} processes")
    if (stages > pipe) != (name == "interleaved"):
        raise Error("E0101", f"schedule {name} does not fit {stages} stages in {pipe} processes", hint="interleaved has several each")
    rounds = max(1, microbatches // pipe)
    if name == "interleaved" and microbatches % rounds:
        what = f"schedule interleaved cannot have {microbatches} microbatches in {pipe} processes"
        raise Error("E0101", what, hint=f"{microbatches // pipe * pipe} or {(microbatches // pipe + 1) * pipe}")


def made_schedule(
    name: str, stages: Sequence[PipelineStage], count: int, microbatches: int, loss: Callable[..., torch.Tensor] | None
) -> Any:
    """Return a schedule of PyTorch's, which divides gradients by nothing.

    Args:
        stages: of this process.
        count: of stages in all processes.
        loss: of a microbatch; None: there is no backward pass.
    """
    if name == "interleaved":
        kind = schedules.ScheduleInterleaved1F1B if loss is not None else _InterleavedForward
        return kind(list(stages), microbatches, loss_fn=loss, scale_grads=False)
    # with fewer microbatches than stages all go forward before the first comes back: that is gpipe, and PyTorch's 1f1b refuses it
    few = name == "1f1b" and microbatches < count
    return SCHEDULES["gpipe" if few else name](stages[0], microbatches, loss_fn=loss, scale_grads=False)


class _InterleavedForward(schedules.ScheduleInterleaved1F1B):
    """The forward passes of PyTorch's schedule, whose own `eval` runs into backward passes that there are not."""

    def _prepare_schedule_with_comms(self, actions: Any, format: Literal["compute_only", "compute_comms"] = "compute_only") -> None:
        super()._prepare_schedule_with_comms(actions, format)
        order = self.pipeline_order_with_comms
        self.pipeline_order_with_comms = {rank: [a for a in own if a.computation_type not in _BACKWARD] for rank, own in order.items()}

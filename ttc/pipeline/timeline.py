"""A simulator of a pipeline: when each device is busy under a schedule, and which share of its time it waits."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from ttc.dialects.core.errors import Error, warn
from ttc.dialects.core.records import record
from ttc.pipeline.orders import Order, StageWork, in_one_thread, most_held, stages_of


@record(slots=True)
class WorkSpan:
    """A work with the time at which it runs.

    Args:
        device: that does it, counted from 0.
        start, end: in the unit of the times that `simulate` was given.
    """

    device: int
    work: StageWork
    start: float
    end: float


@record(slots=True)
class Timeline:
    """When each device of a pipeline is busy.

    Args:
        spans: of all works, as they start.
        busy: time that each device works.
        length: until the last device is done.
        held: microbatches that each stage holds at most between their forward and their backward pass.
    """

    spans: tuple[WorkSpan, ...]
    busy: tuple[float, ...]
    length: float
    held: tuple[int, ...]

    @property
    def idle(self) -> tuple[float, ...]:
        """Return the time that each device waits."""
        return tuple(self.length - busy for busy in self.busy)

    @property
    def bubble(self) -> float:
        """Return the share of the time of all devices in which they wait, from 0 to 1."""
        total = self.length * len(self.busy)
        return 1 - sum(self.busy) / total if total else 0.0

    def text(self, width: int = 72) -> str:
        """Draw a line a device, each character a moment: a digit for a forward pass, a letter for a backward pass, a dot where it waits."""
        rows = [["."] * width for _ in self.busy]
        scale = width / self.length if self.length else 0.0
        for span in self.spans:
            first, last = round(span.start * scale), max(round(span.end * scale), round(span.start * scale) + 1)
            mark = _mark(span.work)
            rows[span.device][first:last] = [mark] * (min(last, width) - min(first, width))
        return "\n".join("".join(row) for row in rows)


def _mark(work: StageWork) -> str:
    return chr(ord("a") + work.microbatch % 26) if work.backward else str(work.microbatch % 10)


def simulate(order: Order, forward: Sequence[float], backward: Sequence[float] | None = None, transfer: float = 0.0) -> Timeline:
    """Work out when devices with known times do each work of an order.

    Args:
        forward, backward: time of each stage for a microbatch; backward None: twice that of the forward pass.
        transfer: time between the end of a work and the start of one on another device that needs it.
    Raises: E0101 unless there is a finite time of at least 0 for each stage; E0804 for an order that never ends.
    """
    back = [2 * time for time in forward] if backward is None else list(backward)
    stages = stages_of(order)
    times = [*forward, *back, transfer]
    if len(forward) < stages or len(back) < stages or not all(isfinite(time) and time >= 0 for time in times):
        raise Error("E0101", f"each of {stages} stages takes a finite time of at least 0 forward, and one backward")
    home = {work: device for device, works in enumerate(order) for work in works}
    end: dict[StageWork, float] = {}
    free, busy = [0.0] * len(order), [0.0] * len(order)
    spans: list[WorkSpan] = []
    for work in in_one_thread(order):
        device = home[work]
        ready = [end[need] + (transfer if home[need] != device else 0.0) for need in work.needs(stages)]
        start, time = max([free[device], *ready]), (back if work.backward else forward)[work.stage]
        end[work] = free[device] = start + time
        busy[device] += time
        spans.append(WorkSpan(device, work, start, start + time))
    spans.sort(key=lambda span: (span.start, span.device))
    return Timeline(tuple(spans), tuple(busy), max(free, default=0.0), most_held(order))


def check_filled(order: Order, *, strict: bool) -> None:
    """Warn where devices wait most of the time because there are fewer microbatches than stages.

    Args:   strict: whether it is an error.
    Raises: E0101, if it is strict.
    """
    stages = stages_of(order)
    microbatches = len({work.microbatch for works in order for work in works})
    if microbatches >= stages or len(order) == 1:
        return
    share = simulate(order, [1.0] * stages).bubble
    what = "1 microbatch does" if microbatches == 1 else f"{microbatches} microbatches do"
    message = f"{what} not fill {stages} stages: devices of equal speed wait {share:.0%} of the time"
    if strict:
        raise Error("E0101", message, hint=f"take {stages} microbatches at least, or strict=False")
    warn(message)

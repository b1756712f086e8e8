"""Schedules of a pipeline in training: which stage works forward or backward on which microbatch, in what order; pure functions.

An order holds what each device does, one after another.  Whatever the schedule, a stage works on microbatches in ascending order, forward
and backward, so that sums of gradients are the same numbers under all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.records import record


@record(slots=True)
class StageWork:
    """What a device does at a time: one microbatch through one stage.

    Args:
        stage: counted from 0, in the order of the forward pass.
        backward: whether the gradients go back; else the activations go forward.
        microbatch: counted from 0.
    """

    stage: int
    backward: bool
    microbatch: int

    def needs(self, stages: int) -> tuple[StageWork, ...]:
        """Return the works that must be done first: of the stage before, or behind it on the way back, and the stage's own forward pass."""
        before = self.stage + 1 if self.backward else self.stage - 1
        found = (StageWork(before, self.backward, self.microbatch),) if 0 <= before < stages else ()
        return (*found, StageWork(self.stage, False, self.microbatch)) if self.backward else found

    def __str__(self) -> str:
        return f"{'backward' if self.backward else 'forward'} of microbatch {self.microbatch} in stage {self.stage}"


Order: TypeAlias = "tuple[tuple[StageWork, ...], ...]"
"""The works of each device, one after another."""


def _sequential(devices: int, microbatches: int, chunks: int) -> Order:
    """Return one microbatch at a time, through all stages and back."""
    return tuple(
        tuple(
            StageWork(device + chunk * devices, backward, number)
            for number in range(microbatches)
            for backward, order in ((False, range(chunks)), (True, reversed(range(chunks))))
            for chunk in order
        )
        for device in range(devices)
    )


def _gpipe(devices: int, microbatches: int, chunks: int) -> Order:
    """Return all microbatches forward, then all of them back."""
    return tuple(
        tuple(
            StageWork(device + chunk * devices, backward, number)
            for backward, order in ((False, range(chunks)), (True, range(chunks - 1, -1, -1)))
            for chunk in order
            for number in range(microbatches)
        )
        for device in range(devices)
    )


def _one_forward_one_backward(devices: int, microbatches: int, chunks: int) -> Order:
    """As few microbatches are on their way as keep all devices busy: after those, each forward pass is followed by a backward pass."""
    return tuple(_alternating(_passes(device, devices, microbatches, 1), devices - device - 1) for device in range(devices))


def _interleaved(devices: int, microbatches: int, chunks: int) -> Order:
    """One forward, one backward, where each device has several stages that are not neighbours; they take turns of so many microbatches."""
    found: list[tuple[StageWork, ...]] = []
    for device in range(devices):
        warm_up = 2 * (devices - device - 1) + (chunks - 1) * devices
        found.append(_alternating(_passes(device, devices, microbatches, chunks), warm_up))
    return tuple(found)


def _passes(device: int, devices: int, microbatches: int, chunks: int) -> tuple[list[StageWork], list[StageWork]]:
    """Return the forward and the backward passes of a device: its stages in turn, each for as many microbatches as there are devices."""
    turns = [range(first, min(first + devices, microbatches)) for first in range(0, microbatches, devices)]
    forward = [StageWork(device + chunk * devices, False, number) for turn in turns for chunk in range(chunks) for number in turn]
    backward = [StageWork(device + chunk * devices, True, number) for turn in turns for chunk in reversed(range(chunks)) for number in turn]
    return forward, backward


def _alternating(passes: tuple[list[StageWork], list[StageWork]], warm_up: int) -> tuple[StageWork, ...]:
    """So many forward passes, then one forward and one backward in turn, then the backward passes that are left."""
    forward, backward = passes
    warm_up = min(warm_up, len(forward))
    pairs = zip(forward[warm_up:], backward, strict=False)
    return (*forward[:warm_up], *(work for pair in pairs for work in pair), *backward[len(forward) - warm_up :])


SCHEDULES: dict[str, Callable[[int, int, int], Order]] = {
    "sequential": _sequential,
    "gpipe": _gpipe,
    "1f1b": _one_forward_one_backward,
    "interleaved": _interleaved,
}
"""Schedules by the names that users give; each takes devices, microbatches, and stages of a device."""


def order_of(schedule: str, devices: int, microbatches: int, chunks: int = 1) -> Order:
    """Return the order of a schedule.

    Args:
        schedule: sequential, gpipe, 1f1b or interleaved.
        devices: of the pipeline.
        microbatches: between two updates.
        chunks: stages of each device; device d has the stages d, d + devices, d + 2 * devices, ...
    Raises: E0101 for an unknown schedule, numbers below 1, several stages a device under 1f1b, and under `interleaved` microbatches that
        are no multiple of the devices.
    """
    if schedule not in SCHEDULES:
        raise Error("E0101", f"there is no schedule '{schedule[:80]}'", hint=nearest(schedule, SCHEDULES))
    for name, count in (("devices", devices), ("microbatches", microbatches), ("stages of a device", chunks)):
        if count < 1:
            raise Error("E0101", f"a pipeline has at least 1 of {name}, not {count}")
    if schedule == "1f1b" and chunks > 1:
        raise Error("E0101", f"schedule 1f1b has one stage a device, not {chunks}", hint="take schedule interleaved")
    if schedule == "interleaved" and chunks > 1 and microbatches % devices:
        near = max(microbatches // devices, 1) * devices
        message = f"schedule interleaved takes a multiple of {devices} microbatches, as there are {devices} devices, not {microbatches}"
        raise Error("E0101", message, hint=f"take {near} or {near + devices}")
    return SCHEDULES[schedule](devices, microbatches, chunks)


def forward_only(devices: int, microbatches: int, chunks: int = 1) -> Order:
    """Return the order of inference, in which nothing goes back."""
    return tuple(tuple(work for work in works if not work.backward) for works in _gpipe(devices, microbatches, chunks))


def in_one_thread(order: Order) -> Iterator[StageWork]:
    """Give the works of all devices one after another, each as early as what it needs allows; devices take turns.

    What the order does not hold, such as forward passes where microbatches go back alone, counts as done.
    Raises: E0804 if the order never ends, as works wait for each other, with the first of them.
    """
    left = {work for works in order for work in works}
    stages = stages_of(order)
    at = [0] * len(order)
    while any(at[device] < len(works) for device, works in enumerate(order)):
        moved = False
        for device, works in enumerate(order):
            if at[device] < len(works) and left.isdisjoint(works[at[device]].needs(stages)):
                work = works[at[device]]
                yield work
                left.discard(work)
                at[device] += 1
                moved = True
        if not moved:
            raise _stuck(order, at, left, stages)


def stages_of(order: Order) -> int:
    """Count the stages that an order has works of."""
    return max((work.stage for works in order for work in works), default=-1) + 1


def most_held(order: Order) -> tuple[int, ...]:
    """Return the most microbatches that each stage holds between their forward and their backward pass: the room that a stash needs."""
    most, held = [0] * stages_of(order), [0] * stages_of(order)
    for works in order:
        for work in works:
            held[work.stage] += -1 if work.backward else 1
            most[work.stage] = max(most[work.stage], held[work.stage])
    return tuple(most)


def _stuck(order: Order, at: Sequence[int], left: set[StageWork], stages: int) -> Error:
    works = [order[device][place] for device, place in enumerate(at) if place < len(order[device])]
    work = works[0]
    lacking = next(need for need in work.needs(stages) if need in left)
    return Error("E0804", f"{work} waits for {lacking}, which is never done")

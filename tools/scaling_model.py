"""What a training step takes in many processes, worked out from times measured in few: pipeline, replicas, shards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import checkout  # noqa: F401  # pyright: ignore[reportUnusedImport]
from ttc.pipeline.orders import order_of
from ttc.pipeline.timeline import simulate

ELEMENT_BYTES = 4
STATE_BYTES = 4 * ELEMENT_BYTES
"""The bytes of a parameter, its gradient and its two moments of Adam."""


@dataclass(frozen=True)
class Link:
    """A connection between two processes.

    Args:
        latency: seconds until the first byte is there.
        rate: bytes a second.
    """

    latency: float
    rate: float

    def seconds(self, size_bytes: float) -> float:
        """Return the seconds of one message."""
        return self.latency + size_bytes / self.rate

    def ring(self, processes: int, size_bytes: float) -> float:
        """Return the seconds in which processes in a ring gather, or scatter, a tensor of which each holds its share."""
        return (processes - 1) * self.seconds(size_bytes / processes)


@dataclass(frozen=True)
class Measured:
    """The times of one process, and what passes between two.

    Args:
        forward, backward: seconds of a block of the model for a microbatch.
        update: seconds of the optimizer for a block.
        step: seconds of a step that depend on no block: the loss, schedules, bookkeeping.
        parameters: of a block.
        activation_bytes: that a microbatch carries from one block to the next.
    """

    forward: float
    backward: float
    update: float
    step: float
    parameters: int
    activation_bytes: int


@dataclass(frozen=True)
class Layout:
    """How processes divide a model and its rows.

    Args:
        pipe: stages of the pipeline.
        data: replicas of it, which have rows of their own.
        shared: whether replicas share parameters, gradients and states of the optimizer (stage 3), or each has all.
    """

    pipe: int
    data: int
    shared: bool

    @property
    def processes(self) -> int:
        """How many processes there are."""
        return self.pipe * self.data

    def __str__(self) -> str:
        stages = f"{self.pipe} stages" if self.pipe > 1 else ""
        replicas = f"{self.data} {'shards' if self.shared else 'replicas'}" if self.data > 1 else ""
        return " x ".join(part for part in (stages, replicas) if part) or "one process"


@dataclass(frozen=True)
class Predicted:
    """The time of a step in many processes, by its parts.

    Args:
        seconds: of the step.
        waiting: share of that in which a stage waits for others, in the mean.
        exchanging: share of it for gradients and parameters that replicas exchange.
        state_bytes: of parameters, gradients and states of the optimizer in the process that has most.
    """

    seconds: float
    waiting: float
    exchanging: float
    state_bytes: float


def predicted(measured: Measured, link: Link, layout: Layout, blocks: int, microbatches: int, cores: int | None = None) -> Predicted:
    """Work out a step.

    Args:
        blocks: of the model, divided over stages as evenly as they can be.
        microbatches: of all replicas together.
        cores: that all processes share; None: each has one.
    """
    stages = [blocks // layout.pipe + (stage < blocks % layout.pipe) for stage in range(layout.pipe)]
    own = microbatches // layout.data
    share = layout.data if layout.shared else 1
    sizes = [count * measured.parameters * ELEMENT_BYTES for count in stages]
    gathers = [link.ring(share, size) for size in sizes]
    forward = [count * measured.forward for count in stages]
    backward = [count * measured.backward + gather for count, gather in zip(stages, gathers, strict=True)]
    transfer = link.seconds(measured.activation_bytes)
    line = simulate(order_of("1f1b" if own >= layout.pipe else "gpipe", layout.pipe, own), forward, backward, transfer)
    # shares are scattered once, and gathered for the first forward pass; whole gradients are scattered and gathered
    after = max(2 * link.ring(layout.data, size) for size in sizes)
    update = max(stages) * measured.update / share
    work = microbatches * blocks * (measured.forward + measured.backward) + layout.data * blocks * measured.update / share
    busy = 0.0 if cores is None else work / cores
    seconds = max(line.length + after + update, busy) + measured.step
    exchanged = after + own * max(gathers)
    held = max(stages) * measured.parameters * STATE_BYTES / share
    return Predicted(seconds, line.bubble * line.length / seconds, exchanged / seconds, held)


def layouts(processes: int, blocks: int, microbatches: int) -> Iterator[Layout]:
    """Give all layouts of so many processes whose stages have a block at least, and whose replicas a microbatch."""
    for pipe in range(1, min(processes, blocks) + 1):
        data = processes // pipe
        if processes % pipe or microbatches % data:
            continue
        yield Layout(pipe, data, shared=False)
        if data > 1:
            yield Layout(pipe, data, shared=True)

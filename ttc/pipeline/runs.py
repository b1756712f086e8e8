"""One run of an order of work over the stages of a pipeline: what passes between them, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.pipeline.board import Board
from ttc.pipeline.losses import Head, LossValue
from ttc.pipeline.orders import StageWork
from ttc.pipeline.queues import Queue, Sink, put_into
from ttc.pipeline.stage import Arrays, Cotangents, Stage

LINK_ROOM = 2
"""The most microbatches that wait between two stages that run concurrently; with one thread any number may."""


class Links:
    """Queues between neighbouring stages, forward and backward.

    Args:
        names: of the stages.
        room: of each queue.
        forward, backward: queues of the user's that get what passes from each stage to the next, and back; None: none.
    """

    def __init__(
        self, board: Board, names: Sequence[str], room: int | None, forward: Sequence[Sink | None], backward: Sequence[Sink | None]
    ) -> None:
        self._board = board
        pairs = list(zip(names, names[1:], strict=False))
        self.forward: list[Queue[Arrays]] = [Queue(board, f"{a} to {b}", room) for a, b in pairs]
        self.backward: list[Queue[Cotangents]] = [Queue(board, f"{b} back to {a}", room) for a, b in pairs]
        self._watching = {False: list(forward), True: list(backward)}
        for what, sinks in (("forward", forward), ("backward", backward)):
            if len(sinks) > len(pairs):
                raise Error("E0101", f"there are {len(sinks)} queues for what passes {what}, and {len(pairs)} pairs of stages")

    def give(self, stage: int, values: Any, *, backward: bool) -> None:
        """Pass what a stage has computed on to its neighbour, and to the user's queue."""
        place = stage - 1 if backward else stage
        (self.backward if backward else self.forward)[place].put(values)
        sinks = self._watching[backward]
        if place < len(sinks) and (sink := sinks[place]) is not None:
            put_into(sink, values, self._board, f"{'backward' if backward else 'forward'} {place}")

    def clear(self) -> None:
        """Drop what waits between stages."""
        for queue in (*self.forward, *self.backward):
            queue.get_all()


@record(eq=False)
class RunEnds:
    """What a run takes in, and what it gives.

    Args:
        inputs, targets: microbatches that were pushed.
        outputs: is called with the outputs of each microbatch, in order.
        losses: is called with the loss of each.
        tapped: is called with a stage's number, a microbatch and the values of taps, after its forward pass.
    """

    inputs: Queue[Arrays]
    targets: Queue[Arrays]
    outputs: Callable[[Arrays], None]
    losses: Callable[[LossValue], None]
    tapped: Callable[[int, int, Stage], None]


class StageRun:
    """Does works: each takes what it needs out of queues, lets its stage compute, and passes the result on.

    Args:
        head: of the loss; None: nothing goes back.
        first: numbers of the first microbatch on the way forward and on the way back.
        held: outputs of the last stage by microbatch, which wait for their loss.
        training: whether the forward pass is one of training.
    """

    def __init__(
        self,
        board: Board,
        stages: Sequence[Stage],
        links: Links,
        ends: RunEnds,
        *,
        head: Head | None,
        first: tuple[int, int],
        held: dict[int, Arrays],
        training: bool,
    ) -> None:
        self._board = board
        self._stages = stages
        self._links = links
        self._ends = ends
        self._head = head
        self._first = first
        self._held = held
        self._training = training

    def do(self, work: StageWork) -> None:
        """Do one work.  Raises what its stage raises."""
        number = self._first[work.backward] + work.microbatch
        if work.backward:
            self._backward(work.stage, number)
        else:
            self._forward(work.stage, number)

    def do_all(self, works: Iterable[StageWork]) -> None:
        """Do the works of a device one after another, until the work has ended elsewhere."""
        for work in works:
            self._board.check_going()
            self.do(work)

    def _forward(self, stage: int, number: int) -> None:
        inputs = self._links.forward[stage - 1].get() if stage else self._ends.inputs.get()
        outputs = self._stages[stage].forward(number, inputs, training=self._training)
        self._ends.tapped(stage, number, self._stages[stage])
        if stage + 1 < len(self._stages):
            self._links.give(stage, outputs, backward=False)
            return
        if self._training:
            self._held[number] = outputs
        self._ends.outputs(outputs)

    def _backward(self, stage: int, number: int) -> None:
        cotangents = self._links.backward[stage].get() if stage + 1 < len(self._stages) else self._of_loss(number)
        found = self._stages[stage].backward(number, cotangents)
        if stage:
            self._links.give(stage, found, backward=True)

    def _of_loss(self, number: int) -> Cotangents:
        """Gradients of the outputs of the last stage."""
        assert self._head is not None
        targets = () if self._head.targets == 0 else self._ends.targets.get()
        value, cotangents = self._head.backward(self._held.pop(number), targets)
        self._ends.losses(value)
        return cotangents

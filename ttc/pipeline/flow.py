"""Takes microbatches through the stages of a pipeline, in the caller's thread or in one for each stage, and cleans up what fails."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error, nearest
from ttc.pipeline.board import Board
from ttc.pipeline.crew import Crew
from ttc.pipeline.intake import Intake
from ttc.pipeline.losses import Accumulated, Head, LossValue
from ttc.pipeline.orders import Order, StageWork, in_one_thread
from ttc.pipeline.runs import Links, RunEnds, StageRun
from ttc.pipeline.stage import Arrays, Stage

Tapped: TypeAlias = "dict[str, dict[str, NDArray[Any]]]"
"""Values of ops by stage and name."""


class Flow:
    """The stages of a pipeline with what passes between them; one thread at a time calls it.

    Args:
        intake: of microbatches that are pushed.
        head: of the loss; None: nothing can go back.
        threaded: whether each stage has a thread of its own.
        tapped: is called with the values of taps of each microbatch, in order.
    """

    def __init__(
        self,
        board: Board,
        stages: Sequence[Stage],
        links: Links,
        intake: Intake,
        *,
        head: Head | None,
        threaded: bool,
        taps: Mapping[str, Sequence[str]],
        tapped: Callable[[Tapped], None],
    ) -> None:
        self.stages = list(stages)
        self._board = board
        self._links = links
        self._intake = intake
        self._head = head
        self._crew = Crew(board, [stage.name for stage in stages]) if threaded else None
        self._held: dict[int, Arrays] = {}
        self._forwarded = self._returned = 0
        self.values: list[LossValue] = []
        """The losses of the microbatches that went back in the last run, in order."""
        self.loss = Accumulated()
        """The loss of all microbatches that have gone back since the last update."""
        self._background: int | None = None
        self._taps = [number for number, stage in enumerate(stages) if taps.get(stage.name)]
        self._tapped = tapped
        self._partial: dict[int, Tapped] = {}
        board.checks.extend(stage.check for stage in stages)

    @property
    def waiting(self) -> int:
        """The microbatches that have gone forward in training, and not back."""
        return self._forwarded - self._returned

    # ---- runs that the caller waits for --------------------------------------------------------------------------------------------

    def run(self, order: Order, *, training: bool, outputs: Callable[[Arrays], None]) -> LossValue:
        """Do all works of an order, and return the loss of the microbatches that went back.

        Args:   outputs: is called with what the last stage gives for each microbatch.
        Raises: what a stage raises, once all have stopped; then nothing of the microbatches is left, gradients included.
        """
        self.settle()
        self.values = []
        run = self._made(training, outputs)
        if self._crew is None:
            self._alone(lambda: self._one_by_one(run, order))
        else:
            jobs = [(lambda works=works: run.do_all(works)) for works in order]
            self._together([*jobs, *[_nothing] * (len(self.stages) - len(jobs))], "the run has not ended")
        if training:
            forward = {work.microbatch for works in order for work in works if not work.backward}
            back = {work.microbatch for works in order for work in works if work.backward}
            self._forwarded += len(forward)
            self._returned += len(back)
        return self.loss.add(self.values)

    def update(self, divisor: float) -> None:
        """Let all stages update their parameters by gradients that are divided.  Raises what a stage raises."""
        self.settle()
        self._on_all(lambda stage: stage.update(divisor))
        self.loss.clear()

    def forget(self) -> None:
        """Drop microbatches on their way, and all gradients; what was pushed and not taken stays."""
        self._links.clear()
        self._held.clear()
        self._partial.clear()
        self.loss.clear()
        self._forwarded = self._returned = 0
        for stage in self.stages:
            try:
                stage.forget()
            except Error as error:
                if error.code != "E0811":  # a stage whose process has ended has nothing that could be forgotten
                    raise

    def clear_gradients(self) -> None:
        """Drop all gradients, and the losses that belong to them.  Raises what a stage raises."""
        self._on_all(lambda stage: stage.clear_gradients())
        self.loss.clear()

    def of(self, stage: str | None, what: Callable[[Stage], dict[str, NDArray[Any]]]) -> dict[str, Any]:
        """Return the answers of all stages by stage, or the answer of one stage. Raises E0206 for an unknown stage."""
        self.settle()
        return {which.name: what(which) for which in self.stages} if stage is None else what(self.named(stage))

    def gradients(self, stage: str | None = None) -> dict[str, Any]:
        """Return the gradients of the loss over all rows since the last update; see `Pipeline.gradients`."""
        divisor = self.loss.value.divisor
        return self.of(stage, lambda which: which.gradients(divisor))

    def clipping_divisor(self, most: float) -> float:
        """Return what gradients are divided by, so that their norm over all stages is at most a number."""
        squares = sum(float(np.sum(np.square(g, dtype=np.float64))) for part in self.gradients().values() for g in part.values())
        return self.loss.value.divisor / min(most / (math.sqrt(squares) + 1e-6), 1.0)

    def named(self, stage: str) -> Stage:
        """Return the stage of that name.  Raises E0206."""
        known = {which.name: which for which in self.stages}
        if stage not in known:
            raise Error("E0206", f"there is no stage '{str(stage)[:80]}'", hint=nearest(str(stage), known))
        return known[stage]

    # ---- runs in the background ----------------------------------------------------------------------------------------------------

    def start(self, microbatches: int, outputs: Callable[[Arrays], None]) -> None:
        """Let microbatches go forward in inference as they are pushed, without waiting for that; `settle` does.

        Args:   microbatches: how many; 0: until `settle`.
        Raises: E0101 where there are no threads that could.
        """
        if self._crew is None:
            raise Error("E0101", "with one thread nothing runs in the background", hint="take mode threads or processes")
        self.settle()
        self._background = microbatches
        run = self._made(False, outputs)
        numbers: Callable[[], Iterable[int]] = (lambda: range(microbatches)) if microbatches else count
        self._board.go_on()
        self._crew.start(
            [(lambda stage=stage: run.do_all(StageWork(stage, False, n) for n in numbers())) for stage in range(len(self.stages))]
        )

    def settle(self) -> None:
        """Wait until what runs in the background is done with all that was pushed.

        Raises: what has ended it; E0804 where it waits for inputs, or room for results, and nothing moves.
        """
        self._board.require_open()
        if self._background is None or self._crew is None:
            self._raise_pending()
            return
        endless = self._background == 0
        try:
            if endless:
                with self._board.changed:
                    self._board.until(self._is_drained, lambda: "microbatches are still on their way")
                self._crew.dismiss()
            else:
                self._crew.finish("the run in the background has not ended")
        except BaseException:
            self._give_up()
            raise
        self._background = None

    def _is_drained(self) -> bool:
        queues = (self._intake.inputs, *self._links.forward)
        return all(queue.empty() for queue in queues) and self._board.waiting == len(self.stages)

    # ---- inside --------------------------------------------------------------------------------------------------------------------

    def _made(self, training: bool, outputs: Callable[[Arrays], None]) -> StageRun:
        first = (self._forwarded, self._returned) if training else (0, 0)
        ends = RunEnds(self._intake.inputs, self._intake.targets, outputs, self.values.append, self._tap)
        return StageRun(self._board, self.stages, self._links, ends, head=self._head, first=first, held=self._held, training=training)

    def _one_by_one(self, run: StageRun, order: Order) -> None:
        for work in in_one_thread(order):
            run.do(work)

    def _on_all(self, do: Callable[[Stage], None]) -> None:
        if self._crew is None:
            self._alone(lambda: [do(stage) for stage in self.stages])
        else:
            self._together([(lambda stage=stage: do(stage)) for stage in self.stages], "not all stages are done")

    def _alone(self, job: Callable[[], Any]) -> None:
        self._board.go_on()
        try:
            job()
        except BaseException:
            self._give_up()
            raise

    def _together(self, jobs: Sequence[Callable[[], None]], what: str) -> None:
        assert self._crew is not None
        self._board.go_on()
        try:
            self._crew.start(jobs)
            self._crew.finish(what)
        except BaseException:
            self._give_up()
            raise

    def _raise_pending(self) -> None:
        """Raise what has ended the work since the last call."""
        error = self._board.error
        if error is not None:
            self._give_up()
            raise error

    def _give_up(self) -> None:
        """After a failure: let nothing be left of it, so that the next run starts anew."""
        self._background = None
        if self._crew is not None:
            self._crew.dismiss()
        self._intake.clear()
        if not self._board.closed:
            self._board.go_on()
            self.forget()

    def _tap(self, stage: int, number: int, which: Stage) -> None:
        if stage not in self._taps:
            return
        found = self._partial.setdefault(number, {})
        found[which.name] = which.taps()
        if stage == self._taps[-1]:
            self._tapped(self._partial.pop(number))

    def close(self) -> None:
        """End threads and processes; everything that waits raises E0803."""
        self._board.close()
        if self._crew is not None:
            self._crew.end()
        for stage in self.stages:
            stage.close()
        self._held.clear()
        self._links.clear()


def _nothing() -> None:
    """Do nothing: the device has no work."""

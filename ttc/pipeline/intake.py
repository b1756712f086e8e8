"""What users push into a pipeline: microbatches of inputs and of targets, all like the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.pipeline.board import Board
from ttc.pipeline.building import GivenStage
from ttc.pipeline.losses import Head
from ttc.pipeline.modules import in_order
from ttc.pipeline.queues import Queue
from ttc.pipeline.stage import Arrays, arrays_of


class Intake:
    """Queues of inputs and targets.

    Args:
        first: stage, which takes the inputs.
        head: of the loss, which takes the targets; None: there is none.
        room: of each queue.
    """

    def __init__(self, board: Board, first: GivenStage, head: Head | None, room: int | None) -> None:
        self._board = board
        self._first = first
        self._head = head
        self._types: dict[str, list[tuple[tuple[int, ...], np.dtype[Any]]]] = {}
        self.inputs: Queue[Arrays] = Queue(board, "inputs", room)
        self.targets: Queue[Arrays] = Queue(board, "targets", room)
        self.in_torch = False
        """Whether tensors were pushed, so that outputs are tensors, too."""

    def push(self, inputs: tuple[Any, ...], named: Mapping[str, Any], timeout: float | None) -> None:
        """Push the inputs of one microbatch, in order or by name.  Raises as `Pipeline.push` does."""
        self._board.require_open()
        if len(inputs) == 1 and isinstance(inputs[0], Mapping):
            named, inputs = {**inputs[0], **named}, ()
        if named:
            if inputs:
                raise Error("E0801", "inputs are given in order or by name, not both")
            inputs = in_order(self._first.name, self._first.module, named)
        self.inputs.put(self.like_the_first("input", inputs), timeout=timeout)

    def push_target(self, targets: tuple[Any, ...], timeout: float | None) -> None:
        """Push the targets of one microbatch.  Raises as `Pipeline.push_target` does."""
        self._board.require_open()
        if not self._takes_targets:
            raise Error("E0101", "the pipeline has no loss that takes targets", hint="give Pipeline a loss")
        assert self._head is not None
        if self._head.targets not in (None, len(targets)):
            raise Error("E0801", f"the loss takes {self._head.targets} target, not {len(targets)}")
        self.targets.put(self.like_the_first("target", targets), timeout=timeout)

    def like_the_first(self, what: str, values: Sequence[Any]) -> Arrays:
        """Return copies of what is pushed.  Raises E0801 for another number of arrays, other shapes or types than the first had."""
        if not values:
            raise Error("E0801", f"a microbatch has at least one {what}")
        arrays = arrays_of(values)
        found = [(array.shape, array.dtype) for array in arrays]
        first = self._types.setdefault(what, found)
        if len(first) != len(found):
            raise Error("E0801", f"a microbatch has {len(first)} {what}s, as the first had, not {len(found)}")
        for index, (one, other) in enumerate(zip(first, found, strict=True)):
            if one != other:
                was, now = (f"{dtype}{list(shape)}" for shape, dtype in (one, other))
                raise Error("E0801", f"{what} {index} is {now}, and was {was} in the first microbatch", hint="all microbatches are alike")
        if what == "input":
            self.in_torch = self.in_torch or any(type(value).__module__.partition(".")[0] == "torch" for value in values)
        return arrays

    def require_inputs(self, count: int) -> None:
        """Raise E0804 unless so many microbatches of inputs are there."""
        _require(self.inputs, count, "push")

    def require_targets(self, count: int) -> None:
        """Raise E0804 unless so many microbatches of targets are there, where the loss takes any."""
        if self._takes_targets:
            _require(self.targets, count, "push_target")

    def clear(self) -> None:
        """Drop all that was pushed and not taken."""
        self.inputs.get_all()
        self.targets.get_all()

    @property
    def _takes_targets(self) -> bool:
        return self._head is not None and self._head.targets != 0


def _require(queue: Queue[Arrays], count: int, how: str) -> None:
    if len(queue) < count:
        message = f"queue '{queue.name}' has {len(queue)} microbatches, and {count} are asked for"
        raise Error("E0804", message, hint=f"{how}() them first: one thread does everything")

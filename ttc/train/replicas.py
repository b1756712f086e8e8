"""Replicas of a training program in one process: a session each, whose gradients are added up before one update."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ttc.runtime.machine.session import Session
from ttc.runtime.program import Program
from ttc.train.rows import parts
from ttc.train.updates import DRAWN, GRADIENT, LOSS_COUNT, SLOT, Outcome, Updates, training_of

T = TypeVar("T")
V = TypeVar("V")


class Trains(Protocol):
    """Makes the updates of a training executor: a whole model in replicas, or one in stages."""

    @property
    def first(self) -> Any:
        """The maker of single steps, whose session has the weights that count: `Updates`, or what has its attributes."""
        ...

    def update(self, rows: Mapping[str, NDArray[Any]], hyper: Mapping[str, float], *, separate: bool) -> list[list[Outcome]]:
        """Update the parameters by the gradients of the loss over all rows; for each replica its outcomes."""
        ...

    def use_optimizer(self, optimizer: Any) -> None:
        """Take the numbers of another optimizer of the same structure."""
        ...

    def spread(self) -> None:
        """Give all replicas the weights of the first, and no gradients."""
        ...

    def close(self) -> None:
        """End what runs, and give up the memory of all sessions."""
        ...


class Replicas:
    """Runs the programs of a training archive over rows, in several sessions that have the same weights.

    The first one updates the parameters; the others get them from it.  What is drawn at random, and sums of gradients, are the same
    numbers as one replica has that takes the rows of all, one after another.  Running statistics are those of the first.

    Args:
        program: that was compiled for training.
        devices: of the replicas, as `Session` takes them.
        reduction: of gradients over microbatches and replicas: `mean`, that of the loss over all rows; `sum`, of means of microbatches.
    """

    def __init__(self, program: Program, devices: Sequence[int | None] = (None,), reduction: str = "mean") -> None:
        sessions = [Session(program, number=number) for number in devices]
        self.all = [Updates(session, training_of(session)) for session in sessions]
        for number, updates in enumerate(self.all):
            updates.replica = number
        self._reduction = reduction
        states = program.description.states
        self._sums = [name for name in states if name.startswith(GRADIENT) or name == LOSS_COUNT]
        self._spread = [name for name in states if not name.startswith((GRADIENT, SLOT)) and name != LOSS_COUNT]

    @property
    def first(self) -> Updates:
        """The replica that updates the parameters."""
        return self.all[0]

    @property
    def is_single(self) -> bool:
        """Return whether there is one replica, whose updates are those of its own programs."""
        return len(self.all) == 1 and self._reduction == "mean"

    def update(self, rows: Mapping[str, NDArray[Any]], hyper: Mapping[str, float], *, separate: bool) -> list[list[Outcome]]:
        """Update the parameters by the gradients of the loss over all rows; an update that fails changes nothing.

        Args:    separate: whether losses of single microbatches are wanted.
        Returns: for each replica its outcomes, of single microbatches or of several.
        Raises:  as `Session.call` does.
        """
        if self.is_single and not separate:
            return [[self.first.update(rows, hyper)]]
        kept = self.first.session.states(self._spread)
        try:
            found = self._accumulated(rows)
            self._reduced(sum(len(outcomes) for outcomes in found))
            last = self.first.apply(hyper)
        except BaseException:
            for updates in self.all:
                updates.clear()
                updates.session.assign({}, kept)
            raise
        self.spread()
        return [[replace(outcome, grad_norm=last.grad_norm, skipped=last.skipped) for outcome in outcomes] for outcomes in found]

    def spread(self) -> None:
        """Give all replicas the parameters and states of the first, and no gradients."""
        if len(self.all) == 1:
            return
        parameters, states = self.first.session.parameters(), self.first.session.states(self._spread)
        for updates in self.all[1:]:
            updates.session.assign(parameters, states)
            updates.clear()

    def use_optimizer(self, optimizer: Any) -> None:
        """Do nothing: the numbers of an optimizer come with every update."""

    def close(self) -> None:
        """Give up the memory of all sessions."""
        for updates in self.all:
            updates.session.close()

    def _accumulated(self, rows: Mapping[str, NDArray[Any]]) -> list[list[Outcome]]:
        count = len(self.all)
        shares = list(parts(rows, count))
        drawn = self.first.session.states([DRAWN]) if DRAWN in self._spread else {}
        microbatches = len(next(x for x in shares[0].values() if x.ndim)) // self.first.batch
        for number, updates in enumerate(self.all):
            if number and drawn:
                updates.session.assign({}, {DRAWN: drawn[DRAWN] + np.asarray(number * microbatches, drawn[DRAWN].dtype)})
        pairs = list(zip(self.all, shares, strict=True))
        found = _together(lambda pair: [pair[0].accumulate(part) for part in parts(pair[1], microbatches)], pairs)
        if drawn and count > 1:
            self.first.session.assign({}, self.all[-1].session.states([DRAWN]))
        return found

    def _reduced(self, microbatches: int) -> None:
        """Let the first replica have the gradients of all, added in the order of replicas."""
        total = self.first.session.states(self._sums)
        for updates in self.all[1:]:
            for name, value in updates.session.states(self._sums).items():
                total[name] = total[name] + value
        if self._reduction == "sum" and LOSS_COUNT in total:
            total[LOSS_COUNT] = (total[LOSS_COUNT] / microbatches).astype(total[LOSS_COUNT].dtype)
        self.first.session.assign({}, total)


def _together(work: Callable[[T], V], items: Sequence[T]) -> list[V]:
    """Do work on each item, each in a thread of its own; results in order.  Raises what the first that fails has raised."""
    if len(items) == 1:
        return [work(items[0])]
    with ThreadPoolExecutor(len(items), "ttc-replica") as pool:
        return list(pool.map(work, items))

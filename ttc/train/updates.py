"""Updates of a training program's parameters over any number of microbatches; a loss is a sum over rows, divided once by their count."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.marks.readings import show_outputs
from ttc.runtime.arguments import inputs_of
from ttc.train.data import Column

if TYPE_CHECKING:
    from ttc.runtime.machine.session import Session
    from ttc.runtime.manifest import Training

STEP, BACKWARD, OPTIMIZER, EVALUATE, FORWARD = "step", "backward", "optimizer", "evaluate", "forward"
"""Names of the programs of a training archive."""
LOSS_SUM, LOSS_COUNT, GRAD_NORM, SKIPPED = "loss.sum", "loss.count", "grad_norm", "skipped"
"""Names of results of the programs, beside the model's outputs."""
GRADIENT, SLOT = "grad.", "optimizer."
"""The beginnings of names of states: of those for accumulated gradients, and of the optimizer's for parameters."""
MARKED_LOSS = "marked_loss"
"""The name of the output that is the sum of marked losses; calls give it as their loss alone."""
DRAWN = "random.offset"
"""The name of the state that counts what was drawn at random."""


@record(eq=False)
class Outcome:
    """Loss and outputs of one or several calls of a training archive's programs.

    Args:
        total, count: sum of the loss over rows, and what it is divided by.
        outputs: the model's, by name, of each microbatch or of all.
        grad_norm: of the gradients before they were clipped; None where they are not.
        skipped: whether gradients were infinite, and nothing was updated.
        is_mean: whether the loss is divided by the count.
    """

    total: float
    count: float
    outputs: list[dict[str, NDArray[Any]]]
    grad_norm: float | None = None
    skipped: bool = False
    is_mean: bool = True

    @property
    def loss(self) -> float:
        """The loss of the rows; NaN where none of them counts."""
        if not self.is_mean:
            return self.total
        return self.total / self.count if self.count else math.nan

    @staticmethod
    def sum(parts: Sequence[Outcome]) -> Outcome:
        """Return what several outcomes make, with the norm of the last; outputs in order."""
        if len(parts) == 1:
            return parts[0]
        totals, counts = math.fsum(part.total for part in parts), math.fsum(part.count for part in parts)
        outputs = [found for part in parts for found in part.outputs]
        return Outcome(totals, counts, outputs, parts[-1].grad_norm, any(part.skipped for part in parts), parts[-1].is_mean)


def training_of(session: Session) -> Training:
    """Return what the archive says of its training.  Raises E0803 if it was compiled for inference."""
    found = session.description.training
    if found is None:
        hint = "compile it with --loss and --optimizer, or loss= and optimizer="
        raise Error("E0803", "the archive was compiled for inference, and cannot be trained", hint=hint)
    return found


def columns_of(session: Session, training: Training) -> dict[str, Column]:
    """Return what the programs take of each sample, by input.  Raises E0803 for a model without a leading dimension of samples."""
    if training.batch is None:
        raise Error("E0803", "inputs of the model have no leading dimension in common: there are no rows to take", hint="call its programs")
    chosen = {*training.inputs, *training.targets}
    found = [argument for argument in inputs_of(session.entry(BACKWARD)) if argument.name in chosen]
    return {argument.name: Column(argument.name, tuple(argument.shape[1:]), argument.dtype) for argument in found}


class Updates:
    """Runs the programs of a training archive over rows.

    Args:
        session: on the archive; nobody else may run its programs meanwhile.
        training: what the archive says of them.
    """

    def __init__(self, session: Session, training: Training) -> None:
        self.session = session
        self.training = training
        self.columns = columns_of(session, training)
        self.returned = [a.name for a in inputs_of(session.entry(BACKWARD)) if a.name not in training.inputs]
        """Names of what `accumulate` takes beside the model's inputs: targets of the loss, or gradients of outputs."""
        self.batch = int(training.batch or 1)
        """Rows of a microbatch."""
        self.replica = 0
        """Which replica this is, for what is shown of it."""
        self._microbatch = 0
        self.is_fused = STEP in session.programs
        self._kept = [name for name in session.description.states if not name.startswith((GRADIENT, SLOT)) and name != LOSS_COUNT]

    @property
    def whole(self) -> int:
        """The number of rows of a fused step."""
        return self.batch * self.training.microbatches

    def check_rows(self, rows: int, what: str = "a batch") -> None:
        """Raise E0801 if rows are not a multiple of the microbatch."""
        if rows < 1 or rows % self.batch:
            near = max(rows // self.batch, 1) * self.batch
            hint = f"the next sizes are {near} and {near + self.batch}; or compile for other example inputs"
            message = f"{what} of {rows} rows is no multiple of the {self.batch} rows that the archive was compiled for"
            raise Error("E0801", message, hint=hint)

    def update(self, rows: Mapping[str, NDArray[Any]], hyper: Mapping[str, float]) -> Outcome:
        """Update the parameters by the gradients of the loss over all rows; an update that fails changes nothing.

        Args:
            rows: of each input, of a multiple of `batch`.
            hyper: hyper-parameters by the names of their inputs; others have the archive's values.
        Raises: as `Session.call` does.
        """
        count = len(next(iter(rows.values())))
        if count == self.whole and self.is_fused:
            return self.step({**rows, **self.numbers(hyper)})
        with self._whole_or_not():
            found = self.accumulate(rows)
            last = self.apply(hyper)
        return Outcome(found.total, found.count, found.outputs, last.grad_norm, last.skipped, found.is_mean)

    def numbers(self, hyper: Mapping[str, float]) -> dict[str, NDArray[np.float32]]:
        """Return all hyper-parameters as inputs of `step`; those that are not given have the archive's values."""
        return {name: np.asarray(np.float32(hyper.get(name, default))) for name, default in self.training.hyper.items()}

    def step(self, given: dict[str, NDArray[Any]]) -> Outcome:
        """Run the fused step on all its inputs, rows and hyper-parameters, by name.  Raises as `Session.call` does."""
        return self._outcome([self.session.call(STEP, given)])

    def accumulate(self, rows: Mapping[str, NDArray[Any]]) -> Outcome:
        """Add the gradients of rows to what is accumulated.  Raises as `Session.call` does."""
        found = self._outcome([self.session.call(BACKWARD, part) for part in self._parts(rows)], self._microbatch)
        self._microbatch += len(found.outputs)
        return found

    def apply(self, hyper: Mapping[str, Any]) -> Outcome:
        """Update the parameters by what is accumulated.  Raises as `Session.call` does."""
        self._microbatch = 0
        taken = [argument.name for argument in inputs_of(self.session.entry(OPTIMIZER))]
        values = {name: np.asarray(np.float32(hyper.get(name, self.training.hyper[name]))) for name in taken}
        return self._outcome([self.session.call(OPTIMIZER, values)])

    def evaluate(self, rows: Mapping[str, NDArray[Any]]) -> Outcome:
        """Return loss and outputs in inference; nothing changes. Raises as `Session.call` does."""
        return self._outcome([self.session.call(EVALUATE, part) for part in self._parts(rows)])

    def forward(self, inputs: Mapping[str, NDArray[Any]]) -> Outcome:
        """Return the model's outputs in training; nothing changes.  Raises as `Session.call` does."""
        return self._outcome([self.session.call(FORWARD, part) for part in self._parts(inputs)])

    def clear(self) -> None:
        """Set the accumulated gradients, and their count, to zero."""
        self._microbatch = 0
        sums = [name for name in self.session.description.states if name.startswith(GRADIENT) or name == LOSS_COUNT]
        self.session.assign({}, {name: np.zeros_like(value) for name, value in self.session.states(sums).items()})

    def _parts(self, rows: Mapping[str, NDArray[Any]]) -> Iterator[dict[str, NDArray[Any]]]:
        count = len(next(iter(rows.values())))
        for first in range(0, count, self.batch):
            yield {name: np.ascontiguousarray(array[first : first + self.batch]) for name, array in rows.items()}

    def _outcome(self, results: list[dict[str, NDArray[Any]]], microbatch: int = 0) -> Outcome:
        for number, found in enumerate(results):
            show_outputs(found, microbatch=microbatch + number, replica=self.replica)
        outputs = [{name: found[name] for name in self.training.outputs if name in found and name != MARKED_LOSS} for found in results]
        total = sum(float(found.get(LOSS_SUM, 0.0)) for found in results)
        count = sum(float(found.get(LOSS_COUNT, 0.0)) for found in results)
        norms = [float(found[GRAD_NORM]) for found in results if GRAD_NORM in found]
        skipped = any(bool(found.get(SKIPPED, False)) for found in results)
        return Outcome(total, count, outputs, norms[-1] if norms else None, skipped, self.training.reduction == "mean")

    @contextmanager
    def _whole_or_not(self) -> Iterator[None]:
        """Where a microbatch fails, forget those before it."""
        kept = self.session.states(self._kept)
        try:
            yield
        except BaseException:
            self.clear()
            self.session.assign({}, kept)
            raise

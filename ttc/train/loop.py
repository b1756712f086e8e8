"""The loop of `ttc train`: epochs of updates, validation, checkpoints, a log."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ttc.dialects.core.errors import Error, warn
from ttc.dialects.core.records import record
from ttc.train.batches import Batches
from ttc.train.checkpoints import Checkpoints, Position
from ttc.train.data import Data
from ttc.train.log import Log, LogLine
from ttc.train.schedules import Schedule, schedule_text
from ttc.train.updates import Outcome, Updates

Told = Callable[[LogLine, int], None]
"""Called with each line, and the number of updates of the run."""
LR = "lr"


@record(kw_only=True, eq=False)
class TrainingRun:
    """Does the updates of a training run, with validation, checkpoints and a log.

    Args:
        updates: on the session that is trained.
        data, validation: samples; validation ones are evaluated after each epoch.
        batches: which rows each update takes.
        epochs: of the whole run, with what was done before it was resumed.
        schedule: of learning rates.
        rate: that the schedule starts from; None: the archive's, of each group of parameters.
        checkpoints: where they are written; None: nowhere.
        every: updates between two of them; None: an epoch's.
        log: that each update is written to.
        stop_at_nan: whether a loss that is not finite ends the run.
        told: is told of each update.
    """

    updates: Updates
    data: Data
    validation: Data | None
    batches: Batches
    epochs: int
    schedule: Schedule
    rate: float | None
    checkpoints: Checkpoints | None
    every: int | None
    log: Log | None
    stop_at_nan: bool
    told: Told

    @property
    def total(self) -> int:
        """The updates of the whole run."""
        return self.epochs * self.batches.per_epoch

    def position(self, update: int) -> Position:
        """Return where the run stands after so many updates."""
        b = self.batches
        return Position(update, b.rows, b.size, b.shuffled, b.seed, schedule_text(self.schedule), self.rate, self.epochs)

    def rates(self, update: int) -> dict[str, float]:
        """Return the learning rates of an update, by the name of the program's input."""
        found: dict[str, float] = {}
        for group in self.updates.training.groups:
            if LR in group.inputs:
                base = group.values[LR] if self.rate is None else self.rate
                found[group.inputs[LR]] = self.schedule.rate(update, base, self.total)
        return found

    def go(self, update: int = 0) -> list[LogLine]:
        """Do the updates from that one on; yields their lines.

        Raises: E0808 for a loss that is not finite, if that is to end the run; E0103 for files; as `Session.call` does.
        """
        began, lines, warned = time.perf_counter(), list[LogLine](), False
        for epoch, rows in self.batches.from_update(update):
            if update >= self.total:
                break
            rates = self.rates(update)
            found = self.updates.update(self.data.take(rows), rates)
            update += 1
            if not math.isfinite(found.loss) and found.count and not found.skipped:
                warned = self._not_finite(found.loss, update, warned)
            ends = update % self.batches.per_epoch == 0
            scores = self.evaluated(self.validation) if ends and self.validation is not None else (None, None)
            seconds = time.perf_counter() - began
            line = LogLine(update, epoch + 1, found.loss, next(iter(rates.values()), 0.0), *scores, seconds)
            lines.append(line)
            self._tell(line)
            if self.checkpoints is not None and (ends if self.every is None else update % self.every == 0 or update == self.total):
                self.save(update)
        return lines

    def save(self, update: int) -> Path | None:
        """Write a checkpoint, after what the log has of it."""
        if self.checkpoints is None:
            return None
        if self.log is not None:
            self.log.sync()
        return self.checkpoints.save(self.updates.session, self.position(update))

    def evaluated(self, data: Data) -> tuple[float, float | None]:
        """Return the loss of samples, in inference, and the share that is classified rightly, where targets are classes."""
        parts, batch = list[Outcome](), self.updates.batch
        right = seen = 0
        for first in range(0, data.rows - batch + 1, batch):
            rows = data.take(slice(first, first + batch))
            found = self.updates.evaluate(rows)
            hits, count = self._right(found, rows)
            right, seen = right + hits, seen + count
            parts.append(replace(found, outputs=[]))
        return Outcome.sum(parts).loss, right / seen if seen else None

    def _right(self, found: Outcome, rows: dict[str, NDArray[Any]]) -> tuple[int, int]:
        """Return how many targets are classified rightly, of how many; none where targets are no classes."""
        training = self.updates.training
        if len(training.targets) != 1 or training.output is None:
            return 0, 0
        target = rows[training.targets[0]]
        output = found.outputs[0].get(training.output)
        if output is None or target.dtype.kind not in "iu" or output.ndim != target.ndim + 1:
            return 0, 0
        counted = (target >= 0) & (target < output.shape[1])
        return int((counted & (output.argmax(axis=1) == target)).sum()), int(counted.sum())

    def _not_finite(self, loss: float, update: int, warned: bool) -> bool:
        """Raise E0808, or warn once."""
        last = self.checkpoints.newest_first()[:1] if self.checkpoints is not None else []
        if self.stop_at_nan:
            hint = f"the newest checkpoint before it is {last[0]}" if last else "a lower learning rate, or clipped gradients, may help"
            raise Error("E0808", f"the loss of update {update} is {loss}", hint=hint)
        if not warned:
            warn(f"the loss of update {update} is {loss}; --stop-at-nan ends the run there")
        return True

    def _tell(self, line: LogLine) -> None:
        if self.log is not None:
            self.log.write(line)
        self.told(line, self.total)

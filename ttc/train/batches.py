"""Which rows of a data set each update takes: a function of seed and position alone, so that a run can go on anywhere."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record


@record(slots=True)
class Batches:
    """Batches of the rows of a data set, epoch by epoch.

    Args:
        rows: of the data set.
        size: rows of a batch.
        shuffled: whether each epoch takes the rows in an order of its own.
        seed: of the orders.
    """

    rows: int
    size: int
    shuffled: bool
    seed: int

    @property
    def per_epoch(self) -> int:
        """The batches of an epoch; rows beyond the last whole one are left out."""
        return self.rows // self.size

    def order(self, epoch: int) -> NDArray[np.int64]:
        """Return the order of the rows in an epoch: it depends on seed and epoch, and on nothing else."""
        if not self.shuffled:
            return np.arange(self.rows)
        draws = np.random.Philox(key=[self.seed % (1 << 64), epoch]).random_raw(self.rows)  # the same in every version of numpy
        return np.argsort(draws, kind="stable")

    def from_update(self, update: int) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Yield (epoch, rows of the batch) from an update on, without end; updates and epochs are counted from 0."""
        epoch, batch = divmod(update, self.per_epoch)
        while True:
            order = self.order(epoch)
            for number in range(batch, self.per_epoch):
                yield epoch, order[number * self.size : (number + 1) * self.size]
            epoch, batch = epoch + 1, 0


def check_divides(rows: int, size: int, where: str, partial: str) -> None:
    """Raise E0801 if rows do not fill whole batches, or not even one.

    Args:
        rows: of a data set.
        size: rows of a batch.
        where: name of the data set.
        partial: `error`, or `drop`, which lets rows at the end of an epoch be left out.
    """
    if rows < size:
        raise Error("E0801", f"{rows} rows do not fill a batch of {size}", where=where)
    rest = rows % size
    if rest and partial == "error":
        hint = f"give {rows - rest} or {rows - rest + size} rows, or --partial drop, which leaves {rest} rows out of each epoch"
        raise Error("E0801", f"{rows} rows are not a multiple of the batch of {size}", where=where, hint=hint)

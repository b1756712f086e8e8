"""Which of a call's outputs the user gets: of all microbatches, of some, or what they add up to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.settings.loop_options import read_output


@record(slots=True)
class OutputMode:
    """What is given of the outputs of several microbatches.

    all: all rows, in order.  last: those of the last microbatch.  sum, mean: over microbatches, element by element.  every: those of each
    N-th microbatch, in order.  loss: none.

    Args:
        name: one of `loop_options.MODES`.
        interval: N of `every`.
    """

    name: str
    interval: int = 1

    @staticmethod
    def of(text: str) -> OutputMode:
        """From `all`, `last`, `sum`, `mean`, `loss` or `every:N`.  Raises ValueError with the reason."""
        return OutputMode(*read_output(text))

    def chosen(self, microbatches: Sequence[Sequence[NDArray[Any]]]) -> tuple[NDArray[Any], ...]:
        """The outputs to give, of those of each microbatch in order.  Raises E0801 for fewer microbatches than `every` counts."""
        match self.name:
            case "loss":
                return ()
            case "last":
                return tuple(microbatches[-1])
            case "every" if len(microbatches) < self.interval:
                raise Error("E0801", f"output 'every:{self.interval}' gives none of {len(microbatches)} microbatches")
            case "every":
                microbatches = microbatches[self.interval - 1 :: self.interval]
        return tuple(self._joined(arrays) for arrays in zip(*microbatches, strict=True))

    def _joined(self, arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
        if self.name == "sum":
            return np.add.reduce(np.stack(arrays), dtype=arrays[0].dtype)
        if self.name == "mean":
            return (np.add.reduce(np.stack(arrays), dtype=np.float64) / len(arrays)).astype(arrays[0].dtype)
        if len(arrays) == 1:
            return arrays[0]
        return np.concatenate(arrays) if arrays[0].ndim else np.stack(arrays)

"""What went into queues and what came out, as statistics and if asked for as arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.netlist.model import Queue
from ttc.runtime.machine.limits import Meter

_CHUNK = 1 << 15
"""Elements looked at together: what fits a cache."""
Role = Literal["input", "output", "edge", "ram"]
"""Why entries are recorded: pushed by the host; popped by it; left in a queue between graphs; contents of a ram that ops write."""


@dataclass
class Record:
    """The entries of one queue, in their order.

    Statistics are over all finite elements of all entries; nonfinite: how many there are besides.

    Args:
        numbers: of the entries: pushes and pops are counted from 0, what a ram or queue holds goes by its slots.
        keep: whether the entries themselves are kept, for `array`.
    """

    queue: Queue
    role: Role
    keep: bool
    meter: Meter
    numbers: list[int] = field(default_factory=list)
    finite: int = 0
    nonfinite: int = 0
    mean: float = 0.0
    squares: float = 0.0
    low: float = np.inf
    high: float = -np.inf
    kept: list[NDArray] = field(default_factory=list)

    @property
    def entries(self) -> int:
        """How many entries the record holds."""
        return len(self.numbers)

    def add(self, entry: NDArray, number: int | None = None) -> None:
        """Record an entry, [t, rows, columns]. number: of the entry; by default the next."""
        self.numbers.append(len(self.numbers) if number is None else number)
        elements = entry.reshape(-1)
        for start in range(0, elements.size, _CHUNK):
            values = elements[start : start + _CHUNK].astype(np.float64)
            finite = np.isfinite(values)
            if not finite.all():
                self.nonfinite += values.size - int(finite.sum())
                values = values[finite]
            if values.size:
                self._merge(values)
        if self.keep:
            self.meter.hold(entry.nbytes, self.queue.name)
            self.kept.append(entry)

    def array(self) -> NDArray:
        """Return the entries as [entries, t, rows, columns]; needs `keep`."""
        return np.stack(self.kept)

    @property
    def std(self) -> float:
        """Return the standard deviation of the finite elements (of the population)."""
        return (self.squares / self.finite) ** 0.5 if self.finite else 0.0

    def figures(self) -> dict[str, float | int | None]:
        """Return statistics by name; None where no element is finite."""
        known = self.finite > 0
        return {
            "mean": self.mean if known else None,
            "std": self.std if known else None,
            "min": self.low if known else None,
            "max": self.high if known else None,
            "nonfinite": self.nonfinite,
        }

    def _merge(self, values: NDArray) -> None:
        """Take in more elements: mean and sum of squares of both sets together (Chan et al.)."""
        mean = float(values.mean())
        total = self.finite + values.size
        distance = mean - self.mean
        spread = values - mean
        self.squares += float(np.square(spread, out=spread).sum()) + distance * distance * self.finite * values.size / total
        self.mean += distance * values.size / total
        self.finite = total
        self.low = min(self.low, float(values.min()))
        self.high = max(self.high, float(values.max()))

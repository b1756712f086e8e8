"""What epochs add to a run: their own cycles, and switches between them as far as nothing hides these."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.machines.targets import Target
from ttc.dialects.core.records import record
from ttc.runtime.perf.rates import rates_of

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@record
class Switches:
    """Switches between the epochs of a program.

    Args:
        target: the machine.
        turns: chips, or groups of chips, that take the epochs in turn.
    """

    target: Target
    turns: int = 1

    def added(self, cycles: float | Floats, cores: int | Ints, *, whole: bool) -> Floats:
        """Return what epochs add to the run, from their own cycles and the cores that each uses.

        A chip loads the programs of its next epoch behind its last one.  Chips that take epochs in turn load while others compute, and pass
        results on: each computes one epoch and loads another in the time in which all of them compute one.

        whole: whether such an epoch is the only one, which waits for the programs of its own cores alone.
        """
        if self.turns == 1:
            return np.asarray(cycles + (self.by_cores[cores] if whole else self.by_cores[-1]))
        return np.maximum(cycles, (cycles + self.by_cores[cores]) / self.turns) + rates_of(self.target).eth_hop

    @cached_property
    def by_cores(self) -> Floats:
        """Cycles from the end of an epoch to the first packet of the next, by the cores that load programs."""
        rates = rates_of(self.target)
        return np.array([rates.switch_of(cores) for cores in range(rates.cores + 1)])

"""By how many cycles an epoch makes a run longer, if the epochs before and after it overlap with it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.records import record
from ttc.runtime.perf.loading import LEAST_LEFT
from ttc.runtime.perf.rates import Rates

Figures = float | NDArray[np.float64]


@record
class Turn:
    """Where an epoch stands in a run.

    Args:
        rates: of the machine.
        input_count: microbatches.
        first, last: whether no epoch is before it, or behind it.
        overlap: the part, from 0 to 1, of what an epoch and the next could share of their time that they are taken to share.
        turns: chips, or groups of chips, that take the epochs in turn.
    """

    rates: Rates
    input_count: int
    first: bool
    last: bool
    overlap: float
    turns: int = 1

    def time(self, fill: Figures, interval: Figures, cores: Figures, held: Figures, traffic: Figures, lead: Figures = 0.0) -> Any:
        """Return the cycles by which an epoch makes a run longer, a number or an array of them.

        Alone an epoch takes the loading of its cores, the first microbatch through its pipeline and the intervals of the others.  Where the
        next epoch begins its first ops on the cores that are through first, it begins when a core has computed all microbatches and has
        loaded what it needs next; the more of the loading is left to the end, the less time passes between the first core that is free
        and the last.  It does not begin before the first microbatch is there, nor before all is loaded.  Nothing hides the loading of
        the first epoch, and nothing that follows the last one.  Chips that take epochs in turn load while others compute, and pass results
        on: each computes one epoch and loads another in the time in which all of them compute one, or both at the same time where
        cores load ahead.

        Args:
            fill: cycles of the first microbatch.
            interval: cycles between microbatches.
            cores: that load programs.
            held: cycles in which the weights that L1 holds are loaded.
            traffic: cycles a microbatch that DRAM is busy otherwise.
            lead: cycles at the begin of an epoch in which it reads weights alone, and needs nothing of the epochs before.
        """
        rates, count = self.rates, self.input_count
        programs, one = cores * rates.program_cycles(1), rates.program_bytes / rates.absorb_core
        switch = np.maximum(programs, one) + rates.start_cycles
        if rates.ahead:  # kernels come once for all cores of an op, which takes next to nothing
            programs = programs * rates.own_part
        if rates.ahead and self.turns == 1:
            return self.ahead(fill, interval, programs + held, traffic, lead)
        alone, entry = fill + (count - 1) * interval, switch + held
        if self.turns > 1:
            cycles = alone + held
            busy = np.maximum(cycles + rates.start_cycles, programs + held + count * traffic) if rates.ahead else cycles + switch
            return np.maximum(cycles - lead, busy / self.turns) + rates.eth_hop
        apart = alone + entry
        if self.first and self.last:
            return apart
        loading = (programs + held) / np.maximum(1.0 - count * traffic / np.maximum(alone, 1.0), LEAST_LEFT)
        goes_on = count * interval + rates.start_cycles + one
        if self.first:
            least = entry + np.maximum(fill, goes_on)
        elif self.last:
            least = alone
        else:
            behind = goes_on + np.maximum(loading + interval - fill, 0.0)
            least = np.maximum(np.maximum(fill, loading), behind)
        return apart - np.maximum(apart - least, 0.0) * self.overlap

    def ahead(self, fill: Figures, interval: Figures, loads: Figures, traffic: Figures, lead: Figures) -> Any:
        """Return what `time` does where cores load in turn, and ahead of time.

        loads: cycles of all that an epoch loads.  The first ops of the first epoch begin while the others load, until the last one is due.
        What the next epoch loads comes while one runs, and weights that it streams before the first results it needs; without an overlap
        all of it comes after.
        """
        rates, count = self.rates, self.input_count
        loads = np.maximum(loads, rates.program_bytes / rates.absorb_core)
        alone, goes_on = fill + (count - 1) * interval, count * interval + rates.start_cycles
        loading = loads / np.maximum(1.0 - count * traffic / np.maximum(alone, 1.0), LEAST_LEFT)
        entry = rates.start_cycles + np.maximum(loads - np.maximum(fill - interval, 0.0), rates.program_bytes / rates.absorb_core)
        if self.first and self.last:
            return alone + entry
        if self.first:
            apart, least = alone + entry, entry + np.maximum(fill, goes_on)
        elif self.last:
            apart, least = alone + rates.start_cycles + loads, alone - lead
        else:
            apart, least = alone + rates.start_cycles + loads, np.maximum(np.maximum(fill - lead, loading), goes_on)
        return apart - np.maximum(apart - least, 0.0) * self.overlap

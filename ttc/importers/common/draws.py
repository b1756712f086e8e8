"""Random numbers of a model: dropouts, which follow from two states, seed and offset."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from ttc.dialects.core.ir.entries import Port
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.nn.making import OpMaker

SEED, OFFSET = "random.seed", "random.offset"
"""Names of the states that random numbers follow from."""


class DrawingMaker(OpMaker):
    """Makes ops that draw random numbers, each from a stream of its own."""

    _seed: tuple[SSAValue, SSAValue] | None = None
    _streams: int = 0

    @abstractmethod
    def enter(self, node: str) -> None:
        """Place all further ops at this node of the source."""

    @abstractmethod
    def counter(self, name: str) -> SSAValue:
        """Return a state that starts as the integer 0."""

    def dropout(self, x: SSAValue, p: float) -> SSAValue:
        """Return x with elements set to 0 with probability p, the others made larger: the next of the model's dropouts.

        Seed and offset of its random numbers are the states `random.seed` and `random.offset`; each run moves the second.
        """
        if self._seed is None:
            first, second = (self.counter(name) for name in (SEED, OFFSET))
            self._seed = first, second
        self._streams += 1
        return self.nn("dropout", x, *self._seed, p=float(p), stream=self._streams - 1)

    def moved(self) -> list[tuple[Port, SSAValue]]:
        """Return the new value of `random.offset`, if random numbers are drawn."""
        if self._seed is None:
            return []
        self.enter(OFFSET)
        return [(Port(OFFSET, updates=OFFSET), self.nn("add", self._seed[1], self.constant(np.array(1))))]

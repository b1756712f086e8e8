"""Which token comes next: the most probable one, or one that is drawn.

Probabilities are p = softmax(logits / temperature) in float64.  Tokens are ordered by falling logit, equal ones by their number.
`top_k` keeps the first k of them; `top_p` then keeps the fewest whose share of what is kept so far is at least top_p.  With u in [0, 1),
drawn for a row and the place of the token, the token is the first at which the running sum of what is kept exceeds u times their sum.

u = r / 2^32, where r is word 0 of the counter-based generator Philox4x32-10 with the seed as its key, as `nn.random_mask` draws it: its
offset is the place of the token in its row, its stream the row.  So a token depends on the seed, its row and its place alone, not on how
the tokens before it came about or on how many calls made them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.dialects.nn.kernels.random import philox_words


@record(kw_only=True)
class Sampling:
    """The way in which tokens are chosen.

    Args:
        temperature: what logits are divided by; 0: the most probable token is taken.
        top_k: tokens that are kept at most; None: all.
        top_p: share of the probability that is kept at least, by as few tokens as have it; None: all.
        seed: of the draws.
    Raises: E0101 for numbers outside their ranges.
    """

    temperature: float = 0.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < float("inf"):
            raise Error("E0101", f"temperature is a number from 0 on, not {self.temperature}")
        if self.top_k is not None and self.top_k < 1:
            raise Error("E0101", f"top_k is at least 1, not {self.top_k}")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise Error("E0101", f"top_p lies in (0, 1], not at {self.top_p}")
        if not 0 <= self.seed < 1 << 64:
            raise Error("E0101", f"a seed is a number of 64 bits, not {self.seed}")

    def choose(self, logits: NDArray, row: int, place: int) -> int:
        """Return the token after logits[vocabulary], at a place of a row.  Raises E0802 where a logit is NaN."""
        best = int(logits.argmax())
        if np.isnan(logits[best]):  # argmax finds a NaN if there is one
            raise Error("E0802", f"the logits of row {row} at place {place} are not numbers")
        if self.temperature == 0 or self.top_k == 1:
            return best
        order, weights = self._kept(logits)
        sums = np.cumsum(weights)
        index = int(np.searchsorted(sums, uniform(self.seed, row, place) * sums[-1], side="right"))
        return int(order[min(index, len(order) - 1)])

    def _kept(self, logits: NDArray) -> tuple[NDArray, NDArray]:
        """Tokens that may be drawn, by falling logit, and what their probabilities are in proportion to."""
        order = ordered(logits, self.top_k)
        scores = logits[order].astype(np.float64) / self.temperature
        weights = np.exp(scores - scores[0])
        if self.top_p is None:
            return order, weights
        sums = np.cumsum(weights)
        count = int(np.searchsorted(sums, self.top_p * sums[-1], side="left")) + 1
        return order[:count], weights[:count]


GREEDY = Sampling()
"""The sampling that takes the most probable token each time."""


def ordered(logits: NDArray, count: int | None) -> NDArray:
    """Return the tokens of the largest logits, falling, equal ones by number; count: how many, None for all."""
    if count is None or count >= logits.size:
        return np.argsort(-logits, kind="stable")
    least = np.partition(logits, logits.size - count)[logits.size - count]
    found = np.flatnonzero(logits >= least)
    return found[np.argsort(-logits[found], kind="stable")][:count]


def uniform(seed: int, row: int, place: int) -> float:
    """Return a number in [0, 1) for a row and a place; the same for the same three numbers."""
    return int(philox_words(seed, place, row, 1)[0]) / 2.0**32

"""Stages of a pipeline over chips: consecutive ops for each chip, and the rounds in which a batch passes through them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import accumulate

from ttc.passes.tile_to_netlist.layouts import divisors

TRIALS = 3
"""How often shares are corrected by what a stage was found to take."""
WINDOW = 16
"""The most ops by which the border of two stages moves to where less crosses."""
SWEEPS = 2


def partition(weights: Sequence[int], stages: int, breaks: Collection[int] = ()) -> list[int]:
    """Return sizes of at most so many runs of consecutive ops, the heaviest run as light as possible.

    weights: of the ops; breaks: numbers of ops that must begin a run, fewer than `stages`.
    """
    low, high = max(weights, default=0), sum(weights)
    while low < high:
        middle = (low + high) // 2
        if len(_runs(weights, middle, breaks)) <= stages:
            high = middle
        else:
            low = middle + 1
    return _runs(weights, high, breaks)


def _runs(weights: Sequence[int], most: int, breaks: Collection[int]) -> list[int]:
    """Sizes of runs that are filled one after another, none heavier than `most`."""
    sizes: list[int] = []
    load = 0
    for number, weight in enumerate(weights):
        if not sizes or number in breaks or load + weight > most:
            sizes.append(0)
            load = 0
        sizes[-1] += 1
        load += weight
    return sizes


def moved(sizes: Sequence[int], weights: Sequence[int], breaks: Collection[int], crossing: Sequence[float]) -> list[int]:
    """Return sizes after each border has gone, one by one, to the op near it where the slower of its two stages takes the least time.

    crossing: what passing on values takes at a border before each op, which the stage before it bears.
    """
    sums = [0, *accumulate(weights)]
    borders = [0, *accumulate(sizes)]
    for _ in range(SWEEPS):
        for index in range(1, len(borders) - 1):
            before, at, after = borders[index - 1 : index + 2]
            if at in breaks:
                continue

            def slower(border: int, low: int = before, high: int = after, own: float = crossing[after] if after < len(crossing) else 0.0):
                return max(sums[border] - sums[low] + crossing[border], sums[high] - sums[border] + own)

            near = range(max(before + 1, at - WINDOW), min(after - 1, at + WINDOW) + 1)
            borders[index] = min(near, key=lambda border: (slower(border), abs(border - at)), default=at)
    return [high - low for low, high in zip(borders, borders[1:], strict=False)]


def balanced(
    weights: Sequence[float], stages: int, breaks: Collection[int], time: Callable[[int, int], float], crossing: Sequence[float]
) -> tuple[list[int], list[float]]:
    """Return sizes of the stages, and the time of each, for the shortest slowest stage found.

    weights: estimates for single ops; time: what a stage of ops [begin, end) takes; crossing: what passing values on takes at a border
    before each op.  What stages are found to take corrects the weights of their ops, a few times.
    """
    current = [max(w, 1.0) for w in weights]
    best: tuple[list[int], list[float]] = [len(weights)], []
    for _ in range(TRIALS):
        whole = [int(w) for w in current]
        even = partition(whole, stages, breaks)
        for sizes in (moved(even, whole, breaks, crossing), even):  # what crosses may be hidden behind the stage's own work
            bounds = [(sum(sizes[:i]), sum(sizes[: i + 1])) for i in range(len(sizes))]
            times = [time(begin, end) for begin, end in bounds]
            if not best[1] or max(times) < max(best[1]):
                best = sizes, times
        for (begin, end), found in zip(bounds, times, strict=True):
            factor = found / max(sum(current[begin:end]), 1.0)
            current[begin:end] = [max(w * factor, 1.0) for w in current[begin:end]]
    return best


def rounds(times: Sequence[float], fixed: Sequence[float], microbatches: int) -> int:
    """Return how many rounds the microbatches of a call best pass in: while a stage works on one round, those after it have the rounds
    before.

    times: of each stage for all microbatches; fixed: of that, what every round takes anew.
    """

    def whole(count: int) -> float:
        each = max(max(time - anew, 0.0) / count + anew for time, anew in zip(times, fixed, strict=True))
        return (count + len(times) - 1) * each

    return min(divisors(microbatches), key=lambda d: (whole(d), d))

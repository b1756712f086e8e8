"""Stages of a pipeline over chips: consecutive ops for each chip, and the rounds in which a batch passes through them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

TRIALS = 3
"""Times that shares are corrected by what a stage was found to take."""


def partition(weights: Sequence[int], stages: int, breaks: Collection[int] = ()) -> list[int]:
    """Sizes of at most so many runs of consecutive ops, the heaviest run as light as possible.

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


def balanced(
    weights: Sequence[float], stages: int, breaks: Collection[int], time: Callable[[int, int], float]
) -> tuple[list[int], list[float]]:
    """Sizes of the stages, and the time of each, for the shortest slowest stage found.

    weights: estimates for single ops; time: what a stage of ops [begin, end) takes.  What stages are found to take corrects the weights
    of their ops, a few times.
    """
    current = [max(w, 1.0) for w in weights]
    best: tuple[list[int], list[float]] = [len(weights)], []
    for _ in range(TRIALS):
        sizes = partition([int(w) for w in current], stages, breaks)
        bounds = [(sum(sizes[:i]), sum(sizes[: i + 1])) for i in range(len(sizes))]
        times = [time(begin, end) for begin, end in bounds]
        if not best[1] or max(times) < max(best[1]):
            best = sizes, times
        for (begin, end), found in zip(bounds, times, strict=True):
            factor = found / max(sum(current[begin:end]), 1.0)
            current[begin:end] = [max(w * factor, 1.0) for w in current[begin:end]]
    return best


def rounds(times: Sequence[float], switches: Sequence[float], microbatches: int) -> int:
    """Rounds in which the microbatches of a call best pass: while a stage works on one round, those after it have the rounds before.

    times: of each stage for all microbatches, switches between its epochs included; switches: of that, what every round takes anew.
    """

    def whole(count: int) -> float:
        each = max((time - switch) / count + switch for time, switch in zip(times, switches, strict=True))
        return (count + len(times) - 1) * each

    return min((d for d in range(1, microbatches + 1) if microbatches % d == 0), key=lambda d: (whole(d), d))

"""Cuts into epochs that are alike, where the layers of a network are.

An epoch that has the places of the one before it begins as soon as each core is through with its op there: all cores wait for the next
epoch's loading alone, and none for a rectangle that others leave late.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from math import inf

Window = tuple[int, int]
ALIKE = 0.8
"""The part of the ops that must have the same op one period later."""
SHORTEST = 4
"""The least number of ops of a period."""


def period_of(kinds: Sequence[Hashable]) -> int | None:
    """Return after how many ops nearly all of them come again, at most half of them; None if they do not.

    kinds: of the ops in their order, equal for those that are alike.
    """
    middle = len(kinds) // 2
    for period in range(SHORTEST, middle + 1):
        if kinds[middle] != kinds[middle - period]:
            continue
        pairs = zip(kinds, kinds[period:], strict=False)
        if sum(first == second for first, second in pairs) >= ALIKE * (len(kinds) - period):
            return period
    return None


def repeating(times: Sequence[Sequence[float]], period: int, wanted: int) -> list[list[list[Window]]]:
    """Return cuts with small estimated times, as (begin, end) of each epoch: by number of periods, about as many as wanted in all.

    Epochs have a number of whole periods, but for the first one, which may be up to half as long again, and what is left at the end.  Of
    cuts at the same ops of the periods the best alone counts.  times: estimated cycles of the epochs that begin with each op, by number of
    ops.
    """
    count, longest = len(times), max(map(len, times), default=0)
    sizes = range(period, min(longest, count - 1) + 1, period)
    found: list[list[list[Window]]] = []
    for size in sizes:
        best: dict[int, tuple[float, list[Window]]] = {}
        for first in range(1, min(size + size // 2, longest, count - size) + 1):
            for windows in _windows(count, first, size):
                entry = _estimated(times, windows), windows
                best[first % size] = min(best.get(first % size, entry), entry)
        found.append([windows for total, windows in sorted(best.values())[: max(wanted // len(sizes), 1)] if total < inf])
    return found


def _windows(count: int, first: int, size: int) -> Iterator[list[Window]]:
    """Yield the epochs behind a first one: what is left at the end by itself, and with the last whole one."""
    begins = [0, *range(first, count, size)]
    yield list(zip(begins, [*begins[1:], count], strict=True))
    if len(begins) > 2 and count - begins[-1] < size:
        yield list(zip(begins[:-1], [*begins[1:-1], count], strict=True))


def _estimated(times: Sequence[Sequence[float]], windows: Sequence[Window]) -> float:
    """Return the sum of the times of epochs; inf if one of them is not possible."""
    total = 0.0
    for begin, end in windows:
        if end - begin > len(times[begin]):
            return inf
        total += times[begin][end - begin - 1]
    return total

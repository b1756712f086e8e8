"""The order in which things run that need each other's results."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from heapq import heapify, heappop, heappush


def stable_order(needs: Mapping[str, Collection[str]]) -> list[str]:
    """Return names in an order in which each comes after those it needs, otherwise as given.

    Args:    needs: names of the mapping that each name comes after.
    Returns: all of them, or without those that wait for themselves, and for these.
    """
    names = list(needs)
    place = {name: index for index, name in enumerate(names)}
    waits = [len(set(needs[name])) for name in names]
    readers: list[list[int]] = [[] for _ in names]
    for index, name in enumerate(names):
        for needed in set(needs[name]):
            readers[place[needed]].append(index)
    ready = [index for index, count in enumerate(waits) if count == 0]
    heapify(ready)
    order: list[str] = []
    while ready:
        index = heappop(ready)
        order.append(names[index])
        for reader in readers[index]:
            waits[reader] -= 1
            if waits[reader] == 0:
                heappush(ready, reader)
    return order

"""Where buffers of a run lie: one after the other or in each other's place, by when they are needed."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from heapq import heappop, heappush

from ttc.dialects.core.records import record
from ttc.runtime.engines.native.graph.tensors import PlanBuffer
from ttc.runtime.pages import ALIGNMENT

MAX_PAIRS = 1 << 23
"""The most pairs of buffers alive together that a plan looks at; with more of them it looks at a part."""


@record
class Arena:
    """Offsets of buffers in bytes, and the size of all."""

    offsets: Mapping[PlanBuffer, int]
    size_bytes: int


def plan_arena(lifetimes: Mapping[PlanBuffer, tuple[int, int]]) -> Arena:
    """Choose places for buffers in one arena.

    Args:    lifetimes: first and last step that uses each, both included.
    Returns: offsets such that no two buffers that are alive at the same step overlap.  The largest are placed first, each at the
             lowest place where it fits; where too many are alive together to look at all of them, they are placed as they are born.
    """
    if _pairs(list(lifetimes.values())) > MAX_PAIRS:
        return _as_born(lifetimes)
    placed = _Placed(max((last for _, last in lifetimes.values()), default=0) + 1)
    offsets: dict[PlanBuffer, int] = {}
    end = 0
    for buffer in sorted(lifetimes, key=lambda b: (-b.size_bytes, lifetimes[b])):
        offset = _lowest(sorted(placed.alive(*lifetimes[buffer])), buffer.size_bytes)
        offsets[buffer] = offset
        placed.add(*lifetimes[buffer], (offset, offset + _rounded(buffer.size_bytes)))
        end = max(end, offset + _rounded(buffer.size_bytes))
    return Arena(offsets, end)


class _Placed:
    """Places that are taken, found by the steps at which they are.

    A tree over steps, numbered as a heap: each lifetime lies whole in a few nodes, and in part in those above them.
    """

    def __init__(self, steps: int) -> None:
        self._leaves = 1 << (steps - 1).bit_length()
        self._whole: dict[int, list[tuple[int, int]]] = {}
        self._part: dict[int, list[tuple[int, int]]] = {}

    def add(self, first: int, last: int, place: tuple[int, int]) -> None:
        """A place that is taken from a step to another, both included."""
        nodes, above = self._nodes(first, last)
        for node in nodes:
            self._whole.setdefault(node, []).append(place)
        for node in above:
            self._part.setdefault(node, []).append(place)

    def alive(self, first: int, last: int) -> set[tuple[int, int]]:
        """Return places that are taken at some step from one to another, both included."""
        nodes, above = self._nodes(first, last)
        found: set[tuple[int, int]] = set()
        for node in nodes:
            found.update(self._whole.get(node, ()), self._part.get(node, ()))
        for node in above:
            found.update(self._whole.get(node, ()))
        return found

    def _nodes(self, first: int, last: int) -> tuple[list[int], set[int]]:
        """Return the largest nodes that make up a range of steps, and all nodes above them."""
        nodes: list[int] = []
        low, high = first + self._leaves, last + 1 + self._leaves
        while low < high:
            if low & 1:
                nodes.append(low)
                low += 1
            if high & 1:
                high -= 1
                nodes.append(high)
            low, high = low >> 1, high >> 1
        above: set[int] = set()
        for node in nodes:
            node >>= 1
            while node and node not in above:
                above.add(node)
                node >>= 1
        return nodes, above


def _pairs(spans: Sequence[tuple[int, int]]) -> int:
    """Return pairs of lifetimes that have a step in common."""
    firsts = sorted(first for first, _ in spans)
    return sum(bisect_right(firsts, last) for _, last in spans) - len(spans) * (len(spans) + 1) // 2


def _as_born(lifetimes: Mapping[PlanBuffer, tuple[int, int]]) -> Arena:
    """Return places in the order of birth, each the lowest hole that is large enough."""
    holes: list[tuple[int, int]] = []
    dying: list[tuple[int, int, int]] = []  # last step, place
    offsets: dict[PlanBuffer, int] = {}
    end = 0
    for buffer in sorted(lifetimes, key=lambda b: (lifetimes[b][0], -b.size_bytes)):
        first, last = lifetimes[buffer]
        while dying and dying[0][0] < first:
            _, low, high = heappop(dying)
            _give_back(holes, low, high)
        size = _rounded(buffer.size_bytes)
        number = next((i for i, (low, high) in enumerate(holes) if high - low >= size), None)
        if number is None:
            offset, end = end, end + size
        else:
            offset, high = holes.pop(number)
            if offset + size < high:
                holes.insert(number, (offset + size, high))
        offsets[buffer] = offset
        heappush(dying, (last, offset, offset + size))
    return Arena(offsets, end)


def _give_back(holes: list[tuple[int, int]], low: int, high: int) -> None:
    """Make a place a hole, one with those that it touches; they are in order."""
    number = bisect_left(holes, (low, high))
    if number < len(holes) and holes[number][0] == high:
        high = holes.pop(number)[1]
    if number and holes[number - 1][1] == low:
        low = holes.pop(number - 1)[0]
        number -= 1
    holes.insert(number, (low, high))


def lower_bound(lifetimes: Mapping[PlanBuffer, tuple[int, int]]) -> int:
    """Return bytes alive at the step where most are: no plan takes less."""
    changes: dict[int, int] = {}
    for buffer, (first, last) in lifetimes.items():
        changes[first] = changes.get(first, 0) + _rounded(buffer.size_bytes)
        changes[last + 1] = changes.get(last + 1, 0) - _rounded(buffer.size_bytes)
    most = alive = 0
    for step in sorted(changes):
        alive += changes[step]
        most = max(most, alive)
    return most


def _lowest(taken: Sequence[tuple[int, int]], size_bytes: int) -> int:
    place = 0
    for start, end in taken:
        if place + size_bytes <= start:
            return place
        place = max(place, end)
    return place


def _rounded(size_bytes: int) -> int:
    return -(-size_bytes // ALIGNMENT) * ALIGNMENT

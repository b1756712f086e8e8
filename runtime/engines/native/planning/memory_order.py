"""The order of steps in which less memory is needed at one time: large values are made when they are read, not long before.

Graphs arrive in the order in which a device computes them, where what is ready early is placed early.  On a CPU that keeps values for
nothing: what gradients compute again stands before all gradients, and so do the scores of all layers' attention.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from ttc.runtime.engines.native.graph.tensors import Place, PlanBuffer
from ttc.runtime.engines.native.planning.step_order import Used, needs_of
from ttc.runtime.engines.native.planning.steps import can_fail

WORTH_BYTES = 1 << 20
"""The least that a new order must save at the peak; also a twentieth of it."""
_GAP = 1 << 512
"""Labels between neighbours, halved at each insertion between them."""


def compact_order(uses: Sequence[Used], kept: Collection[PlanBuffer]) -> list[int]:
    """Return the numbers of the steps in an order that needs less memory at its peak; as they are if that is not worth it.

    A step moves to right before the first one that needs it if what it writes is at least as large as what would have to be kept for it
    until then.  Steps that can fail, or run in Python, stay: results are written in place behind them alone.

    Args:
        uses: steps in an order in which values are right.
        kept: buffers that are needed after the last step.
    """
    same = list(range(len(uses)))
    spans = _spans(uses, same, kept)
    before = _peak(spans, len(uses))
    if before < WORTH_BYTES:
        return same
    found = _Sinking(uses, spans, kept).order()
    saved = before - _peak(_spans(uses, found, kept), len(uses))
    return found if saved >= max(WORTH_BYTES, before // 20) else same


class _Sinking:
    """Puts steps into their places from the last one to the first."""

    def __init__(self, uses: Sequence[Used], spans: Mapping[PlanBuffer, tuple[int, int]], kept: Collection[PlanBuffer]) -> None:
        self._uses = uses
        self._spans = spans
        self._kept = kept
        self._users: list[list[int]] = [[] for _ in uses]
        for number, needed in enumerate(needs_of(uses)):
            for other in needed:
                self._users[other].append(number)
        self._line = _Line(len(uses))
        self._latest: dict[PlanBuffer, int] = {}

    def order(self) -> list[int]:
        """Return all steps in their new order."""
        for number in reversed(range(len(self._uses))):
            first = min(self._users[number], key=self._line.label, default=None)
            self._line.insert(number, first if first is not None and self._is_worth(number, first) else None)
            for buffer in self._buffers(number):
                latest = self._latest.get(buffer)
                if latest is None or self._line.label(latest) < self._line.label(number):
                    self._latest[buffer] = number
        return list(self._line)

    def _is_worth(self, number: int, place: int) -> bool:
        """Return whether a step should stand right before the one at `place`, which needs it."""
        if can_fail(self._uses[number].step):
            return False
        gain = 0
        for buffer in self._buffers(number):
            latest = self._latest.get(buffer)
            if self._spans[buffer][0] == number:
                gain += buffer.size_bytes
            elif buffer not in self._kept and (latest is None or self._line.label(latest) < self._line.label(place)):
                gain -= buffer.size_bytes
        return gain >= 0

    def _buffers(self, number: int) -> Iterator[PlanBuffer]:
        """Yield the buffers of the arena that a step uses."""
        use = self._uses[number]
        return (buffer for buffer in dict.fromkeys((*use.reads, *use.writes)) if buffer in self._spans)


class _Line:
    """Numbers in a line, into which others are put: labels tell which of two stands before the other."""

    def __init__(self, count: int) -> None:
        self._labels = [0] * count
        self._before: list[int | None] = [None] * count
        self._after: list[int | None] = [None] * count
        self._head: int | None = None

    def __iter__(self) -> Iterator[int]:
        number = self._head
        while number is not None:
            yield number
            number = self._after[number]

    def label(self, number: int) -> int:
        """Return what is less than the labels of all that stand behind a number."""
        return self._labels[number]

    def insert(self, number: int, place: int | None) -> None:
        """Put a number right before another, or before all if there is none."""
        after = self._head if place is None else place
        before = None if after is None else self._before[after]
        self._before[number], self._after[number] = before, after
        if after is not None:
            self._before[after] = number
        if before is None:
            self._head = number
            self._labels[number] = 0 if after is None else self._labels[after] - _GAP
            return
        self._after[before] = number
        assert after is not None
        self._labels[number] = (self._labels[before] + self._labels[after]) // 2
        if self._labels[number] == self._labels[before]:
            for position, each in enumerate(self):
                self._labels[each] = position * _GAP


def _spans(uses: Sequence[Used], order: Sequence[int], kept: Collection[PlanBuffer]) -> dict[PlanBuffer, tuple[int, int]]:
    """Return the first and the last place in an order at which each buffer of the arena is used."""
    found: dict[PlanBuffer, tuple[int, int]] = {}
    for place, number in enumerate(order):
        for buffer in (*uses[number].reads, *uses[number].writes):
            if buffer.place is Place.ARENA:
                found[buffer] = found.get(buffer, (place, place))[0], len(order) - 1 if buffer in kept else place
    return found


def _peak(spans: Mapping[PlanBuffer, tuple[int, int]], steps: int) -> int:
    """Return the most bytes of buffers that are alive at one step."""
    changes = [0] * (steps + 1)
    for buffer, (first, last) in spans.items():
        changes[first] += buffer.size_bytes
        changes[last + 1] -= buffer.size_bytes
    most = alive = 0
    for change in changes:
        alive += change
        most = max(most, alive)
    return most

"""The order of steps: each after those that it needs, and as far as possible after those that it had better wait for."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Protocol

from ttc.dialects.core.records import record
from ttc.runtime.engines.native.graph.tensors import STATUS, PlanBuffer
from ttc.runtime.engines.native.planning.python_step import PythonStep
from ttc.runtime.engines.native.planning.steps import Step


@record
class Wish:
    """The wish that a step come after all that can fail, and after some others.

    Args:
        first: the step.
        readers: the others.
    """

    first: int
    readers: tuple[int, ...]


class Used(Protocol):
    """A step with the buffers that it reads and writes."""

    @property
    def step(self) -> Step: ...
    @property
    def reads(self) -> Sequence[PlanBuffer]: ...
    @property
    def writes(self) -> Sequence[PlanBuffer]: ...


def in_order(uses: Sequence[Used], wishes: Sequence[Wish], fails: Sequence[int]) -> list[int]:
    """Return the numbers of the steps in an order that keeps all values as they are.

    Steps stay in their order, but that those with a wish wait for others; wishes that contradict each other, or what steps need, are not
    granted.  fails: steps that can fail.
    """
    needs = needs_of(uses)
    inevitable = _ancestors(needs, fails)
    waits: dict[int, set[int]] = {}
    for wish in wishes:
        if wish.first not in inevitable:
            waits.setdefault(wish.first, set()).update(wish.readers)
    return _Walk(needs, waits, set(fails)).order()


class _Walk:
    """Takes the first step that is free, again and again."""

    def __init__(self, needs: Sequence[set[int]], waits: dict[int, set[int]], fails: set[int]) -> None:
        self._left = [len(before) for before in needs]
        self._users: list[list[int]] = [[] for _ in needs]
        for number, before in enumerate(needs):
            for other in before:
                self._users[other].append(number)
        self._waits = waits
        self._waiting: dict[int, list[int]] = {}
        for number, others in waits.items():
            others.discard(number)
            for other in others:
                self._waiting.setdefault(other, []).append(number)
        self._fails = fails
        self._free: list[int] = []
        self._held: set[int] = set()

    def order(self) -> list[int]:
        """Return all steps in an order that keeps what they need and grants wishes."""
        found: list[int] = []
        for number, left in enumerate(self._left):
            if not left:
                self._offer(number)
        while self._free or self._held:
            if not self._free:  # wishes that contradict each other
                number = min(self._held)
                self._held.discard(number)
            else:
                number = heappop(self._free)
            found.append(number)
            self._done(number)
        return found

    def _offer(self, number: int) -> None:
        if self._waits.get(number) or (number in self._waits and self._fails):
            self._held.add(number)
        else:
            heappush(self._free, number)

    def _done(self, number: int) -> None:
        for user in self._users[number]:
            self._left[user] -= 1
            if not self._left[user]:
                self._offer(user)
        woken = self._waiting.pop(number, [])
        for other in woken:
            self._waits[other].discard(number)
        if number in self._fails:
            self._fails.discard(number)
            woken = woken if self._fails else list(self._held)
        for other in woken:
            if other in self._held:
                self._held.discard(other)
                self._offer(other)


def needs_of(uses: Sequence[Used]) -> list[set[int]]:
    """Return the steps that each must come after: writers of what it reads, users of what it writes; steps in Python keep their order."""
    found: list[set[int]] = []
    writer: dict[PlanBuffer, int] = {}
    readers: dict[PlanBuffer, list[int]] = {}
    python: int | None = None
    for number, use in enumerate(uses):
        before: set[int] = {writer[buffer] for buffer in (*use.reads, *use.writes) if buffer in writer}
        for buffer in use.writes:
            if buffer is not STATUS.buffer:
                before.update(readers.pop(buffer, ()))
                writer[buffer] = number
        for buffer in use.reads:
            readers.setdefault(buffer, []).append(number)
        if isinstance(use.step, PythonStep):
            before.update(() if python is None else (python,))
            python = number
        before.discard(number)
        found.append(before)
    return found


def _ancestors(needs: Sequence[set[int]], steps: Sequence[int]) -> set[int]:
    """Return these steps, and all that must come before one of them."""
    found, left = set(steps), list(steps)
    while left:
        new = needs[left.pop()] - found
        found |= new
        left.extend(new)
    return found

"""Chips of a target that programs are spread over: any of them, or some in a row, each linked to the next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ttc.dialects.core.errors import Error
from ttc.dialects.core.machines.targets import Target
from ttc.dialects.core.machines.ways import ways_from

MAX_STEPS = 20_000
"""Steps of each search for chips in a row."""


def chips_in_a_row(target: Target, count: int, starts: Iterable[int] = (), chips: Sequence[int] = ()) -> tuple[int, ...]:
    """Return as many chips of a target as asked for, each joined with the next.

    Args:
        starts: chips to begin with, if that works out; chips: those there are, all of the target's if not given.
    Raises: E0101 if there are not as many, or no such row is found.
    """
    there = tuple(chips) or tuple(range(target.chips))
    if count > len(there):
        hint = "--cluster FILE describes several" if target.chips == 1 and not chips else None
        have = "1 chip" if len(there) == 1 else f"{len(there)} chips"
        raise Error("E0101", f"target {target.name} has {have}, not {count}", hint=hint)
    if count == 1:
        return (next(iter(starts), there[0]),)
    joined: dict[int, list[int]] = {chip: [] for chip in there}
    for a, b, _ in target.links:
        joined[a].append(b)
        joined[b].append(a)
    order = [*dict.fromkeys(starts), *there]
    for by_degree in (False, True):
        found = _row(joined, list(dict.fromkeys(order)), count, by_degree=by_degree)
        if found is not None:
            return found
    hint = f"links: {', '.join(f'{a}-{b}' for a, b, _ in target.links[:16]) or 'none'}"
    raise Error("E0101", f"target {target.name} has no {count} chips of which each is linked to the next", hint=hint)


def _row(joined: dict[int, list[int]], starts: Sequence[int], count: int, *, by_degree: bool) -> tuple[int, ...] | None:
    """Depth-first search, neighbours by their number, or those with the fewest ways on first.  Taken chips are bits of a number."""

    def ways(chip: int, taken: int) -> list[int]:
        free = [n for n in joined[chip] if not taken >> n & 1]
        return sorted(free, key=lambda n: (sum(not taken >> m & 1 for m in joined[n]) if by_degree else 0, n))

    pending = [((start,), 1 << start) for start in reversed(starts)]
    for _ in range(MAX_STEPS):
        if not pending:
            return None
        path, taken = pending.pop()
        if len(path) == count:
            return path
        pending += [((*path, n), taken | 1 << n) for n in reversed(ways(path[-1], taken))]
    return None


def some_chips(target: Target, count: int, starts: Iterable[int] = (), chips: Sequence[int] = ()) -> tuple[int, ...]:
    """Return as many chips of a target as asked for, in a row if there is one, else in the order of their numbers.

    Arguments as of `chips_in_a_row`.  Raises E0101 if there are not as many.
    """
    try:
        return chips_in_a_row(target, count, starts, chips)
    except Error:
        there = tuple(chips) or tuple(range(target.chips))
        if count > len(there):
            raise
        return there[:count]


def near_chips(target: Target, chips: Sequence[int], count: int) -> tuple[int, ...]:
    """Return so many of some chips with few steps between them: from each in turn, the one nearest to those that are taken comes next.

    Chips without a way between them are taken last.
    """
    if count >= len(chips):
        return tuple(chips)
    distances = {chip: {other: len(way) for other, way in ways_from(target.links, chip).items()} for chip in chips}
    groups: list[tuple[int, list[int]]] = []
    for first in chips:
        taken, total, far = [first], 0, {chip: distances[first].get(chip, len(chips)) for chip in chips if chip != first}
        while len(taken) < count:
            nearest = min(far, key=lambda chip: far[chip])
            total += far.pop(nearest)
            taken.append(nearest)
            far = {chip: steps + distances[nearest].get(chip, len(chips)) for chip, steps in far.items()}
        groups.append((total, taken))
    return tuple(min(groups, key=lambda group: group[0])[1])


def is_row(target: Target, chips: Sequence[int]) -> bool:
    """Return whether each chip is linked to the next."""
    return _gap(target, chips) is None


def require_linked(target: Target, chips: Sequence[int]) -> None:
    """Raises E0101 unless each chip is linked to the next."""
    gap = _gap(target, chips)
    if gap is not None:
        message = f"target {target.name} has no {len(chips)} chips of which each is linked to the next, as a pipeline wants them"
        raise Error("E0101", message, hint=f"no link joins chips {gap[0]} and {gap[1]}")


def _gap(target: Target, chips: Sequence[int]) -> tuple[int, int] | None:
    """Return the first two chips that follow each other without a link."""
    joined = {pair for a, b, _ in target.links for pair in ((a, b), (b, a))}
    return next((pair for pair in zip(chips, chips[1:], strict=False) if pair not in joined), None)

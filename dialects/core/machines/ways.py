"""Ways between chips, step by step over their links."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

Link = tuple[int, int, int]
"""The chip that data leaves, the one it goes to, and the Ethernet links between them."""


def ways_from(links: Iterable[Link], chip: int) -> dict[int, tuple[Link, ...]]:
    """Return, for each chip that can be reached, a shortest way there: its steps in order, each with the links between its two chips.

    links: between pairs of chips, to be used in both directions.
    """
    joined: dict[int, dict[int, int]] = {}
    for one, other, count in links:
        joined.setdefault(one, {})[other] = count
        joined.setdefault(other, {})[one] = count
    ways: dict[int, tuple[Link, ...]] = {chip: ()}
    waiting = deque([chip])
    while waiting:
        at = waiting.popleft()
        for other, count in sorted(joined.get(at, {}).items()):
            if other not in ways:
                ways[other] = (*ways[at], (at, other, count))
                waiting.append(other)
    return ways

"""Ways between chips over Ethernet."""

from __future__ import annotations

from collections import deque

from ttc.dialects.netlist.model import Chip

UNBOUNDED = 1 << 30
"""The number of links from a chip to itself: more than any two chips have."""


def links_from(machine: Chip, chip: int) -> dict[int, int]:
    """Return, for each chip that can be reached, the links of the narrowest step on a shortest way there; of ways as short, the widest
    counts.
    """
    joined: dict[int, list[tuple[int, int]]] = {}
    for one, other, count in machine.links:
        joined.setdefault(one, []).append((other, count))
        joined.setdefault(other, []).append((one, count))
    steps, widths = {chip: 0}, {chip: UNBOUNDED}
    waiting = deque([chip])
    while waiting:
        at = waiting.popleft()
        for other, count in joined.get(at, ()):
            if other not in steps:
                steps[other] = steps[at] + 1
                waiting.append(other)
            if steps[other] == steps[at] + 1:
                widths[other] = max(widths.get(other, 0), min(widths[at], count))
    return widths

"""Ways between chips over Ethernet."""

from __future__ import annotations

from collections import deque

from ttc.dialects.netlist.model import Chip

UNBOUNDED = 1 << 30
"""Links from a chip to itself."""


def links_from(machine: Chip, chip: int) -> dict[int, int]:
    """For each chip that there is a way to, the Ethernet links of the narrowest step on a shortest way; of ways as short, the widest."""
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

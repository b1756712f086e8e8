"""Ways between chips over Ethernet."""

from __future__ import annotations

from collections import deque

from ttc.dialects.netlist.model import Chip


def links_between(machine: Chip, a: int, b: int) -> int | None:
    """Ethernet links of the narrowest step on a shortest way from one chip to another; of ways as short, the widest.

    0 if there is no way; None if the netlist does not say how its chips are linked, or for one chip.
    """
    if not machine.links or a == b:
        return None
    joined: dict[int, list[tuple[int, int]]] = {}
    for one, other, count in machine.links:
        joined.setdefault(one, []).append((other, count))
        joined.setdefault(other, []).append((one, count))
    steps, widths = {a: 0}, {a: 1 << 30}
    waiting = deque([a])
    while waiting:
        chip = waiting.popleft()
        for other, count in joined.get(chip, ()):
            if other not in steps:
                steps[other] = steps[chip] + 1
                waiting.append(other)
            if steps[other] == steps[chip] + 1:
                widths[other] = max(widths.get(other, 0), min(widths[chip], count))
    return widths.get(b, 0)

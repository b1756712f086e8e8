"""Memory of a part of a netlist: lifetimes by its own epochs, addresses as in the whole where they still serve."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace

from ttc.dialects.netlist.check_programs import InstructionWalk, needed_epochs
from ttc.dialects.netlist.check_queues import Range, overlaps
from ttc.dialects.netlist.model import Netlist, Queue
from ttc.dialects.netlist.occupancy import ALWAYS, align

Place = tuple[str, int, int]
"""A memory, a chip (0 for the host's memory), a channel."""


def arranged(part: Netlist, walks: Sequence[InstructionWalk], joints: Collection[str]) -> Netlist:
    """The part with lifetimes counted in its own epochs, and queues that would share bytes moved behind all others of their channels.

    Args:    walks: through its programs.  joints: queues that are filled or read from outside, at any time: they hold their values always.
    """
    spans = _spans(part, walks)
    queues: dict[str, Queue] = {}
    for name, queue in part.queues.items():
        lifetime = None if queue.lifetime is None or name in joints else spans.get(name, (0, 0))
        queues[name] = replace(queue, lifetime=lifetime)
    return replace(part, queues=_moved(queues, part, joints))


def _spans(part: Netlist, walks: Sequence[InstructionWalk]) -> dict[str, tuple[int, int]]:
    """First and last epoch in which each queue must hold its value, of all programs."""
    spans: dict[str, tuple[int, int]] = {}
    for walk in walks:
        uses: dict[str, list[int]] = defaultdict(list)
        for epoch, (graph, _) in enumerate(walk.epochs):
            for name in (*part.read_by(graph), *(queue for _, queue in graph.writes)):
                uses[name].append(epoch)
        for name, epochs in uses.items():
            first, last = needed_epochs(part.queues[name].kind, epochs, walk)
            before = spans.get(name, (first, last))
            spans[name] = min(before[0], first), max(before[1], last)
    return spans


def _moved(queues: dict[str, Queue], part: Netlist, joints: Collection[str]) -> dict[str, Queue]:
    """Return queues without overlaps: joints give way first, since it is they that live longer or hold more than they did."""
    ranges: dict[Place, list[Range]] = defaultdict(list)
    tops: dict[Place, int] = {}
    for queue in queues.values():
        for place, address in _places(queue):
            end = address + queue.buffer_bytes
            tops[place] = max(tops.get(place, 0), end)
            if queue.buffer_bytes:
                ranges[place].append(Range(address, end, queue.lifetime or ALWAYS, queue.name))
    clashing = {name for members in ranges.values() for opened, other in overlaps(members) for name in (opened.queue, other)}
    away = clashing & set(joints)
    rest = {place: [r for r in members if r.queue not in away] for place, members in ranges.items()}
    away |= {opened.queue for members in rest.values() for opened, _ in overlaps(members)}
    unit = part.chip.alignment_bytes
    for name in (name for name in queues if name in away):
        buffers: list[tuple[int, int]] = []
        for place, _ in _places(queues[name]):
            start = align(tops[place], unit)
            tops[place] = start + queues[name].buffer_bytes
            buffers.append((place[2], start))
        queues[name] = replace(queues[name], buffers=tuple(buffers))
    return queues


def _places(queue: Queue) -> list[tuple[Place, int]]:
    chip = queue.chip if queue.location == "dram" else 0
    return [((queue.location, chip, channel), address) for channel, address in queue.buffers]

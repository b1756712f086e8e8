"""The ways of weights from channels of DRAM to cores, and how fast they are loaded.

A read takes one of the nodes of its channel, its port, and one of the two NoCs.  On NoC 0 answers go along the row of the port to the
right and then down the column of the core, on NoC 1 up the column of the port and then along the row of the core to the left; both wrap
around.  What overlaps shares a link: that is why readers anywhere on the chip get less than DRAM has (p150: two answers in each of four
rows, 255 of 371 bytes a cycle), and why ports and NoCs that keep ways apart get all of it.  What several cores take in is read by one of
them, and multicast from there on NoC 1.

Sources: tt-metal, tech_reports/Saturating_DRAM_bandwidth (both measurements, and the reason); tt-isa-documentation (routing).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from ttc.dialects.core.machines.targets import Target
from ttc.dialects.netlist.model import Grid
from ttc.runtime.perf.movement import crossing_rate
from ttc.runtime.perf.rates import Rates, rates_of

Node = tuple[int, int]
Ports = tuple[tuple[int, int], ...]
"""(NoC, number of the channel's node) by which a buffer is read, as many for each buffer, one buffer after another; packets take turns."""
NOCS = (0, 1)
MULTICAST_NOC = 1


@dataclass(frozen=True, slots=True)
class Loading:
    """What an op loads of one queue.

    Args:
        place: of the op; spread: rows and columns of equal parts of it, as its blocking has them.
        parts: how many different shares of the queue its cores hold; copies: cores that have the same one, if more than one.
        along: whether shares lie along the side by which the queue is cut into buffers; otherwise each has a part of every buffer.
        channels: of the buffers, in their order.
    """

    place: Grid
    spread: tuple[int, int]
    parts: int
    copies: int
    along: bool
    channels: tuple[int, ...]

    def members(self) -> list[list[Node]]:
        """Return the cores of each share as (row, column) of the chip's grid."""
        place, found = self.place, {}
        for row in range(place.rows):
            for col in range(place.cols):
                core = (place.row + col, place.col + row) if place.transposed else (place.row + row, place.col + col)
                found.setdefault(min(self.share(row, col), self.parts - 1), []).append(core)
        return [found[number] for number in sorted(found)]

    def share(self, row: int, col: int) -> int:
        """Return which share a core holds.  row, col: of it in the op's grid."""
        below, beside = self.spread
        height, width = max(self.place.rows // below, 1), max(self.place.cols // beside, 1)
        across, down = row // height * width + col % width, col // width * height + row % height
        if self.copies == 1:
            return down * below * width + across
        columns, rows = below * width, beside * height
        return across if abs(self.parts - columns) <= abs(self.parts - rows) else down

    def pieces(self, share: int, shares: int) -> list[tuple[int, float]]:
        """Return the buffers that a share comes from, and the part of the whole queue that comes from each."""
        count = len(self.channels)
        if not self.along:
            return [(number, 1.0 / (shares * count)) for number in range(count)]
        begin, end = share / shares * count, (share + 1) / shares * count
        found = ((number, min(end, number + 1) - max(begin, number)) for number in range(int(begin), min(int(end) + 1, count)))
        return [(number, part / count) for number, part in found if part > 1e-9]


@lru_cache(maxsize=1 << 16)
def way(size: Node, noc: int, source: Node, target: Node) -> tuple[int, ...]:
    """Return the links that data passes from one node to another, as numbers.  size: columns and rows of nodes."""
    (x, y), (width, height) = source, size
    step, found = 1 - 2 * noc, []
    for axis in (0, 1) if noc == 0 else (1, 0):
        while (x, y)[axis] != target[axis]:
            found.append(((2 * noc + axis) * height + y) * width + x)
            x, y = ((x + step) % width, y) if axis == 0 else (x, (y + step) % height)
    return tuple(found)


def has_ways(target: Target) -> bool:
    """Return whether it is known where the cores of a target and its DRAM lie on the NoC."""
    grid = target.grid or (0, 0)
    known = target.noc_size is not None and len(target.dram_nodes) == target.dram_channels > 0
    return known and len(target.rows) >= grid[0] and len(target.columns) >= grid[1]


class Ways:
    """Shares of the time that links, nodes and channels are busy with what an op loads, in cycles for each byte of the whole.

    An answer's way begins at a port, whose rate is its own.  fixed: what multicasts take.
    """

    def __init__(self, target: Target, loading: Loading) -> None:
        self.target, self.rates = target, rates_of(target)
        self.flow = self.rates.packets[-1][1]
        self.channels = loading.channels
        self.flows: dict[int, list[tuple[Node, float]]] = {}
        self.busy: dict[int, float] = {}
        members = loading.members()
        for share, cores in enumerate(members):
            nodes = [(target.columns[col], target.rows[row]) for row, col in cores]
            pieces = loading.pieces(share, len(members))
            for number, part in pieces:
                self.flows.setdefault(number, []).append((nodes[-1], part))
            self.spend({link for node in nodes[:-1] for link in self.way(MULTICAST_NOC, nodes[-1], node)}, sum(part for _, part in pieces))

    def way(self, noc: int, source: Node, target: Node) -> tuple[int, ...]:
        return way(self.target.noc_size or (1, 1), noc, source, target)

    def spend(self, links: Iterable[int], part: float) -> None:
        """Let a part of the whole pass some links."""
        for link in links:
            self.busy[link] = self.busy.get(link, 0.0) + part / self.flow

    def cost(self, buffer: int, noc: int, port: int, share: float) -> tuple[Mapping[int, float], float]:
        """Return what links and the port spend on a share of a buffer, and the hops of all of it."""
        node = self.target.dram_nodes[self.channels[buffer]][port]
        found: dict[int, float] = {}
        hops = 0.0
        for core, part in self.flows.get(buffer, ()):
            links = self.way(noc, node, core)
            hops += part * len(links)
            for link in links:
                found[link] = found.get(link, 0.0) + share * part / self.flow
        key = -1 - (node[1] * (self.target.noc_size or (1, 1))[0] + node[0])
        found[key] = share * sum(part for _, part in self.flows.get(buffer, ())) / self.rates.inject_dram
        return found, hops

    def take(self, spent: Mapping[int, float]) -> None:
        """Add what a share of a buffer spends."""
        for key, cycles in spent.items():
            self.busy[key] = self.busy.get(key, 0.0) + cycles

    def choose(self) -> Ports:
        """Return ports for all buffers: for one after another those that keep the busiest link least busy, of several the nearest."""
        each = -(-self.rates.dram_channel // self.rates.inject_dram)
        found: list[tuple[int, int]] = []
        for buffer, channel in enumerate(self.channels):
            for _ in range(int(each)):
                ranked: list[tuple[float, float, int, int]] = []
                for port in range(len(self.target.dram_nodes[channel])):
                    for noc in NOCS:
                        spent, hops = self.cost(buffer, noc, port, 1 / each)
                        ranked.append((max(self.busy.get(key, 0.0) + cycles for key, cycles in spent.items()), hops, noc, port))
                _, _, noc, port = min(ranked)
                self.take(self.cost(buffer, noc, port, 1 / each)[0])
                found.append((noc, port))
        return tuple(found)

    def rate(self, ports: Ports) -> float:
        """Return bytes a cycle at which all is loaded through such ports, nothing else on the chip's links."""
        each = max(len(ports) // max(len(self.channels), 1), 1)
        for number, (noc, port) in enumerate(ports):
            self.take(self.cost(number // each, noc, port, 1 / each)[0])
        channels: dict[int, float] = {}
        for buffer, flows in self.flows.items():
            channel = self.channels[buffer]
            channels[channel] = channels.get(channel, 0.0) + sum(part for _, part in flows) / self.rates.dram_channel
        return 1.0 / max([*self.busy.values(), *channels.values()])


@lru_cache(maxsize=1 << 12)
def ports_of(target: Target, loading: Loading) -> Ports:
    """Return the ports by which an op should read the buffers of a queue."""
    return Ways(target, loading).choose()


@lru_cache(maxsize=1 << 12)
def rate_of(target: Target, loading: Loading, ports: Ports) -> float:
    """Return bytes a cycle at which an op loads a queue: at least those of ways that nobody chose, which cores anywhere get."""
    rates = rates_of(target)
    return max(Ways(target, loading).rate(ports), crossing_rate(rates, len(set(loading.channels))))


def likely_rate(rates: Rates, channels: int, parts: int) -> float:
    """Return bytes a cycle at which shares of so many cores are loaded when ports are chosen, before it is known where the cores lie.

    Each share, and each buffer, has the links to one core for itself.
    """
    apart = min(channels * rates.dram_channel, min(parts, channels) * rates.packets[-1][1])
    return max(apart, crossing_rate(rates, channels))

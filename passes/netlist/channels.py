"""The channel of every buffer: by the bytes moved through it, or by a rule of a name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.records import record

SLACK = 0.25
"""Share of a buffer's own traffic by which a channel may be busier than the idlest and still be chosen for other reasons."""


@record(slots=True)
class ChannelDemand:
    """What the choice of channels depends on for one queue.

    Args:
        name: of the queue.
        size_bytes: of each buffer, a multiple of the alignment.
        count: of buffers.
        first, last: epochs in which it must hold its value, both included.
        traffic: (phase, bytes read and written of each buffer in it); an epoch has two phases.
        hops: distance on the NoC of each channel from those who read it; empty: unknown.
        parity: 0 or 1: of the epoch that writes it; None: no epoch does.
        channel: the one the user asks for; None: any.
    """

    name: str
    size_bytes: int
    count: int
    first: int
    last: int
    traffic: tuple[tuple[int, int], ...] = ()
    hops: tuple[int, ...] = ()
    parity: int | None = None
    channel: int | None = None


@record(frozen=False)
class Channels:
    """The channels of one memory, filled buffer by buffer.

    Args:
        capacity_bytes: of each channel.
        epochs: of the program.
        policy: one of `numerics.DRAM_PLACEMENTS`.
    """

    capacity_bytes: Sequence[int]
    epochs: int
    policy: str
    live: NDArray[np.int64] = field(init=False)
    load: NDArray[np.int64] = field(init=False)
    turns: dict[int | None, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.live = np.zeros((len(self.capacity_bytes), self.epochs), np.int64)
        self.load = np.zeros((len(self.capacity_bytes), 2 * self.epochs), np.int64)
        self.capacity = np.array(self.capacity_bytes, np.int64)

    def choose(self, demand: ChannelDemand, banned: frozenset[int] = frozenset()) -> int | None:
        """Return a channel for one more buffer, which it holds from now on; None if no channel but those banned has room."""
        alive = self.live[:, demand.first : demand.last + 1].max(axis=1)
        able = [c for c in np.flatnonzero(alive + demand.size_bytes <= self.capacity).tolist() if c not in banned]
        if demand.channel is not None:
            able = [c for c in able if c == demand.channel]
        if not able:
            return None
        chosen = able[0] if len(able) == 1 else self._preferred(demand, able, alive)
        self.live[chosen, demand.first : demand.last + 1] += demand.size_bytes
        for phase, moved in demand.traffic:
            self.load[chosen, phase] += moved
        return chosen

    def _preferred(self, demand: ChannelDemand, able: list[int], alive: NDArray[np.int64]) -> int:
        match self.policy:
            case "round_robin":
                return self._next(None, able, range(len(self.capacity)))
            case "round_robin_flip_flop":
                half = len(self.capacity) // 2
                sides = {0: range(half), 1: range(half, len(self.capacity))}
                side = sides.get(demand.parity, range(0)) if demand.parity is not None else range(0)
                return self._next(demand.parity, able, side or range(len(self.capacity)))
            case "greatest_capacity":
                return max(able, key=lambda c: (self.capacity[c] - alive[c], -c))
            case "closest":
                return min(able, key=lambda c: (self._hops(demand, c), c))
            case _:
                return self._idlest(demand, able, alive)

    def _next(self, turn: int | None, able: list[int], side: range) -> int:
        """Return the channel whose turn it is among those of a side, or the first one after it that has room."""
        start = self.turns.get(turn, 0)
        order = [side[(start + i) % len(side)] for i in range(len(side))]
        chosen = next((c for c in order if c in able), able[0])
        self.turns[turn] = (side.index(chosen) + 1) % len(side) if chosen in side else start
        return chosen

    def _idlest(self, demand: ChannelDemand, able: list[int], alive: NDArray[np.int64]) -> int:
        """The channel with the least traffic in the phases of the buffer; of nearly equal ones that whose peak grows least, the nearest."""
        loads = dict.fromkeys(able, 0)
        for phase, _ in demand.traffic:
            column = self.load[:, phase].tolist()
            for channel in able:
                loads[channel] += column[channel]
        limit = min(loads.values()) + SLACK * sum(moved for _, moved in demand.traffic)
        growth = np.maximum(alive + demand.size_bytes - self.live.max(axis=1), 0).tolist()
        near = [c for c in able if loads[c] <= limit]
        return min(near, key=lambda c: (growth[c], self._hops(demand, c), loads[c], alive[c], c))

    @staticmethod
    def _hops(demand: ChannelDemand, channel: int) -> int:
        return demand.hops[channel] if channel < len(demand.hops) else 0


@record
class Noc:
    """Distances on a NoC of two opposite rings in each dimension.

    Args:
        size: columns and rows of nodes.
        nodes: (x, y) of the nodes of each DRAM channel.
    """

    size: tuple[int, int]
    nodes: tuple[tuple[tuple[int, int], ...], ...]

    def hops(self, x: int, y: int) -> tuple[int, ...]:
        """Hops to a node from the nearest node of each channel, on whichever of the two rings is shorter."""
        return tuple(min(self._between(node, (x, y)) for node in ports) for ports in self.nodes)

    def _between(self, a: tuple[int, int], b: tuple[int, int]) -> int:
        forth = sum((b[i] - a[i]) % self.size[i] for i in (0, 1))
        back = sum((a[i] - b[i]) % self.size[i] for i in (0, 1))
        return min(forth, back)

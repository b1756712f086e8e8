"""Address assignment by lifetimes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Request:
    """A block to place.  size_bytes: of it; first, last: epochs in which it must hold its value, both included."""

    name: str
    size_bytes: int
    first: int
    last: int


@dataclass
class Channel:
    """One DRAM channel, or the host's memory.

    Args:
        base: first free address.
        limit: end of the channel; None: unbounded.
        alignment: of addresses, in bytes.
    """

    base: int
    limit: int | None
    alignment: int
    placed: list[tuple[int, int, Request]] = field(default_factory=list)
    load_bytes: int = 0

    def place(self, request: Request) -> int | None:
        """The lowest address at which the block overlaps no other that is alive at the same time; None if there is none."""
        size = self._aligned(request.size_bytes)
        address = self._aligned(self.base)
        for start, end, _ in self._alive_with(request):
            if start - address >= size:
                break
            address = max(address, end)
        if self.limit is not None and address + size > self.limit:
            return None
        self.placed.append((address, address + size, request))
        self.load_bytes += size
        return address

    @property
    def peak(self) -> int:
        """End of the highest block, in bytes from the base."""
        return max((end for _, end, _ in self.placed), default=self.base) - self.base

    def _alive_with(self, request: Request) -> list[tuple[int, int, Request]]:
        alive = [p for p in self.placed if p[2].first <= request.last and request.first <= p[2].last]
        return sorted(alive, key=lambda p: p[0])

    def _aligned(self, value: int) -> int:
        return -(-value // self.alignment) * self.alignment


def place_all(
    channels: Sequence[Channel], requests: Sequence[tuple[Request, int]]
) -> tuple[dict[str, tuple[tuple[int, int], ...]], list[str]]:
    """Places for queues of several equal buffers.

    Args:
        requests: (request for one buffer, number of buffers).  The longest lived and the largest go first.
    Returns: (channel, address) of every buffer by request name, each buffer in the emptiest channel that has room; and the names of
        requests that found none.
    """
    found: dict[str, tuple[tuple[int, int], ...]] = {}
    failed: list[str] = []
    order = sorted(requests, key=lambda r: (r[0].first - r[0].last, -r[0].size_bytes * r[1], r[0].name))
    for request, count in order:
        places: list[tuple[int, int]] = []
        for _ in range(count):
            spot = _emptiest(channels, request)
            if spot is None:
                failed.append(request.name)
                break
            places.append(spot)
        found[request.name] = tuple(places)
    return found, failed


def _emptiest(channels: Sequence[Channel], request: Request) -> tuple[int, int] | None:
    for index in sorted(range(len(channels)), key=lambda i: (channels[i].load_bytes, i)):
        address = channels[index].place(request)
        if address is not None:
            return index, address
    return None

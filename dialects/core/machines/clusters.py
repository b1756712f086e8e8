"""Clusters: several chips, and the Ethernet links between them, from descriptor files in Tenstorrent's form.

chips: {0: [0, 0, 0, 0], 1: [1, 0, 0, 0]}                             # number: place in the rack
ethernet_connections: [[{chip: 0, chan: 8}, {chip: 1, chan: 0}], ...]  # two channels that a cable joins
chips_with_mmio: [0]                                                  # those that the host reaches by itself
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.machines.target_fields import MAX_CHIPS, MAX_LINKS, integer
from ttc.dialects.core.machines.targets import Target
from ttc.dialects.core.records import record

Link = tuple[int, int, int]
"""(chip, chip, number of Ethernet links), the lower chip first."""

REQUIRED = ("chips", "ethernet_connections")
OPTIONAL = ("chips_with_mmio",)
IGNORED = ("arch", "board_type", "boardtype", "chip_to_boardtype", "chip_unique_ids", "harvesting", "io_device_type")
MAX_CHANNEL = 255
MAX_STEPS = 20_000
"""Steps of each search for chips in a row."""
_TEXT = re.compile(r"chips (\d{1,4}(?:,\d{1,4})*)(?: mmio (\d{1,4}(?:,\d{1,4})*))?((?: \d{1,4}-\d{1,4}x\d{1,4})*)")


@record
class Cluster:
    """Chips of one kind and what joins them.

    Args:
        chips: their numbers.
        mmio: those that the host reaches by itself.
        links: between them.
    """

    chips: tuple[int, ...]
    mmio: tuple[int, ...]
    links: tuple[Link, ...]

    @property
    def text(self) -> str:
        """The cluster in one line, which `of_text` reads."""
        links = "".join(f" {a}-{b}x{count}" for a, b, count in self.links)
        mmio = f" mmio {','.join(map(str, self.mmio))}" if self.mmio else ""
        return f"chips {','.join(map(str, self.chips))}{mmio}{links}"

    @staticmethod
    def of_text(text: str) -> Cluster:
        """Return the cluster that a text stands for.  Raises E0101."""
        found = _TEXT.fullmatch(text) if len(text) <= 32 * MAX_LINKS else None
        if found is None:
            raise Error("E0101", f"'{text[:60]}' describes no cluster")
        chips, mmio = (tuple(int(word) for word in group.split(",")) if group else () for group in found.groups()[:2])
        links = [tuple(int(word) for word in re.split("[-x]", link)) for link in (found[3] or "").split()]
        cluster = Cluster(chips, mmio, tuple((a, b, count) for a, b, count in links))
        known = set(chips)
        if max(chips) >= MAX_CHIPS or any(a >= b or a not in known or b not in known for a, b, _ in cluster.links) or set(mmio) - known:
            raise Error("E0101", f"'{text[:60]}' describes no cluster")
        return cluster

    def of_target(self, target: Target) -> Target:
        """Return the target as a cluster of its chips.  Raises E0101 for chips that cannot be joined."""
        if target.is_host or not target.eth_links and self.links:
            raise Error("E0101", f"chips of target {target.name} have no Ethernet links", hint="clusters are of chips that have")
        return replace(target, chips=max(self.chips) + 1, links=self.links)


def read_cluster(path: Path) -> Cluster:
    """Return the cluster that a file describes.  Raises E0102 for a file that is no YAML mapping, E0101 naming a field that is wrong."""
    from ttc.dialects.core.machines.target_files import read_document  # with a parser of YAML, the form of descriptors alone

    return _Reader(read_document(path), str(path)).cluster()


class _Reader:
    """Reads one description.  where: the file's name."""

    def __init__(self, raw: dict[Any, Any], where: str) -> None:
        self.raw, self.where = raw, where
        known = (*REQUIRED, *OPTIONAL, *IGNORED)
        for key in raw:
            if key not in known:
                raise self.error(str(key)[:40], "is unknown", nearest(str(key)[:40], known))
        for key in REQUIRED:
            if key not in raw:
                raise self.error(key, "is missing", "a cluster has chips and ethernet_connections")

    def error(self, field: str, problem: str, hint: str | None = None) -> Error:
        """Return an error that names the field."""
        return Error("E0101", f"field '{field}' {problem}", where=self.where, hint=hint)

    def cluster(self) -> Cluster:
        """Return the cluster that the file describes, after all checks."""
        numbers = self.raw["chips"]
        if not isinstance(numbers, dict) or not numbers:
            raise self.error("chips", "takes numbers of chips, each with its place")
        chips = tuple(sorted(self.chip("chips", number) for number in numbers))
        mmio = self.raw.get("chips_with_mmio", [])
        if not isinstance(mmio, list) or len(mmio) > MAX_CHIPS:
            raise self.error("chips_with_mmio", "takes a list of chips")
        reached = {self.listed("chips_with_mmio", self.bare(item), chips) for item in mmio}
        return Cluster(chips, tuple(sorted(reached)), self.links(chips))

    def bare(self, item: Any) -> Any:
        """Return the number of a chip; some files give it with the number of its bus."""
        return next(iter(item)) if isinstance(item, dict) and len(item) == 1 else item

    def chip(self, field: str, raw: Any) -> int:
        """Return a chip's number.  Raises E0101."""
        try:
            return integer(0, MAX_CHIPS - 1)(raw)
        except ValueError as error:
            raise self.error(field, "names no chip", str(error)) from None

    def listed(self, field: str, raw: Any, chips: Sequence[int]) -> int:
        """Return the number of a chip of the cluster.  Raises E0101."""
        number = self.chip(field, raw)
        if number not in chips:
            raise self.error(field, f"names chip {number}, which is not among the chips")
        return number

    def links(self, chips: tuple[int, ...]) -> tuple[Link, ...]:
        """Links counted by the chips they join; each channel of a chip is joined once."""
        known = frozenset(chips)
        field = "ethernet_connections"
        if not isinstance(self.raw[field], list) or len(self.raw[field]) > MAX_LINKS * 8:
            raise self.error(field, "takes a list of pairs of ends")
        taken: set[tuple[int, int]] = set()
        counts: Counter[tuple[int, int]] = Counter()
        for pair in self.raw[field]:
            if not isinstance(pair, list) or len(pair) != 2:
                raise self.error(field, "takes pairs of ends")
            ends = [self.end(end, known) for end in pair]
            if ends[0][0] == ends[1][0]:
                raise self.error(field, f"joins chip {ends[0][0]} with itself")
            for end in ends:
                if end in taken:
                    raise self.error(field, f"joins channel {end[1]} of chip {end[0]} twice")
                taken.add(end)
            a, b = sorted(end[0] for end in ends)
            counts[a, b] += 1
        return tuple((a, b, count) for (a, b), count in sorted(counts.items()))

    def end(self, raw: Any, chips: frozenset[int]) -> tuple[int, int]:
        """(chip, channel) of one end of a link."""
        field = "ethernet_connections"
        if not isinstance(raw, dict) or set(raw) != {"chip", "chan"}:
            raise self.error(field, "takes ends as {chip: 0, chan: 8}")
        chip = self.chip(field, raw["chip"])
        if chip not in chips:
            raise self.error(field, f"names chip {chip}, which is not among the chips")
        try:
            return chip, integer(0, MAX_CHANNEL)(raw["chan"])
        except ValueError as error:
            raise self.error(field, "names no channel", str(error)) from None


# ---- chips in a row ----------------------------------------------------------------------------------------------------------------------


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

"""Clusters: several chips, and the Ethernet links between them, from descriptor files in Tenstorrent's form.

chips: {0: [0, 0, 0, 0], 1: [1, 0, 0, 0]}                             # number: place in the rack
ethernet_connections: [[{chip: 0, chan: 8}, {chip: 1, chan: 0}], ...]  # two channels that a cable joins
chips_with_mmio: [0]                                                  # those that the host reaches by itself

Or a rectangle of chips, `2x4`: rows x columns, numbered row by row, each linked to its neighbours.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
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
SIDES = 4
"""Neighbours of a chip in a rectangle, among which its Ethernet links are divided."""
_MESH = re.compile(r"(\d{1,4})x(\d{1,4})")
_TEXT = re.compile(r"chips (\d{1,4}(?:,\d{1,4})*)(?: mmio (\d{1,4}(?:,\d{1,4})*))?((?: \d{1,4}-\d{1,4}x\d{1,4})*)")


@record
class Cluster:
    """Chips of one kind and what joins them.

    Args:
        chips: their numbers.
        mmio: those that the host reaches by itself.
        links: between them; a count of 0: as many as a side of a chip has.
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
        """Return the target as a cluster of its chips.  Raises E0101 for chips that cannot be joined.

        The host has a link to each chip that it reaches by itself, or if no chip is named to each card of the target.
        """
        if target.is_host or not target.eth_links and self.links:
            raise Error("E0101", f"chips of target {target.name} have no Ethernet links", hint="clusters are of chips that have")
        side = max(target.eth_links // SIDES, 1)
        links = tuple((a, b, count or side) for a, b, count in self.links)
        host_links = len(self.mmio) or -(-len(self.chips) // target.chips)
        return replace(target, chips=max(self.chips) + 1, links=links, host_links=host_links)


def mesh(text: str) -> Cluster | None:
    """Return the rectangle of chips that a text as `2x4` stands for; None for any other text.  Raises E0101 for too many chips."""
    found = _MESH.fullmatch(text)
    if found is None:
        return None
    rows, columns = int(found[1]), int(found[2])
    if not 1 < rows * columns <= MAX_CHIPS:
        raise Error("E0101", f"a cluster of {text} has {rows * columns} chips: from 2 to {MAX_CHIPS}")
    across = [(r * columns + c, r * columns + c + 1, 0) for r in range(rows) for c in range(columns - 1)]
    down = [(r * columns + c, (r + 1) * columns + c, 0) for r in range(rows - 1) for c in range(columns)]
    return Cluster(tuple(range(rows * columns)), (), tuple(sorted(across + down)))


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

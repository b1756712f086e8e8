"""Mock machines for TT-NN: what tt-umd's cluster descriptor says of chips, links and boards, made from a few facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import yaml

WORMHOLE = {"noc_translation": True, "harvest_mask": 32, "dram_harvesting_mask": 0, "eth_harvesting_mask": 0, "pcie_harvesting_mask": 0}
"""A chip of n150 and n300: one row of cores is fused off."""
BLACKHOLE = {
    **{"noc_translation": True, "harvest_mask": 0, "dram_harvesting_mask": 0, "eth_harvesting_mask": 288},
    **{"pcie_harvesting_mask": 2, "l2cpu_harvesting_mask": 0},
}
"""A chip of p150: 12 of 14 Ethernet cores, and one of its two PCIe cores."""
BOARD_KINDS = {"n150": 0x18, "n300": 0x14, "p150": 0x41}
"""The beginnings of numbers of boards, above their 36 lowest bits."""


@dataclass(frozen=True)
class Machine:
    """A machine with cards.

    Args:
        target: of `ttc export`, which names one chip of it.
        mesh: rows and columns of its chips.
        board: type of its cards.
        boards: numbers of the chips of each card; the first one of a card has the PCIe link.
        row: whether programs open the chips as one row.
        links: pairs of chips, each with the Ethernet channels that join them, two numbers a channel.
    """

    target: str
    mesh: tuple[int, int]
    board: str
    boards: tuple[tuple[int, ...], ...]
    links: tuple[tuple[int, int, tuple[tuple[int, int], ...]], ...] = ()
    row: bool = False

    @property
    def opened(self) -> tuple[int, int]:
        """The rows and columns of the mesh that programs open."""
        return (1, self.chips) if self.row else self.mesh

    @property
    def chips(self) -> int:
        """Return how many chips there are."""
        return self.mesh[0] * self.mesh[1]

    def in_a_row(self) -> Machine:
        """Return the machine with its chips as a mesh of one row, as programs whose chips divide tensors have them."""
        return replace(self, row=True)

    def descriptor(self) -> str:
        """Return the text of the cluster descriptor."""
        wormhole = self.target.startswith("n")
        chips = range(self.chips)
        harvested = WORMHOLE if wormhole else BLACKHOLE
        facts = {
            "arch": dict.fromkeys(chips, "wormhole_b0" if wormhole else "blackhole"),
            "chips": self._places() if wormhole else {},
            "chip_unique_ids": {chip: 1 + chip for chip in chips},
            "ethernet_connections": [
                [{"chip": one, "chan": a}, {"chip": other, "chan": b}] for one, other, channels in self.links for a, b in channels
            ],
            "ethernet_connections_to_remote_devices": [],
            "chips_with_mmio": [{board[0]: number} for number, board in enumerate(self.boards)],
            "io_device_type": "PCIe",
            "harvesting": {chip: dict(harvested) for chip in chips},
            "chip_to_boardtype": dict.fromkeys(chips, self.board),
            "boards": [
                [{"board_id": BOARD_KINDS[self.board] << 36 | number}, {"board_type": self.board}, {"chips": list(board)}]
                for number, board in enumerate(self.boards)
            ],
        }
        return yaml.safe_dump(facts, sort_keys=False, default_flow_style=None)

    def _places(self) -> dict[int, list[int]]:
        """Return the place of each chip of Wormhole in the mesh: column, row, rack and shelf."""
        columns = self.mesh[1]
        return {chip: [place % columns, place // columns, 0, 0] for place, chip in enumerate(self._order())}

    def _order(self) -> Sequence[int]:
        """Return the chips row by row."""
        return (6, 2, 0, 4, 7, 3, 1, 5) if self.chips == 8 else range(self.chips)


def _pairs(*firsts: tuple[int, int], count: int = 2) -> tuple[tuple[int, int], ...]:
    """Return channels that follow one another, from each first pair."""
    return tuple((a + step, b + step) for a, b in firsts for step in range(count))


MACHINES = {
    "n150": Machine("n150", (1, 1), "n150", ((0,),)),
    "p150": Machine("p150", (1, 1), "p150", ((0,),)),
    "t3k": Machine(
        "n300", (2, 4), "n300", ((0, 4), (1, 5), (2, 6), (3, 7)),
        (
            *((0, 2, _pairs((6, 6))), (0, 4, _pairs((8, 0))), (0, 1, _pairs((14, 14))), (1, 3, _pairs((0, 0))), (1, 5, _pairs((8, 0)))),
            *((2, 6, _pairs((8, 0))), (2, 3, _pairs((14, 14))), (3, 7, _pairs((8, 0))), (4, 5, _pairs((6, 6))), (6, 7, _pairs((6, 6)))),
        ),
    ),
    "4xp150": Machine(
        "p150", (2, 2), "p150", ((0,), (1,), (2,), (3,)),
        tuple((a, b, _pairs((first, first), count=4)) for a, b, first in ((0, 2, 4), (0, 3, 8), (1, 3, 4), (1, 2, 8))),
    ),
}  # fmt: skip
"""Machines by name: n150 and p150 alone, four n300 as a mesh of 2 x 4 chips, and four p150 in a ring."""

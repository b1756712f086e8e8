"""Target descriptions: what a machine has, read from data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import yaml

from ttc.dialects.core.errors import Error, nearest


@dataclass(frozen=True)
class Target:
    """One machine.

    Args:
        name, arch: as the user and the netlist call it.
        chips: chips of one card.
        grid: rows and columns of worker cores; None on `host`.
        tile: height and width of a tile in elements; None on `host`, whose layout is rows.
        kernels: kernel set, `fused` or `buda`.
        formats: data formats it stores and computes.
        clock_hz: of the worker cores.
        l1_bytes, l1_usable_bytes: of one core; what op buffers may take of it.
        dst_tiles: tiles of 16-bit values that half of the destination register holds.
        dram_channels, dram_channel_bytes, dram_reserved_bytes: channels, size of each, bytes at its bottom that are not ours.
        dram_bytes_per_second: best measured, all channels together.
        alignment_bytes: of DRAM addresses and tiles.
        noc_bytes_per_cycle: of one op-to-op pipe.
        max_input_queues: DRAM queues one core may read.
    """

    name: str
    arch: str
    chips: int
    grid: tuple[int, int] | None
    tile: tuple[int, int] | None
    kernels: str
    formats: tuple[str, ...]
    clock_hz: float = 1e9
    l1_bytes: int = 0
    l1_usable_bytes: int = 0
    dst_tiles: int = 0
    dram_channels: int = 0
    dram_channel_bytes: int = 0
    dram_reserved_bytes: int = 0
    dram_bytes_per_second: float = 0.0
    alignment_bytes: int = 64
    noc_bytes_per_cycle: float = 0.0
    max_input_queues: int = 0

    @property
    def is_host(self) -> bool:
        return self.grid is None

    @property
    def layout(self) -> str:
        """The layout of tensors at op borders, as the tile type prints it."""
        return "rows" if self.tile is None else f"tiles({self.tile[0]}, {self.tile[1]})"


def target_names() -> list[str]:
    """Names of the targets that come with ttc."""
    folder = resources.files("ttc.dialects.core") / "data" / "targets"
    return sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml"))


@cache
def load_target(name: str) -> Target:
    """The target of that name.  Raises E0101."""
    if name not in target_names():
        raise Error("E0101", f"there is no target '{name}'", hint=nearest(name, target_names()))
    text = (resources.files("ttc.dialects.core") / "data" / "targets" / f"{name}.yaml").read_text(encoding="utf-8")
    fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in yaml.safe_load(text).items()}
    return Target(**fields)

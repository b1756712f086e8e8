"""Target descriptions: what a machine has, read from data."""

from __future__ import annotations

import tomllib
from dataclasses import fields, replace
from functools import cache
from importlib import resources
from pathlib import PurePath
from typing import Any

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.machines.target_fields import check_whole, checked
from ttc.dialects.core.records import record

FILE_SUFFIXES = (".yaml", ".yml")
SHORT_EXPONENTS = ("Float16", "Bfp8", "Bfp4", "Bfp2", "Lf8")
"""Formats with exponents of five bits; all others have eight.  On Grayskull, results and partial results have exponents of one width."""


@record
class Target:
    """The description of one machine, read from data.

    Args:
        name, arch: as the user and the netlist call it.
        chips: chips of one card.
        grid: rows and columns of worker cores; None on `host`.
        tile: height and width of a tile in elements; None on `host`, whose layout is rows.
        kernels: kernel set, `fused` or `buda`.
        formats: data formats it stores and computes.
        chip: name of the silicon, for people.
        rows, columns: NoC y of each row of the grid, NoC x of each column.
        harvestable_rows: those that a chip can do without.
        clock_hz: of the worker cores.
        l1_bytes, l1_usable_bytes: of one core; what op buffers may take of it.
        dst_tiles: tiles of 16-bit values that half of the destination register holds.
        wide_accumulation: whether the destination register can hold 32-bit values, in half as many tiles.
        dram_channels, dram_channel_bytes, dram_reserved_bytes: channels, size of each, bytes at its bottom that are not ours.
        dram_ports, dram_nodes: NoC nodes of a channel: how many, and where (x, y) they are, channel by channel.
        dram_channel_bytes_per_second: best measured, of one channel.
        alignment_bytes: of DRAM addresses and tiles.
        host_channels, host_channel_bytes: of the host's memory that the chip reads and writes.
        host_reserved_bytes: at the top of each such channel, not ours.
        noc_size: columns and rows of nodes.
        noc_link_bytes_per_cycle: of one link between neighbours.
        noc_bytes_per_cycle: of one op-to-op pipe.
        noc_packets: (bytes of a packet, bytes a cycle) by growing packets.
        eth_links, eth_bytes_per_cycle: Ethernet links of a chip, and the rate of one.
        links: between the chips: (chip, chip, number of Ethernet links), the lower chip first.
        host_links: between the host and the card, or the cards of a cluster.
        max_input_queues: DRAM queues one core may read.
    """

    name: str
    arch: str
    chips: int
    grid: tuple[int, int] | None
    tile: tuple[int, int] | None
    kernels: str
    formats: tuple[str, ...]
    chip: str = ""
    rows: tuple[int, ...] = ()
    columns: tuple[int, ...] = ()
    harvestable_rows: tuple[int, ...] = ()
    clock_hz: float = 1e9
    l1_bytes: int = 0
    l1_usable_bytes: int = 0
    dst_tiles: int = 0
    wide_accumulation: bool = True
    dram_channels: int = 0
    dram_channel_bytes: int = 0
    dram_reserved_bytes: int = 0
    dram_ports: int = 0
    dram_nodes: tuple[tuple[tuple[int, int], ...], ...] = ()
    dram_channel_bytes_per_second: float = 0.0
    alignment_bytes: int = 64
    host_channels: int = 0
    host_channel_bytes: int = 0
    host_reserved_bytes: tuple[int, ...] = ()
    noc_size: tuple[int, int] | None = None
    noc_link_bytes_per_cycle: float = 0.0
    noc_bytes_per_cycle: float = 0.0
    noc_packets: tuple[tuple[int, float], ...] = ()
    eth_links: int = 0
    eth_bytes_per_cycle: float = 0.0
    links: tuple[tuple[int, int, int], ...] = ()
    host_links: int = 1
    max_input_queues: int = 0

    @property
    def is_host(self) -> bool:
        return self.grid is None

    @property
    def cores(self) -> int:
        """Worker cores of one chip."""
        return 0 if self.grid is None else self.grid[0] * self.grid[1]

    @property
    def layout(self) -> str:
        """The layout of tensors at op borders, as the tile type prints it."""
        return "rows" if self.tile is None else f"tiles({self.tile[0]}, {self.tile[1]})"

    @property
    def dram_bytes_per_second(self) -> float:
        """The best measured bandwidth of a chip's DRAM, all channels together."""
        return self.dram_channels * self.dram_channel_bytes_per_second

    @property
    def dram_bytes_per_cycle(self) -> float:
        """The best measured bandwidth of one DRAM channel, in bytes a cycle of the worker cores."""
        return self.dram_channel_bytes_per_second / self.clock_hz

    def accumulator(self, format: str) -> str:
        """Return the widest format in which results of a format are accumulated: Float32, or the 16-bit one with exponents as wide."""
        if self.wide_accumulation:
            return "Float32"
        return "Float16" if format in SHORT_EXPONENTS else "Float16_b"


# ---- the targets that come with ttc ------------------------------------------------------------------------------------------------------


def _names(folder: str) -> list[str]:
    entries = (resources.files("ttc.dialects.core") / "data" / folder).iterdir()
    return sorted(entry.name.removesuffix(".toml") for entry in entries if entry.name.endswith(".toml"))


@cache
def _data(folder: str, name: str) -> dict[str, Any]:
    text = (resources.files("ttc.dialects.core") / "data" / folder / f"{name}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def target_names() -> list[str]:
    """Return names of the targets that come with ttc."""
    return _names("targets")


def arch_names() -> list[str]:
    """Names of the architectures that descriptor files may have."""
    return _names("archs")


def is_target_file(name: str) -> bool:
    """Return whether `--target` names a descriptor file instead of a machine that comes with ttc."""
    return PurePath(name).suffix.lower() in FILE_SUFFIXES or "/" in name


def target_label(name: str) -> str:
    """Return what archives and IR call the target: a descriptor file goes by its stem, so that no path is recorded."""
    return PurePath(name).stem if is_target_file(name) else name


@cache
def _builtin(name: str) -> Target:
    data = _data("targets", name)
    whole = complete(data, f"target {name}") if "grid" in data else {"grid": None, "tile": None} | data
    return target_of(whole, f"target {name}")


def load_target(name: str) -> Target:
    """Return the target of that name, or the one that a descriptor file describes.  Raises E0101, E0102."""
    if is_target_file(name):
        from ttc.dialects.core.machines.target_files import read_fields  # with a parser of YAML, the form of descriptors alone

        raw, workers = read_fields(name)
        return target_of(complete(raw, name, workers), name)
    if name not in target_names():
        raise Error("E0101", f"there is no target '{name}'", hint=nearest(name, target_names()))
    return _builtin(name)


def target_of(raw: dict[str, Any], where: str) -> Target:
    """Return a target from raw values of its fields, each checked.  Raises E0101 naming the field."""
    known = [f.name for f in fields(Target)]
    for key in raw:
        if key not in known:
            raise Error("E0101", f"there is no field '{str(key)[:40]}'", where=where, hint=nearest(str(key)[:40], known))
    found = checked(raw, where)
    check_whole(found, where)
    return Target(**found)


def described(target: Target) -> dict[str, Any]:
    """Return the fields of a target as plain values, from which `target_of` makes an equal one."""
    return {f.name: getattr(target, f.name) for f in fields(Target)}


# ---- what an architecture adds -----------------------------------------------------------------------------------------------------------


def complete(raw: dict[str, Any], where: str, workers: int | None = None) -> dict[str, Any]:
    """Return the fields of a target; those that it leaves out are taken from its architecture.

    workers: cores of the chip, harvested ones included; those of a whole chip if not given.  Raises E0101 for an unknown architecture.
    """
    arch = raw.get("arch")
    if arch not in arch_names():
        raise Error("E0101", f"there is no architecture '{str(arch)[:40]}'", where=where, hint=nearest(str(arch)[:40], arch_names()))
    own = _data("archs", str(arch))
    derived = {"l1_reserved_bytes", "dram_reserved"}
    found = {key: value for key, value in own.items() if key not in derived} | raw
    head = checked({key: found[key] for key in ("grid", "l1_bytes", "dram_channels")}, where)
    if head["grid"] is None or head["dram_channels"] == 0:
        raise Error("E0101", f"a target of architecture {arch} has cores and DRAM", where=where, hint="leave out grid and dram_channels")
    found.setdefault("l1_usable_bytes", max(head["l1_bytes"] - own["l1_reserved_bytes"], 0))
    if "dram_reserved_bytes" not in raw:
        cores = own["grid"][0] * own["grid"][1] if workers is None else workers
        found["dram_reserved_bytes"] = reserved_bytes(str(arch), head["dram_channels"], cores)
    for key, count in (("rows", head["grid"][0]), ("columns", head["grid"][1]), ("dram_nodes", head["dram_channels"])):
        if key not in raw:
            found[key] = own[key][:count]
    return found


def reserved_bytes(arch: str, channels: int, workers: int) -> int:
    """Return bytes at the bottom of each DRAM channel that belong to the runtime.

    Metadata of epochs, then in each slot a binary of every worker and Ethernet core that the channel serves, then the programs of queue
    updates.  Cores count whether harvested or not, spread evenly over the channels.  The formula is the reference runtime's but for two
    figures that it takes from elsewhere: a slot of an Ethernet core, counted as large as a worker's, and the updates, 8 MiB.
    """
    own = _data("archs", arch)
    share = own["dram_reserved"]
    links = -(-own.get("eth_links", 0) // channels)
    slot = -(-workers // channels) * share["worker_slot_bytes"] + links * share["eth_slot_bytes"]
    return share["epoch_bytes"] + share["slots"] * slot + share["update_bytes"]


# ---- harvesting --------------------------------------------------------------------------------------------------------------------------


def parse_rows(text: str) -> int | tuple[int, ...]:
    """`2`: so many rows; `[3, 7]`: these, by their NoC y.  Raises ValueError."""
    inner = text.strip()
    listed = inner.startswith("[") and inner.endswith("]")
    parts = (inner[1:-1] if listed else inner).split(",")
    if not all(part.strip().isascii() and part.strip().isdecimal() and len(part.strip()) <= 4 for part in parts):
        raise ValueError("it takes a number of rows, or a list of them: 1, [3, 7]")
    numbers = tuple(int(part) for part in parts)
    if not listed and len(numbers) == 1:
        if numbers[0] < 1:
            raise ValueError("it takes at least one row")
        return numbers[0]
    if len(set(numbers)) != len(numbers):
        raise ValueError("it names a row twice")
    return tuple(sorted(numbers))


def harvest(target: Target, rows: int | tuple[int, ...]) -> Target:
    """The target without some rows of its grid: a number of harvestable ones, the last ones first, or those listed.  Raises E0101."""
    if target.grid is None:
        raise Error("E0101", f"target {target.name} has no rows of cores to harvest")
    able = [row for row in target.rows if row in target.harvestable_rows]
    gone = able[len(able) - rows :] if isinstance(rows, int) and rows <= len(able) else rows
    hint = f"rows that can be harvested: {', '.join(map(str, able))}"
    if isinstance(gone, int):
        raise Error("E0101", f"target {target.name} has {len(able)} rows that can be harvested, not {gone}", hint=hint)
    for row in gone:
        if row not in able:
            raise Error("E0101", f"row {row} of target {target.name} cannot be harvested", hint=hint)
    left = tuple(row for row in target.rows if row not in gone)
    if not left:
        raise Error("E0101", f"target {target.name} would have no rows left", hint=hint)
    return replace(target, grid=(len(left), target.grid[1]), rows=left)

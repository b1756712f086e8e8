"""Types and ranges of a target's fields: what a description may say, wherever it comes from."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.formats import FORMATS
from ttc.dialects.core.numerics import KERNELS

Reader = Callable[[Any], Any]
"""Turns the raw value of a field into its final one; raises ValueError that says what the value should be."""

MAX_GRID = 64
MAX_BYTES = 1 << 48
MAX_CHANNELS = 1024
MAX_PORTS = 64
MAX_CHIPS = 1024
MAX_LINKS = 1024
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,63}")
REQUIRED = ("name", "arch", "chips", "grid", "tile", "kernels", "formats")


def checked(raw: dict[str, Any], where: str) -> dict[str, Any]:
    """Return values of the fields given, each of its type and in its range.  Raises E0101 naming the field."""
    found: dict[str, Any] = {}
    for key, value in raw.items():
        try:
            found[key] = READERS[key](value)
        except ValueError as error:
            raise Error("E0101", f"field '{key}' cannot be {_shown(value)}", where=where, hint=str(error)) from None
    return found


def _shown(value: Any) -> str:
    text = repr(value) if not isinstance(value, int) or abs(value) < MAX_BYTES**2 else "so large a number"
    return text if len(text) <= 60 else f"{text[:57]}..."


def check_whole(found: dict[str, Any], where: str) -> None:
    """Check that the fields make a whole description, and are in accord with each other. Raises E0101."""
    missing = [key for key in REQUIRED if key not in found]
    if missing:
        raise Error("E0101", f"field '{missing[0]}' is missing", where=where)

    def require(holds: bool, key: str, message: str) -> None:
        if not holds:
            raise Error("E0101", f"field '{key}' {message}", where=where)

    grid = found["grid"]
    require((grid is None) == (found["tile"] is None), "tile", "goes with a grid")
    if grid is None:
        return
    host = [name for name in found["formats"] if not FORMATS[name].device]
    require(not host, "formats", f"names '{host[:1]}', which no device has")
    for key in ("l1_bytes", "l1_usable_bytes", "dst_tiles", "dram_channels", "dram_channel_bytes", "max_input_queues"):
        require(found.get(key, 0) > 0, key, "is missing or not positive")
    require(found["l1_usable_bytes"] <= found["l1_bytes"], "l1_usable_bytes", "exceeds l1_bytes")
    require(found.get("dram_reserved_bytes", 0) < found["dram_channel_bytes"], "dram_reserved_bytes", "leaves nothing of a channel")
    require(len(found.get("rows", ())) == grid[0], "rows", f"names {len(found.get('rows', ()))} rows, but the grid has {grid[0]}")
    reserved, channels = found.get("host_reserved_bytes", ()), found.get("host_channels", 0)
    require(len(reserved) in (0, channels), "host_reserved_bytes", f"has {len(reserved)} sizes for {channels} channels")
    require(max(reserved, default=0) <= found.get("host_channel_bytes", 0), "host_reserved_bytes", "exceeds host_channel_bytes")
    beyond = [link for link in found.get("links", ()) if link[1] >= found["chips"]]
    require(not beyond, "links", f"names chip {beyond[0][1] if beyond else ''}, but there are {found['chips']}")


# ---- kinds of values ---------------------------------------------------------------------------------------------------------------------


def integer(low: int, high: int) -> Reader:
    """Return a whole number in [low, high]; neither text nor a boolean."""

    def read(raw: Any) -> int:
        if type(raw) is not int or not low <= raw <= high:
            raise ValueError(f"it takes a whole number from {low} to {high}")
        return raw

    return read


def number(low: float, high: float) -> Reader:
    """Return a number in [low, high]."""

    def read(raw: Any) -> float:
        if type(raw) not in (int, float) or not low <= raw <= high:
            raise ValueError(f"it takes a number from {low:g} to {high:g}")
        return float(raw)

    return read


def items(raw: Any, read: Reader, most: int, least: int = 0) -> tuple[Any, ...]:
    """Return a list of least to most items without repetition."""
    if not isinstance(raw, list | tuple) or not least <= len(raw) <= most:
        raise ValueError(f"it takes a list of {least} to {most} items")
    found = tuple(read(item) for item in raw)
    if len(set(found)) != len(found):
        raise ValueError("it names something twice")
    return found


def word(choices: tuple[str, ...]) -> Reader:
    """Return one of a few words."""

    def read(raw: Any) -> str:
        if not isinstance(raw, str) or raw not in choices:
            raise ValueError(nearest(str(raw)[:40], choices) or f"known: {', '.join(choices)}")
        return raw

    return read


def _name(raw: Any) -> str:
    if not isinstance(raw, str) or not NAME.fullmatch(raw):
        raise ValueError("it takes a name of at most 64 letters, digits and . _ + -")
    return raw


def _label(raw: Any) -> str:
    if not isinstance(raw, str) or len(raw) > 64 or not raw.isprintable():
        raise ValueError("it takes a short text")
    return raw


def _flag(raw: Any) -> bool:
    if not isinstance(raw, bool):
        raise ValueError("it takes true or false")
    return raw


def _alignment(raw: Any) -> int:
    if type(raw) is not int or not 16 <= raw <= 4096 or raw & (raw - 1):
        raise ValueError("it takes a power of two from 16 to 4096")
    return raw


def _grid(raw: Any) -> tuple[int, int] | None:
    if raw is None:
        return None
    if not isinstance(raw, list | tuple) or len(raw) != 2:
        raise ValueError("it takes [rows, columns]")
    side = integer(1, MAX_GRID)
    return side(raw[0]), side(raw[1])


def _tile(raw: Any) -> tuple[int, int] | None:
    if raw is not None and (not isinstance(raw, list | tuple) or tuple(raw) != (32, 32)):
        raise ValueError("it takes [32, 32]")
    return None if raw is None else (32, 32)


def _packets(raw: Any) -> tuple[tuple[int, float], ...]:
    size, rate = integer(1, 1 << 24), number(0.001, 1e6)

    def pair(item: Any) -> tuple[int, float]:
        if not isinstance(item, list | tuple) or len(item) != 2:
            raise ValueError("it takes pairs of bytes and bytes a cycle")
        return size(item[0]), rate(item[1])

    found = items(raw, pair, 64)
    if [p[0] for p in found] != sorted({p[0] for p in found}):
        raise ValueError("it takes packets of growing size")
    return found


def _rows(raw: Any) -> tuple[int, ...]:
    return items(raw, integer(0, MAX_GRID - 1), MAX_GRID)


def _node(raw: Any) -> tuple[int, int]:
    if not isinstance(raw, list | tuple) or len(raw) != 2:
        raise ValueError("it takes nodes as [x, y]")
    side = integer(0, MAX_GRID - 1)
    return side(raw[0]), side(raw[1])


def _nodes(raw: Any) -> tuple[tuple[tuple[int, int], ...], ...]:
    return items(raw, lambda ports: items(ports, _node, MAX_PORTS, 1), MAX_CHANNELS)


def _reserved(raw: Any) -> tuple[int, ...]:
    if not isinstance(raw, list | tuple) or len(raw) > MAX_CHANNELS:
        raise ValueError("it takes a size for each channel")
    return tuple(_BYTES(size) for size in raw)


def _links(raw: Any) -> tuple[tuple[int, int, int], ...]:
    chip, count = integer(0, MAX_CHIPS - 1), integer(1, MAX_LINKS)

    def link(item: Any) -> tuple[int, int, int]:
        if not isinstance(item, list | tuple) or len(item) != 3 or chip(item[0]) >= chip(item[1]):
            raise ValueError("it takes [chip, chip, number of links], the lower chip first")
        return item[0], item[1], count(item[2])

    found = items(raw, link, MAX_CHIPS * 8)
    if len({pair[:2] for pair in found}) != len(found):
        raise ValueError("it names two chips twice")
    return found


def _formats(raw: Any) -> tuple[str, ...]:
    return items(raw, word(tuple(FORMATS)), len(FORMATS), 1)


_BYTES = integer(0, MAX_BYTES)
_RATE = number(0.0, 1e15)
READERS: dict[str, Reader] = {
    "name": _name,
    "arch": _name,
    "chips": integer(1, MAX_CHIPS),
    "host_links": integer(1, MAX_CHIPS),
    "grid": _grid,
    "tile": _tile,
    "kernels": word(KERNELS),
    "formats": _formats,
    "chip": _label,
    "rows": _rows,
    "columns": _rows,
    "harvestable_rows": _rows,
    "clock_hz": number(1e6, 1e11),
    "l1_bytes": _BYTES,
    "l1_usable_bytes": _BYTES,
    "dst_tiles": integer(0, 1024),
    "wide_accumulation": _flag,
    "dram_channels": integer(0, MAX_CHANNELS),
    "dram_channel_bytes": _BYTES,
    "dram_reserved_bytes": _BYTES,
    "dram_ports": integer(0, MAX_PORTS),
    "dram_nodes": _nodes,
    "dram_channel_bytes_per_second": _RATE,
    "alignment_bytes": _alignment,
    "host_channels": integer(0, 64),
    "host_channel_bytes": _BYTES,
    "host_reserved_bytes": _reserved,
    "noc_size": _grid,
    "noc_link_bytes_per_cycle": _RATE,
    "noc_bytes_per_cycle": _RATE,
    "noc_packets": _packets,
    "eth_links": integer(0, MAX_LINKS),
    "links": _links,
    "eth_bytes_per_cycle": _RATE,
    "max_input_queues": integer(0, 1024),
}

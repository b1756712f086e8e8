"""SoC descriptors in Tenstorrent's form: what a chip has, node by node of its NoC.

    grid: {x_size: 10, y_size: 12}
    dram: [[0-0, 0-1, 0-11], ...]            # a list of NoC nodes for each channel
    eth: [9-0, 1-0, ...]
    functional_workers: [1-1, 2-1, ...]      # x-y of the worker cores in use
    harvested_workers: [1-11, 2-11, ...]     # of those that are off
    worker_l1_size: 1499136
    dram_bank_size: 2147483648
    arch_name: WORMHOLE_B0
    features: {math: {dst_size_alignment: 32768}, ...}

What a target has beyond that comes from its architecture.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.machines.target_fields import MAX_BYTES, MAX_GRID, MAX_PORTS, integer, items

Node = tuple[int, int]
"""(x, y) of a node of the NoC."""

REQUIRED = ("grid", "dram", "functional_workers", "worker_l1_size", "dram_bank_size", "arch_name")
IGNORED = ("arc", "pcie", "router_only", "physical", "eth_l1_size")
OPTIONAL = ("eth", "harvested_workers", "features")
MAX_NODES = MAX_GRID * MAX_GRID
HALF_TILE_BYTES = 4096
"""Bytes of the destination register for each tile of 16-bit values that half of it holds."""

_NODE = re.compile(r"(\d{1,3})-(\d{1,3})")


def is_soc(raw: dict[Any, Any]) -> bool:
    """Return whether a document is of this form, rather than a list of a target's fields."""
    return "arch_name" in raw or "functional_workers" in raw


def fields_of(raw: dict[Any, Any], name: str, where: str) -> tuple[dict[str, Any], int]:
    """Fields of the target that a descriptor describes, those of its architecture left out; and its workers, harvested ones included.

    Raises E0101 naming the field.
    """
    return _Reader(raw, where).fields(name)


class _Reader:
    """Reads one descriptor.  where: the file's name."""

    def __init__(self, raw: dict[Any, Any], where: str) -> None:
        self.raw = raw
        self.where = where
        known = (*REQUIRED, *OPTIONAL, *IGNORED)
        for key in raw:
            if key not in known:
                raise self.error(str(key)[:40], "is unknown", nearest(str(key)[:40], known))
        for key in REQUIRED:
            if key not in raw:
                raise self.error(key, "is missing")

    def error(self, field: str, problem: str, hint: str | None = None) -> Error:
        """Return an error that names the field."""
        return Error("E0101", f"field '{field}' {problem}", where=self.where, hint=hint)

    def value(self, field: str, read: Callable[[Any], Any], raw: Any) -> Any:
        """A raw value as `read` takes it.  Raises E0101."""
        try:
            return read(raw)
        except ValueError as error:
            raise self.error(field, "is not usable", str(error)) from None

    def fields(self, name: str) -> tuple[dict[str, Any], int]:
        """Return the target's fields that the descriptor gives, and the number of its workers."""
        size = self.size()
        workers = self.nodes("functional_workers", size)
        harvested = self.nodes("harvested_workers", size)
        channels = self.channels(size)
        eth = self.nodes("eth", size)
        self.check_disjoint(workers | harvested, [node for ports in channels for node in ports], eth)
        rows, columns = self.grid(workers - harvested, harvested)
        found = {
            "name": name,
            "arch": self.value("arch_name", _arch, self.raw["arch_name"]),
            "chips": 1,
            "grid": (len(rows), len(columns)),
            "rows": rows,
            "columns": columns,
            "l1_bytes": self.value("worker_l1_size", integer(1, MAX_BYTES), self.raw["worker_l1_size"]),
            "dram_channels": len(channels),
            "dram_channel_bytes": self.value("dram_bank_size", integer(1, MAX_BYTES), self.raw["dram_bank_size"]),
            "dram_ports": len(channels[0]),
            "dram_nodes": channels,
            "noc_size": size,
            "eth_links": len(eth),
        }
        return found | self.features(rows), len(workers | harvested)

    def size(self) -> Node:
        """Return columns and rows of the NoC."""
        raw = self.raw["grid"]
        if not isinstance(raw, dict) or set(raw) != {"x_size", "y_size"}:
            raise self.error("grid", "takes x_size and y_size")
        return tuple(self.value(f"grid.{key}", integer(1, MAX_GRID), raw[key]) for key in ("x_size", "y_size"))  # pyright: ignore[reportReturnType]

    def nodes(self, field: str, size: Node) -> set[Node]:
        """Return the nodes that a field lists; each once, on the NoC."""
        return set(self.value(field, lambda raw: items(raw, lambda item: _node(item, size), MAX_NODES), self.raw.get(field, [])))

    def channels(self, size: Node) -> tuple[tuple[Node, ...], ...]:
        """Return the nodes of each DRAM channel, as many of one as of another."""

        def ports(raw: Any) -> tuple[Node, ...]:
            return items(raw, lambda item: _node(item, size), MAX_PORTS, 1)

        found = self.value("dram", lambda raw: items(raw, ports, MAX_NODES, 1), self.raw["dram"])
        if len({len(ports) for ports in found}) > 1:
            raise self.error("dram", "has channels of different numbers of nodes")
        return found

    def check_disjoint(self, workers: set[Node], dram: list[Node], eth: set[Node]) -> None:
        """A node is one thing only."""
        if len(set(dram)) != len(dram):
            raise self.error("dram", "gives a node to two channels")
        for field, nodes in (("dram", set(dram)), ("eth", eth)):
            shared = sorted(workers & nodes)
            if shared:
                raise self.error(field, f"names node {shared[0][0]}-{shared[0][1]}, which is a worker")

    def grid(self, workers: set[Node], harvested: set[Node]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return rows (NoC y) and columns (NoC x) of the workers, which form a rectangle of whole rows."""
        if not workers:
            raise self.error("functional_workers", "leaves no worker")
        columns, rows = sorted({x for x, _ in workers}), sorted({y for _, y in workers})
        if len(workers) != len(columns) * len(rows):
            message = f"names {len(workers)} cores, which do not fill {len(rows)} rows of {len(columns)}"
            raise self.error("functional_workers", message, "only whole rows can be off")
        off = {y for _, y in harvested}
        if not off.isdisjoint(rows) or len(harvested) != len(off) * len(columns) or {x for x, _ in harvested} - set(columns):
            raise self.error("harvested_workers", "does not name whole rows", "a row that is off is off in every column")
        return tuple(rows), tuple(columns)

    def features(self, rows: tuple[int, ...]) -> dict[str, Any]:
        """What the features tell: tiles of the destination register, and whether coordinates are translated (then any row can be off)."""
        features = self.raw.get("features", {})
        if not isinstance(features, dict) or not all(isinstance(part, dict) for part in features.values()):
            raise self.error("features", "takes groups of settings")
        found: dict[str, Any] = {}
        math, noc = features.get("math", {}), features.get("noc", {})
        if "dst_size_alignment" in math:
            field = "features.math.dst_size_alignment"
            size = self.value(field, integer(HALF_TILE_BYTES, 1024 * HALF_TILE_BYTES), math["dst_size_alignment"])
            found["dst_tiles"] = size // HALF_TILE_BYTES
        translated = noc.get("translation_id_enabled", False)
        if not isinstance(translated, bool):
            raise self.error("features.noc.translation_id_enabled", "takes true or false")
        if translated:
            found["harvestable_rows"] = rows
        return found


def _node(raw: Any, size: Node) -> Node:
    match = _NODE.fullmatch(raw) if isinstance(raw, str) else None
    if match is None:
        raise ValueError("it takes nodes as x-y, such as 1-11")
    x, y = int(match[1]), int(match[2])
    if x >= size[0] or y >= size[1]:
        raise ValueError(f"node {x}-{y} is not on the grid of {size[0]} x {size[1]} nodes")
    return x, y


def _arch(raw: Any) -> str:
    if not isinstance(raw, str):
        raise ValueError("it takes the name of an architecture")
    return raw.lower()

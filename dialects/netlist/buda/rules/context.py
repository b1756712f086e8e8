"""What every rule looks at: the netlist with its names resolved, one architecture, and where to report."""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import field, fields
from functools import cache
from importlib import resources

from ttc.dialects.core.records import record
from ttc.dialects.netlist.buda.faults import Faults
from ttc.dialects.netlist.buda.form import BudaGraph, BudaNetlist, BudaOp, BudaQueue, Lines, Pair
from ttc.dialects.netlist.violations import Violation

ARCHS = ("grayskull", "wormhole", "wormhole_b0", "blackhole")
DEFAULT_TILE = (32, 32)
WIDE = ("Float32", "Int32")
"""Formats that take two places of the destination register for each tile."""


@record
class Arch:
    """One architecture.  grid: rows and columns of worker cores of a whole chip; sizes in bytes; dst_tiles: tiles of 16 bits in half the
    destination register; dram_ports: NoC nodes of a DRAM channel."""

    name: str
    grid: Pair
    l1_bytes: int
    dram_channels: int
    dram_channel_bytes: int
    host_channels: int
    host_channel_bytes: int
    alignment_bytes: int
    dst_tiles: int
    dram_ports: int

    @property
    def grayskull(self) -> bool:
        """Whether this is the one without 32-bit accumulation, small tiles and integers."""
        return self.name == "grayskull"


@cache
def arch_named(name: str) -> Arch:
    """The architecture of that name.  Wormhole's first stepping differs from the second in what rules let its destination register hold.

    Read without the module of targets, which loads packages that take longer than the check of a netlist.
    """
    first = name == "wormhole"
    file = resources.files("ttc.dialects.core") / "data" / "archs" / f"{'wormhole_b0' if first else name}.toml"
    own = tomllib.loads(file.read_text(encoding="utf-8"))
    rows, columns = own["grid"]
    sizes = {field.name: own[field.name] for field in fields(Arch) if field.name not in ("name", "grid")}
    return Arch(name, (rows, columns), **sizes | {"dst_tiles": sizes["dst_tiles"] * (4 if first else 1)})


@record(frozen=False)
class Context:
    """A netlist under check, with tables that the rules share.

    queues: by name, and by the names of their instances on several devices.  ops, graph_of: by op name, of all graphs, instances too; the
    first of a name counts.  readers: ops that read each queue or op, with the index of the input; outputs: queues that each op fills.
    faulty: what the reader found at fault, such as `op 'a'`; unresolved: whether names lead nowhere, or an op has too many or too few
    inputs; ambiguous: whether two ops have one name; misfits: queues and ops whose own shape is in doubt; small: queues without room for
    a run; uneven: graphs that take another number of inputs than others of their epoch.  Rules skip what would only repeat such a fault
    elsewhere.  alone: whether no other architecture than Grayskull is listed.
    """

    netlist: BudaNetlist
    arch: Arch
    found: Faults = field(default_factory=Faults)
    queues: dict[str, BudaQueue] = field(default_factory=dict)
    ops: dict[str, BudaOp] = field(default_factory=dict)
    graph_of: dict[str, BudaGraph] = field(default_factory=dict)
    readers: dict[str, list[tuple[BudaOp, int]]] = field(default_factory=lambda: defaultdict(list))
    outputs: dict[str, list[BudaQueue]] = field(default_factory=lambda: defaultdict(list))

    faulty: frozenset[str] = frozenset()
    unresolved: bool = False
    ambiguous: bool = False
    misfits: set[str] = field(default_factory=set)
    small: set[str] = field(default_factory=set)
    uneven: set[str] = field(default_factory=set)
    alone: bool = False

    def __post_init__(self) -> None:
        self.alone = set(self.netlist.archs) <= {"grayskull"}
        self.queues |= self.netlist.queues
        for queue in self.netlist.queues.values():
            for device in _instances(queue):
                self.queues.setdefault(f"{queue.name}.{device}", queue)
        for graph, op in self.all_ops():
            if op.name in self.ops:
                self.ambiguous = True
                continue
            for name in (op.name, *(f"{op.name}.{device}" for device in _instances(graph))):
                self.ops[name] = op
                self.graph_of[name] = graph
        for _, op in self.all_ops():
            for index, name in enumerate(op.inputs):
                source = self.source(name)
                self.readers[source.name if source is not None else name].append((op, index))
        for queue in self.netlist.queues.values():
            if queue.input in self.ops:
                self.outputs[self.ops[queue.input].name].append(queue)
        known = self.queues.keys() | self.ops.keys()
        self.unresolved = (
            any(name not in known for name in self.readers)
            or any(not op.inputs for op in self.ops.values())
            or any(queue.input not in self.ops and (is_op_name(queue.input) or not queue.input) for queue in self.netlist.queues.values())
        )

    @property
    def only_grayskull(self) -> bool:
        """Whether the netlist is for Grayskull alone.

        One that lists other architectures too may use what these have more, and still be run on Grayskull for the parts that it can.
        """
        return self.arch.grayskull and self.alone

    # ---- reports -------------------------------------------------------------------------------------------------------------------

    def at(self, lines: Lines, key: str, what: str) -> str:
        """`file:line: what`, of a field if it was written, otherwise of its owner; without a line for netlists that no text wrote."""
        line = lines.get(key) or lines.get("")
        return f"{self.netlist.source}:{line}: {what}" if line else what

    def op(self, op: BudaOp, key: str, code: str, message: str, hint: str | None = None) -> None:
        """Report a broken rule on an op, at the line of a key."""
        self.found.add(code, self.at(op.lines, key, f"op '{op.name}'"), message, hint)

    def queue(self, queue: BudaQueue, key: str, code: str, message: str, hint: str | None = None) -> None:
        """Report a broken rule on a queue, at the line of a key."""
        self.found.add(code, self.at(queue.lines, key, f"queue '{queue.name}'"), message, hint)

    def graph(self, graph: BudaGraph, key: str, code: str, message: str, hint: str | None = None) -> None:
        """Report a broken rule on a graph, at the line of a key."""
        self.found.add(code, self.at(graph.lines, key, f"graph '{graph.name}'"), message, hint)

    # ---- what there is -------------------------------------------------------------------------------------------------------------

    def all_ops(self) -> Iterator[tuple[BudaGraph, BudaOp]]:
        """Yield every op with its graph, in file order."""
        for graph in self.netlist.graphs.values():
            for op in graph.ops:
                yield graph, op

    def source(self, name: str) -> BudaQueue | BudaOp | None:
        """Return the queue or op of that name."""
        return self.queues.get(name) or self.ops.get(name)

    def names(self) -> Iterable[str]:
        """Return names of queues and ops."""
        return (*self.netlist.queues, *self.ops)


def _instances(owner: BudaQueue | BudaGraph) -> tuple[int, ...]:
    """Devices that an owner has an instance on each, if there are several: these go by its name and `.<device>`."""
    devices = owner.target_devices or ()
    return devices if len(devices) > 1 else ()


def is_op_name(name: str) -> bool:
    """Return whether a queue's input names an op: not the host, nor what another netlist fills."""
    return bool(name) and name != "HOST" and "net2net" not in name


def faults_of(violations: Iterable[Violation]) -> frozenset[str]:
    """Return what violations are about, such as `op 'a'`, and every owner of it."""
    found: set[str] = set()
    for violation in violations:
        parts = violation.where.split(": ", 4)[1:4]
        found.update(": ".join(parts[: end + 1]) for end in range(len(parts)))
    return frozenset(found)


def missing(owner: BudaQueue | BudaOp, *fields: str) -> list[str]:
    """Return those fields that nothing was written for."""
    return [name for name in fields if getattr(owner, name) in (None, (), "") and name not in owner.lines]


def tiles(owner: BudaQueue | BudaOp) -> tuple[int, int, int] | None:
    """(t, rows, columns) in tiles of all that a queue's entry or an op's output holds; None if a field of it is missing."""
    if owner.t is None or owner.grid_size is None or owner.mblock is None or owner.ublock is None:
        return None
    rows, columns = (owner.grid_size[i] * owner.mblock[i] * owner.ublock[i] for i in (0, 1))
    return owner.t, rows, columns


def tile_of(owner: BudaQueue | BudaOp) -> Pair:
    """Height and width of an owner's tiles."""
    return owner.tile_dim or DEFAULT_TILE


def dims_text(dims: tuple[int, int, int]) -> str:
    """`2x4x8`: t, rows and columns in tiles."""
    return "x".join(map(str, dims))

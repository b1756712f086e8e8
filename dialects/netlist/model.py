"""The plain netlist: what an archive holds and engines execute.  Dataclasses alone, no behaviour beyond arithmetic on themselves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ttc.dialects.core.plain import Function, TensorType


@dataclass(frozen=True, slots=True)
class Grid:
    """A rectangle of worker cores.  row, col: of its top left core; rows, cols: its size, as the op's blocks see it."""

    row: int
    col: int
    rows: int
    cols: int
    transposed: bool = False

    def cores(self) -> list[tuple[int, int]]:
        """(row, column) of every core; a transposed grid lies on its side."""
        rows, cols = (self.cols, self.rows) if self.transposed else (self.rows, self.cols)
        return [(self.row + r, self.col + c) for r in range(rows) for c in range(cols)]


@dataclass(frozen=True, slots=True)
class Host:
    """The place of an op that runs on the host, or of a whole graph on target `host`."""


@dataclass(frozen=True, slots=True)
class Blocking:
    """How one core's share of a tensor is cut, in tiles.

    A tensor of t x rows x cols tiles is spread over a grid; a core holds t steps of mblock[0] x mblock[1] macro blocks of
    ublock[0] x ublock[1] tiles (rows, columns).  order: `r` or `c`, of the ublocks in a macro block.
    A tensor streamed along its rows or columns has t = (its own t) * (steps it is cut into).
    """

    t: int
    mblock: tuple[int, int]
    ublock: tuple[int, int]
    order: Literal["r", "c"] = "r"

    @property
    def tiles(self) -> int:
        """Tiles of one core, all steps."""
        return self.t * self.tiles_per_step

    @property
    def tiles_per_step(self) -> int:
        return self.mblock[0] * self.mblock[1] * self.ublock[0] * self.ublock[1]


@dataclass(frozen=True, slots=True)
class Buffer:
    """A block of a core's L1.

    role: `in0`, `in1`, ..., `out`, `intermed`; tiles of `tile_bytes` bytes, `copies` of it (2: double buffered).
    """

    role: str
    tiles: int
    tile_bytes: int
    copies: int = 1

    @property
    def size_bytes(self) -> int:
        return self.tiles * self.tile_bytes * self.copies


@dataclass(frozen=True, slots=True)
class Queue:
    """A ring of entries in DRAM or host memory.

    Args:
        name: unique among queues and ops.
        kind: what it holds: `input`, `output`, `parameter`, `constant`, `state`, or `edge` (between epochs).
        type: `queue` (entries are consumed) or `ram` (read in place).
        source: the op that writes it, for kinds `output` and `edge`; `HOST` for the others, which the host fills (programs may
            update states and parameters).
        tensor: type of one entry (one microbatch).
        entries: slots of the ring.
        location: `dram` or `host`.
        chip: that it lies on.
        grid: rows and columns of buffers; each buffer is one core's share of an entry.
        blocking: of one buffer; None in row layout.
        buffers: (channel, address) of each buffer, row-major; addresses in bytes.
        buffer_bytes: size of each, header and all entries (`sizes.queue_buffer_bytes`).
        key: archive tensor that fills it (parameter, constant, state).
        lifetime: first and last epoch in which it must hold its value; None: always (parameters, constants and states).
            An epoch is numbered by its `execute`, counted from 0 through the text of its program.
    """

    name: str
    kind: Literal["input", "output", "parameter", "constant", "state", "edge"]
    type: Literal["queue", "ram"]
    source: str
    tensor: TensorType
    entries: int
    location: Literal["dram", "host"]
    chip: int
    grid: tuple[int, int]
    blocking: Blocking | None
    buffers: tuple[tuple[int, int], ...]
    buffer_bytes: int
    key: str | None = None
    lifetime: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Op:
    """One op of a graph.

    Args:
        name: unique among queues and ops.
        type: what the work is, for people: the mnemonic of its main tile op, or `fused`.
        inputs: queues, or ops of the same graph that come before it, in the order of the work's inputs.
        place: cores, or the host.
        blocking: of the result on one core; None on the host.
        work: the tile (or nn) ops, from inputs to the one result.
        buffers: L1 blocks of one core; empty on the host.
        intermediate, accumulate: formats of partial results and of accumulation.
        fidelity: of the device's multiplier: LoFi, HiFi2, HiFi3, HiFi4.
        precision: of the CPU's multiplier: float32, high, bfloat16.
        inner: (m_k, u_kt): outer and inner K blocks in tiles, for matmuls; None otherwise.
        cycles: estimated cycles for one microbatch on its cores.
        location: source names.
    """

    name: str
    type: str
    inputs: tuple[str, ...]
    place: Grid | Host
    blocking: Blocking | None
    work: Function
    buffers: tuple[Buffer, ...] = ()
    intermediate: str = "Float32"
    accumulate: str = "Float32"
    fidelity: str = "HiFi4"
    precision: str = "float32"
    inner: tuple[int, int] | None = None
    cycles: int = 0
    location: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Graph:
    """One epoch on one chip: ops that run together.  input_count: microbatches a call streams through; writes: (op, queue) pairs."""

    name: str
    chip: int
    input_count: int
    ops: tuple[Op, ...]
    writes: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Instruction:
    """One step of a program.

    opcode and args:  `var` (name, value)   `set` (name, value)   `add`, `mul` (name, a, b)   `inc` (name, by)
    `incwrap` (name, by, wrap)   `loop` (count)   `endloop` ()   `execute` (graph).
    Values are integers, or variables; variables are written `$name` everywhere, also where they are declared.
    """

    opcode: str
    args: tuple[str | int, ...] = ()


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument or result of a program, as the user sees it.

    Args:
        name: as the source calls it.
        kind: `input`, `output`, or for a result that updates something `parameter` or `state`.
        queue: that carries it.
        shape, dtype: of the user's array (numpy name).
        streamed: whether dimension 0 is cut into microbatches, one an entry.
        updates: parameter or state whose new value this result is.
    """

    name: str
    kind: Literal["input", "output", "parameter", "state"]
    queue: str
    shape: tuple[int, ...]
    dtype: str
    streamed: bool = False
    updates: str | None = None


@dataclass(frozen=True, slots=True)
class Program:
    """An entry function: arguments, results, and the instructions that run it."""

    name: str
    arguments: tuple[Argument, ...]
    results: tuple[Argument, ...]
    instructions: tuple[Instruction, ...]


@dataclass(frozen=True, slots=True)
class Chip:
    """The machine a netlist is placed on, as far as its checks need it.

    grid: rows and columns of cores; bytes and the rest as in `core.targets.Target`.  Zero or None where the target has no such thing
    (`host`).
    host_channels, host_channel_bytes: of the host's memory that the chip reads and writes.  The channel after them, `host_channels`, is
    memory of the program alone, without a limit.
    links: (chip, chip, number of Ethernet links between them), the lower chip first.
    """

    target: str
    arch: str
    chips: int
    grid: tuple[int, int] | None
    tile: tuple[int, int] | None
    l1_usable_bytes: int
    dst_tiles: int
    dram_channels: int
    dram_channel_bytes: int
    dram_reserved_bytes: int
    alignment_bytes: int
    max_input_queues: int
    formats: tuple[str, ...]
    wide_accumulation: bool = True
    host_channels: int = 0
    host_channel_bytes: int = 0
    links: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Netlist:
    """A whole netlist.  Names are keys; order is program order for graphs, declaration order for queues."""

    chip: Chip
    queues: dict[str, Queue] = field(default_factory=dict)
    graphs: dict[str, Graph] = field(default_factory=dict)
    programs: dict[str, Program] = field(default_factory=dict)

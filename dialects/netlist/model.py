"""The plain netlist: what an archive holds and engines execute.  Dataclasses alone, no behaviour beyond arithmetic on themselves."""

from __future__ import annotations

from dataclasses import field
from typing import Literal, TypeAlias

from ttc.dialects.core.batch_axis import BatchAxis
from ttc.dialects.core.plain.functions import Function, Plain, TensorType
from ttc.dialects.core.records import record

Settings: TypeAlias = "tuple[tuple[str, Plain], ...]"
"""What else the text of a netlist, or a pass, said, by name: kept so that nothing is lost; `op_attributes` reads what has a meaning."""
Number: TypeAlias = int | str
"""A value in a program: an integer, or a variable as `$name`."""
Flag: TypeAlias = bool | str
"""true or false, or a variable as `$name` that is 0 or not."""


@record(slots=True)
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


@record(slots=True)
class Host:
    """The place of an op that runs on the host, or of a whole graph on target `host`."""


@record(slots=True)
class Ethernet:
    """The place of an op that passes its input on to another chip: an Ethernet core, which takes no core of the grid.

    chip: that the value goes to.  ingress, egress: channels of the links it comes from and leaves through, by their number on each chip.
    """

    chip: int
    ingress: tuple[int, ...] = ()
    egress: tuple[int, ...] = ()


@record(slots=True)
class Blocking:
    """How one core's share of a tensor is cut, in tiles.

    A tensor of t x rows x cols tiles is spread over a grid; a core holds t steps of mblock[0] x mblock[1] macro blocks of
    ublock[0] x ublock[1] tiles (rows, columns).  order: `r` or `c`, of the ublocks in a macro block.
    A tensor streamed along its rows or columns has t = (its own t) * (steps it is cut into).
    spread: rows and columns of equal parts of the grid, among which the tensor's matrices (its t) are dealt out in runs, row by row; if
    it has but one, parts side by side share its tile rows, and parts one below the other its tile columns.  The rest is then as if each
    part were a grid of its own.
    """

    t: int
    mblock: tuple[int, int]
    ublock: tuple[int, int]
    order: Literal["r", "c"] = "r"
    spread: tuple[int, int] = (1, 1)

    @property
    def tiles(self) -> int:
        """Tiles of one core, all steps."""
        return self.t * self.tiles_per_step

    @property
    def tiles_per_step(self) -> int:
        return self.mblock[0] * self.mblock[1] * self.ublock[0] * self.ublock[1]


@record(slots=True)
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


@record(slots=True)
class Queue:
    """A ring of entries in DRAM or host memory.

    Args:
        name: unique among queues and ops.
        kind: what it holds: `input`, `output`, `parameter`, `constant`, `state`, `edge` (between epochs of a program), or `stash`
            (between programs: some fill it and others read it, such as `forward` and `backward`).
        type: `queue` (entries are consumed) or `ram` (read in place).
        source: the op that writes it, for kinds `output`, `edge` and `stash`; `HOST` for the others, which the host fills (programs
            may update states and parameters).
        tensor: type of one entry (one microbatch).
        entries: slots of the ring; of a stash: microbatches that may be in flight between its programs.
        location: `dram` or `host`.
        chip: that it lies on.
        grid: rows and columns of buffers; each buffer is one core's share of an entry.
        blocking: of one buffer; None in row layout.
        buffers: (channel, address) of each buffer, row-major; addresses in bytes.
        buffer_bytes: size of each, header and all entries (`sizes.queue_buffer_bytes`).
        ports: how cores read each buffer before an epoch: (NoC 0 or 1, number of the node of its channel), as many for each buffer, one
            buffer after another; packets take these in turn.  None: through any.
        key: archive tensor that fills it (parameter, constant, state).
        lifetime: first and last epoch in which it must hold its value; None: always (parameters, constants, states and stashes).
            An epoch is numbered by its `execute`, counted from 0 through the text of its program.
        alias: the queue whose memory this one shows, with other entries.
        view: tile manipulations that an entry passes through on its way into the queue; None: none.
        settings: what else the source says.
        summed: whether what the microbatches of one execution write to it adds up, from zero; it is of type `ram`.
    """

    name: str
    kind: Literal["input", "output", "parameter", "constant", "state", "edge", "stash"]
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
    alias: str | None = None
    view: Function | None = None
    settings: Settings = ()
    summed: bool = False
    ports: tuple[tuple[int, int], ...] = ()


@record(slots=True)
class Op:
    """One op of a graph.

    Args:
        name: unique among queues and ops.
        type: what the work is, for people: the mnemonic of its main tile op, or `fused`.
        inputs: queues, ops of the same graph that come before it, or ops of a graph of the same epoch on another chip; in the order of
            the work's inputs.
        place: cores, an Ethernet core, or the host.
        blocking: of the result on one core; None on the host.
        work: the tile (or nn) ops, from inputs to the one result.
        buffers: L1 blocks of one core; empty on the host.
        intermediate, accumulate: formats of partial results and of accumulation.
        fidelity: of the device's multiplier: LoFi, HiFi2, HiFi3, HiFi4.
        precision: of the CPU's multiplier: float32, high, bfloat16.
        inner: (m_k, u_kt): outer and inner K blocks in tiles, for matmuls; None otherwise.
        cycles: estimated cycles for one microbatch on its cores.
        location: source names.
        rounding: of results to their formats: `rne`, or `none`: they keep the precision they were computed in.
        settings: what else the source says.
    """

    name: str
    type: str
    inputs: tuple[str, ...]
    place: Grid | Host | Ethernet
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
    rounding: Literal["rne", "none"] = "rne"
    settings: Settings = ()


@record(slots=True)
class Graph:
    """One epoch on one chip: ops that run together.

    Args:
        input_count: microbatches a call streams through.
        writes: (op, queue) pairs.
        epoch: graphs of the same number run together, each on a chip of its own, and their ops may read each other's results;
            None: the graph runs alone.
        settings: what else the source says.
    """

    name: str
    chip: int
    input_count: int
    ops: tuple[Op, ...]
    writes: tuple[tuple[str, str], ...]
    epoch: int | None = None
    settings: Settings = ()


@record(slots=True)
class QueueSetting:
    """How one execution of a graph uses a queue, where programs set the positions.

    Args:
        queue: that the graph reads or writes.
        prologue: its entry is brought into L1 before the first microbatch.
        epilogue: what L1 holds of it is written back after the last.
        zero: what is accumulated into it starts from zero.
        rd_ptr_local, rd_ptr_global, wr_ptr_global: slots, from 0 to twice the entries; local: where this graph reads first; global: the
            oldest entry that is still needed, and the next to write.  None: it has no such pointer.
        rd_ptr_autoinc, global_rdptr_autoinc, global_wrptr_autoinc: what each microbatch adds to these.
        read_only: this view of a ram is not written.
    """

    queue: str
    prologue: Flag = False
    epilogue: Flag = False
    zero: Flag = False
    rd_ptr_local: Number | None = None
    rd_ptr_global: Number | None = None
    wr_ptr_global: Number | None = None
    rd_ptr_autoinc: Number = 0
    global_rdptr_autoinc: Number = 0
    global_wrptr_autoinc: Number = 0
    read_only: Flag = False


@record(slots=True)
class Instruction:
    """One step of a program.

    opcode and args:  `var` (name, value)   `set` (name, value)   `add`, `mul` (name, a, b)   `inc` (name, by)
    `incwrap` (name, by, wrap)   `loop` (count)   `endloop` ()   `execute` (graph)
    `param` (name): given by the caller   `staticvar` (name, value): keeps its value between calls, value is that before the first
    `allocate`, `deallocate` (queue): the queue's memory is its own from here, and from here no more; allocating empties it.
    Values are integers, or variables; variables are written `$name` everywhere, also where they are declared.
    settings: of queues, for an `execute` where programs set the positions.
    """

    opcode: str
    args: tuple[Number, ...] = ()
    settings: tuple[QueueSetting, ...] = ()


@record(slots=True)
class Argument:
    """An argument or result of a program, as the user sees it.

    Args:
        name: as the source calls it.
        kind: `input`, `output`, or for a result that updates something `parameter` or `state`.
        queue: that carries it.
        shape, dtype: of the user's array (numpy name).
        streamed: whether it is cut into microbatches, one an entry.
        updates: parameter or state whose new value this result is.
        axis, runs: where it holds the microbatches, if it is streamed: a dimension, and the runs of all of them in it.
        replicas: queues of the program's further replicas, which compute the same on other chips, in order.  Of what is streamed each
            queue carries an equal run of the microbatches; of what is not, each carries all.
    """

    name: str
    kind: Literal["input", "output", "parameter", "state"]
    queue: str
    shape: tuple[int, ...]
    dtype: str
    streamed: bool = False
    updates: str | None = None
    replicas: tuple[str, ...] = ()
    axis: int = 0
    runs: int = 1

    @property
    def batch(self) -> BatchAxis:
        """Where it holds the microbatches."""
        return BatchAxis(self.axis, self.runs)

    @property
    def samples(self) -> int:
        """Samples of the batch, if each has one row of the dimension that carries it; 1 of what has no dimension."""
        return self.batch.samples(self.shape) if self.shape else 1

    @property
    def queues(self) -> tuple[str, ...]:
        """All queues that carry it, in the order of the replicas."""
        return (self.queue, *self.replicas)

    @property
    def shares(self) -> int:
        """Equal runs of microbatches into which the queues divide it."""
        return 1 + len(self.replicas) if self.streamed else 1


@record(slots=True)
class Program:
    """An entry function: arguments, results, and the instructions that run it."""

    name: str
    arguments: tuple[Argument, ...]
    results: tuple[Argument, ...]
    instructions: tuple[Instruction, ...]


@record(slots=True)
class Chip:
    """The machine a netlist is placed on, as far as its checks need it.

    grid: rows and columns of cores; bytes and the rest as in `core.targets.Target`.  Zero or None where the target has no such thing
    (`host`).
    host_channels, host_channel_bytes: of the host's memory that the chip reads and writes.  The channel after them, `host_channels`, is
    memory of the program alone, without a limit.
    links: (chip, chip, number of Ethernet links between them), the lower chip first.
    host_links: between the host and the chips.
    kernels: set of kernels, and firmware that goes with it.
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
    host_links: int = 1
    kernels: str = "fused"


@record(slots=True)
class Netlist:
    """A whole netlist.  Names are keys; order is program order for graphs, declaration order for queues.

    positions: who says which entries of its queues a graph reads: `order`, each reader gets all entries in the order in which they are
        written (what the compiler makes); or `pointers`, programs set them at each execution (Buda).  With `order`, checks prove
        that every read has a write before it and that no bytes are shared; with `pointers` they prove the structure alone (names,
        types, places, instructions), since the rules of Buda's machine are those of `buda.rules`, and engines of archives refuse it.
    settings: what else the source says.
    """

    chip: Chip
    queues: dict[str, Queue] = field(default_factory=dict)
    graphs: dict[str, Graph] = field(default_factory=dict)
    programs: dict[str, Program] = field(default_factory=dict)
    positions: Literal["order", "pointers"] = "order"
    settings: Settings = ()

    def read_by(self, graph: Graph) -> dict[str, None]:
        """Return the names of the queues that ops of a graph read, each once, in the order of the first reads."""
        return dict.fromkeys(name for op in graph.ops for name in op.inputs if name in self.queues)

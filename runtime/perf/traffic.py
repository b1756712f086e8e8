"""The streams of every op of a netlist: what each of its inputs and its output move for one microbatch, and from where to where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from math import inf

from ttc.dialects.core.formats import format_named
from ttc.dialects.core.machines.ways import Link, ways_from
from ttc.dialects.core.plain.functions import TensorType
from ttc.dialects.netlist.links import links_from
from ttc.dialects.netlist.model import Blocking, Ethernet, Graph, Grid, Host, Netlist, Op, Queue
from ttc.dialects.netlist.sizes import tile_shape
from ttc.runtime.perf.movement import Stream
from ttc.runtime.perf.ports import Loading, has_ways, likely_rate, rate_of
from ttc.runtime.perf.rates import machine, rates_of
from ttc.runtime.perf.reads import Read, ReadTable, dims, tiles_of
from ttc.runtime.perf.rereads import readings

MAX_PACKET_BYTES = 8192
"""The most bytes of one transfer from or to DRAM: longer runs of tiles are cut."""
MAX_STARTS = 256
"""The most parts of a tensor that are compared with the blocks of cores."""
ROW_BYTES = 1024
"""The bytes of one transfer of data in row layout, which comes row by row."""
TILE_COLUMNS = 32
"""The columns of a tile that is untilized."""


@dataclass(frozen=True, slots=True)
class OpInput:
    """One input of an op on cores.

    Args:
        source: queue or op it comes from.
        stream: what it moves; into the op.
        capacity: microbatches, or parts of one, that the op's buffer for it holds.
        whole: whether all of a microbatch is needed before the first result.
    """

    source: str
    stream: Stream
    capacity: float
    whole: bool


@dataclass(frozen=True, slots=True)
class OpOutput:
    """A queue that an op writes."""

    target: str
    stream: Stream


@dataclass(frozen=True)
class Traffic:
    """All streams of a netlist, worked out graph by graph.

    Args:
        held: (graph, queue) pairs whose entry is brought into L1 before the first microbatch, as programs say.
        reads: what ops read, which several netlists of the same works may share.
        routed: whether weights are going to be loaded through ports that are chosen when ops have their places.
        loads: whether they are going to be loaded so for a single microbatch, too.
        steps: from chip to chip between ops of one chip that stand for those of several, by the names of writer and reader.
    """

    netlist: Netlist
    held: frozenset[tuple[str, str]] = frozenset()
    reads: ReadTable = field(default_factory=ReadTable, repr=False, compare=False)
    routed: bool = False
    loads: bool = False
    steps: Mapping[tuple[str, str], int] = field(default_factory=dict, repr=False, compare=False)
    _links: dict[int, dict[int, int]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _ways: dict[int, dict[int, tuple[Link, ...]]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _inputs: dict[str, list[OpInput]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def ops(self) -> Mapping[str, tuple[Op, Graph]]:
        """The ops by name, each with its graph."""
        return {op.name: (op, graph) for graph in self.netlist.graphs.values() for op in graph.ops}

    def inputs(self, op: Op, graph: Graph) -> list[OpInput]:
        """Return the inputs of an op on cores that its work reads."""
        if isinstance(op.place, Ethernet):
            return [self._passed_on(source, tensor, graph) for source, tensor in zip(op.inputs, op.work.inputs, strict=False)]
        if op.name not in self._inputs:
            reads = enumerate(zip(op.inputs, self.reads.of(op), strict=False))
            self._inputs[op.name] = [self._input(op, graph, i, source, read) for i, (source, read) in reads if read is not None]
        return self._inputs[op.name]

    def outputs(self, op: Op, graph: Graph) -> list[OpOutput]:
        """Return queues that an op on cores writes."""
        if op.blocking is None:
            return []
        tensor = result_type(op)
        size = tile_size(tensor, self.netlist)
        core_bytes = op.blocking.tiles * size
        cores = grid_cores(op)
        found: list[OpOutput] = []
        for name, target in graph.writes:
            if name != op.name:
                continue
            queue = self.netlist.queues[target]
            kind = "host" if queue.location != "dram" else "dram" if queue.chip == graph.chip else "chip"
            packet = min(self._row_bytes(op.blocking, tensor) or size * run_of_tiles(op.blocking), MAX_PACKET_BYTES)
            channels = self.links(graph.chip, queue.chip) if kind == "chip" else channels_of(queue)
            way = self.way(graph.chip, queue.chip) if kind == "chip" else ()
            side = way[0][1] if way else -1
            stream = Stream(kind, core_bytes, core_bytes * cores, cores, 1, 1, channels, packet, core_bytes, side=side)
            found.append(OpOutput(target, stream))
        return found

    def _row_bytes(self, blocking: Blocking, tensor: TensorType) -> int:
        """Return the bytes that a core writes together of a result in rows; 0 for one in tiles.

        Kernels `buda` pack a row of each tile after another, and the firmware writes each by itself (tt-budabackend, `untilize_copy`);
        those of TT-Metalium untilize rows of all the columns that a core has.
        """
        if tile_shape(tensor.layout) is not None:
            return 0
        tiles = 1 if self.netlist.chip.kernels == "buda" else blocking.mblock[1] * blocking.ublock[1]
        return format_named(tensor.format).size_bytes((tiles * TILE_COLUMNS,))

    def _input(self, op: Op, graph: Graph, index: int, source: str, read: Read) -> OpInput:
        size = tile_size(read.tensor, self.netlist)
        buffer = self._buffer_tiles(op, index)
        stays = buffer >= read.tiles and not read.chosen
        passes = (read.tiles if stays else read.passes) * readings(op, index, self._copy_tiles(op, index))
        distinct = max(round(1.0 / read.part.fraction), 1)
        cores = grid_cores(op)
        copies = max(cores // distinct, 1)
        core_bytes, total = passes * size, passes * size * min(distinct, cores)
        capacity = buffer / read.tiles
        queue = self.netlist.queues.get(source)
        if queue is not None:
            columns = 1 if read.gathered else max(round(dims(read.tensor)[2] * read.part.cols), 1)
            stream = self._from_queue(queue, graph, stays, columns, Stream("dram", core_bytes, total, min(distinct, cores), 1, copies))
            if stream.held and stream.kind == "dram":
                stream = replace(stream, load_rate=self._load_rate(op, queue, read, stream))
            return OpInput(source, stream, capacity, read.part.whole)
        producer, home = self.ops[source]
        kind = "chip" if home.chip != graph.chip or isinstance(op.place, Ethernet) else "core"
        sources = 1 if kind == "chip" or isinstance(producer.place, Host) else senders(producer, read)
        packet = size * (1 if read.gathered or producer.blocking is None else producer.blocking.ublock[1])
        send = total / max(grid_cores(producer), 1)
        channels = self.links(home.chip, graph.chip) if kind == "chip" else 1
        way = self.way(home.chip, graph.chip) if kind == "chip" else ()
        packet, side = min(packet, MAX_PACKET_BYTES), way[-1][0] if way else -1
        stream = Stream(kind, core_bytes, total, min(distinct, cores), sources, copies, channels, packet, send, side=side)
        return OpInput(source, stream, capacity, read.part.whole)

    def _load_rate(self, op: Op, queue: Queue, read: Read, stream: Stream) -> float:
        """Return bytes a cycle at which an op loads a queue through its ports, or is going to; 0 if it has none."""
        if queue.ports:
            target = machine(self.netlist.chip)
            return rate_of(target, loading_of(op, queue.grid, queue.buffers, read), queue.ports) if has_ways(target) else 0.0
        return likely_rate(rates_of(machine(self.netlist.chip)), stream.channels, stream.cores) if self.routed else 0.0

    def _passed_on(self, source: str, tensor: TensorType, graph: Graph) -> OpInput:
        """Return the input of an op on an Ethernet core, which holds little of it."""
        size = tiles_of(tensor) * tile_size(tensor, self.netlist)
        home = self.ops[source][1].chip if source in self.ops else graph.chip
        return OpInput(source, Stream("chip", size, size, channels=self.links(home, graph.chip)), 0.0, False)

    def links(self, a: int, b: int) -> int:
        """Return the Ethernet links on the way from one chip to another; 0: all that a chip has, as the netlist does not say."""
        if a == b:
            return 0
        if a not in self._links:
            self._links[a] = links_from(self.netlist.chip, a)
        return self._links[a].get(b, 0)

    def way(self, a: int, b: int) -> tuple[Link, ...]:
        """Return the steps that data takes from one chip to another; none where the netlist does not say."""
        if a not in self._ways:
            self._ways[a] = ways_from(self.netlist.chip.links, a)
        return self._ways[a].get(b, ())

    def _from_queue(self, queue: Queue, graph: Graph, stays: bool, columns: int, base: Stream) -> Stream:
        """Return a stream as it comes out of a queue.  columns: tiles side by side that a core reads."""
        size = tile_size(queue.tensor, self.netlist)
        run = min(run_of_tiles(queue.blocking), columns) if queue.blocking is not None else 1
        packet = min(size * run, MAX_PACKET_BYTES) if queue.blocking is not None else ROW_BYTES
        if self.netlist.positions == "pointers":
            held = (graph.name, queue.name) in self.held
        else:
            held = queue.type == "ram" and stays and (graph.input_count > 1 or self.loads or bool(queue.ports))
        kind = "dram" if queue.location == "dram" else "host"
        return Stream(
            kind, base.core_bytes, base.total_bytes, base.cores, 1, base.copies, channels_of(queue), packet, base.core_bytes, held
        )

    def _copy_tiles(self, op: Op, index: int) -> float:
        """Tiles of one copy of the buffer of an input, which is what the op can look at; without end where the netlist gives no buffer."""
        return max((buffer.tiles for buffer in op.buffers if buffer.role == f"in{index}"), default=inf)

    def _buffer_tiles(self, op: Op, index: int) -> float:
        """Return tiles that the buffer of an input holds; 0 if it has none."""
        return sum(buffer.tiles * buffer.copies for buffer in op.buffers if buffer.role == f"in{index}")


def loading_of(op: Op, grid: tuple[int, int], buffers: Sequence[tuple[int, int]], read: Read) -> Loading:
    """Return what an op on a grid loads of a queue.  grid, buffers: of the queue; read: how the op reads it."""
    if not isinstance(op.place, Grid) or op.blocking is None:
        raise ValueError(f"op '{op.name}' is not on a grid")
    cores = grid_cores(op)
    parts = min(max(round(1.0 / read.part.fraction), 1), cores)
    along = (read.part.rows if grid[0] > 1 else read.part.cols) < 1.0 or len(buffers) == 1
    return Loading(op.place, op.blocking.spread, parts, max(cores // parts, 1), along, tuple(channel for channel, _ in buffers))


def run_of_tiles(blocking: Blocking) -> int:
    """Return the tiles of a row that lie one after another in a buffer: of a micro block, or of all those beside each other if each is a
    row.
    """
    columns = blocking.ublock[1]
    return columns * blocking.mblock[1] if blocking.ublock[0] == 1 and blocking.order == "r" else columns


def result_type(op: Op) -> TensorType:
    """Return the type of the result of an op."""
    return op.work.value_types[op.work.outputs[0]]


def tile_size(tensor: TensorType, netlist: Netlist) -> int:
    """Return bytes of a tile of a tensor, with header; of as many elements for a tensor in rows."""
    tile = tile_shape(tensor.layout) or (32, 32)
    return format_named(tensor.format).tile_bytes(tile[0], tile[1], netlist.chip.alignment_bytes)


def grid_cores(op: Op) -> int:
    """Return the number of cores of an op; 1 for one that is not on a grid."""
    return op.place.rows * op.place.cols if isinstance(op.place, Grid) else 1


def channels_of(queue: Queue) -> int:
    """Return the DRAM channels that a queue lies in."""
    return max(len({channel for channel, _ in queue.buffers}), 1)


def senders(producer: Op, read: Read) -> int:
    """Return how many cores of the producer hold the tiles which one core reads."""
    if not isinstance(producer.place, Grid):
        return 1
    rows, cols = producer.place.rows, producer.place.cols
    if read.gathered:
        return max(min(round(read.part.fraction * rows * cols), rows * cols), 1)
    if producer.blocking is not None and dims(read.tensor)[0] == 1:  # parts that share the columns and rows of one matrix
        below, beside = producer.blocking.spread
        rows, cols = max(rows // below, 1) * beside, max(cols // beside, 1) * below
    return touched(rows, read.part.rows, dims(read.tensor)[1]) * touched(cols, read.part.cols, dims(read.tensor)[2])


@lru_cache(maxsize=1 << 14)
def touched(cores: int, fraction: float, tiles: int) -> int:
    """Return how many cores along one side have blocks that the widest part of so many tiles meets; parts as large as a fraction of
    them.
    """
    block, part = -(-tiles // cores), max(round(tiles * fraction), 1)
    starts = range(0, tiles, part) if tiles <= MAX_STARTS * part else range(0, MAX_STARTS * part, part)
    return min(max((min(start + part, tiles) - 1) // block - start // block + 1 for start in starts), cores)

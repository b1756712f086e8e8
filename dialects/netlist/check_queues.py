"""Rules for queues: writers, sizes, DRAM and host ranges."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import FORMATS
from ttc.dialects.core.machines.targets import load_target, target_names
from ttc.dialects.core.records import record
from ttc.dialects.netlist.check_graphs import check_blocking
from ttc.dialects.netlist.check_work import check_function, type_problem
from ttc.dialects.netlist.links import links_from
from ttc.dialects.netlist.model import Chip, Graph, Host, Netlist, Queue
from ttc.dialects.netlist.occupancy import ALWAYS
from ttc.dialects.netlist.sizes import queue_buffer_bytes, tile_shape
from ttc.dialects.netlist.violations import Findings

WRITTEN = ("output", "edge", "stash")
"""Kinds of queues that an op fills; the host fills the others."""
UPDATABLE = ("state", "parameter")
STORED = ("state", "parameter", "constant")
"""Kinds whose first value an archive holds."""
HOST_BYTES = 1 << 48
KEPT = (*STORED, "stash")
"""Kinds that hold their values between runs."""


def check_queues(netlist: Netlist, found: Findings) -> None:
    """Check all rules of queues."""
    writers = _writers(netlist)
    ranges: dict[tuple[str, int, int], list[Range]] = defaultdict(list)
    ordered = netlist.positions == "order"
    for queue in netlist.queues.values():
        where = f"queue '{queue.name}'"
        problem = type_problem(queue.tensor)
        if problem is not None:
            found.add("E0602" if queue.tensor.format in FORMATS else "E0607", where, problem)
            continue
        _check_writer(queue, writers.get(queue.name, set()), where, found)
        found.require(0 <= queue.chip < netlist.chip.chips, "E0605", where, f"there is no chip {queue.chip}")
        if not ordered:
            _check_pointed(queue, netlist, where, found)
            continue
        bare = queue.alias is None and queue.view is None
        found.require(bare, "E0609", where, "an alias or a view is only for queues whose positions programs set")
        _check_kind(queue, where, found)
        _check_space(queue, netlist, where, found)
        _check_ports(queue, netlist.chip, where, found)
        if _check_size(queue, netlist, where, found):
            _collect_ranges(queue, netlist, ranges, found)
    if ordered:
        _check_counts(netlist, found)
        _check_reach(netlist, found)
    for (space, chip, channel), members in ranges.items():
        place = f"channel {channel} of chip {chip}" if space == "dram" else f"host memory {channel}"
        _check_overlaps(members, place, found)


# ---- who fills it ------------------------------------------------------------------------------------------------------------------


def _writers(netlist: Netlist) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for graph in netlist.graphs.values():
        for op, queue in graph.writes:
            found[queue].add(op)
    return found


def _check_writer(queue: Queue, writers: set[str], where: str, found: Findings) -> None:
    if queue.kind in WRITTEN:
        ok = writers == {queue.source}
        names = ", ".join(f"'{w}'" for w in sorted(writers)[:4]) or "no op"
        found.require(ok, "E0606", where, f"it names '{queue.source}' as its source, but {names} writes it")
        return
    found.require(queue.source == "HOST", "E0606", where, f"the host fills a queue of kind {queue.kind}, not '{queue.source}'")
    found.require(not writers or queue.kind in UPDATABLE, "E0606", where, f"an op writes it, though its kind is {queue.kind}")


def _check_kind(queue: Queue, where: str, found: Findings) -> None:
    stored = queue.kind in STORED
    found.require(stored == (queue.key is not None), "E0609", where, f"kind {queue.kind} {'needs a' if stored else 'has no'} key")
    found.require(not stored or queue.type == "ram", "E0609", where, f"kind {queue.kind} is read in place: its type is ram")
    adds = not queue.summed or (queue.type == "ram" and queue.kind in ("output", "edge"))
    found.require(adds, "E0609", where, "only a ram that ops fill, for a result or other graphs, adds up what microbatches write")
    consumed = queue.kind != "stash" or queue.type == "queue"
    found.require(consumed, "E0609", where, "each reader of a stash gets each of its entries once: its type is queue")
    if queue.lifetime is not None:
        kept = queue.kind in KEPT
        found.require(not kept, "E0605", where, f"a {queue.kind} holds its value always: it has no lifetime")
        ordered = 0 <= queue.lifetime[0] <= queue.lifetime[1]
        found.require(ordered, "E0605", where, f"its lifetime {list(queue.lifetime)} is out of order")


def _check_counts(netlist: Netlist, found: Findings) -> None:
    """A queue holds at least the microbatches that one run of a graph pushes or pops."""
    for graph in netlist.graphs.values():
        used = {name for op in graph.ops for name in op.inputs} | {name for _, name in graph.writes}
        for name in sorted(used & netlist.queues.keys()):
            queue = netlist.queues[name]
            enough = queue.type == "ram" or queue.entries >= graph.input_count
            message = f"{queue.entries} entries for the {graph.input_count} microbatches of graph '{graph.name}'"
            found.require(enough, "E0602", f"queue '{name}'", message)


def _check_pointed(queue: Queue, netlist: Netlist, where: str, found: Findings) -> None:
    """What must hold of a queue whose positions programs set: its structure."""
    cells = queue.grid[0] * queue.grid[1]
    message = f"{len(queue.buffers)} buffers for a grid of {queue.grid[0]}x{queue.grid[1]}"
    found.require(min(queue.grid) >= 1 and cells == len(queue.buffers), "E0602", where, message)
    found.require(queue.entries >= 0 and queue.buffer_bytes >= 0, "E0602", where, "its size is negative")
    found.require(all(c >= 0 and a >= 0 for c, a in queue.buffers), "E0605", where, "an address or channel is negative")
    if queue.blocking is not None:
        sizes = (queue.blocking.t, *queue.blocking.mblock, *queue.blocking.ublock)
        found.require(min(sizes) >= 1, "E0602", where, "blocks have positive sizes")
    base = None if queue.alias is None else netlist.queues.get(queue.alias)
    if queue.alias is not None and (base is None or base is queue):
        found.add("E0601", where, f"it shows the memory of '{queue.alias}', which is no other queue")
    if queue.view is not None and check_function(queue.view, where, found):
        types = queue.view.value_types
        given = [types[i] for i in queue.view.outputs]
        holds = len(queue.view.inputs) == 1 and [(t.shape, t.format) for t in given] == [(queue.tensor.shape, queue.tensor.format)]
        found.require(holds, "E0602", where, "its view does not take one value to what it holds")


def _check_ports(queue: Queue, chip: Chip, where: str, found: Findings) -> None:
    """Ports are those of what cores load from DRAM, as many for each buffer, and there are such nodes."""
    if not queue.ports:
        return
    loaded = queue.location == "dram" and queue.type == "ram"
    found.require(loaded, "E0605", where, "only a ram in DRAM is loaded through ports")
    even = len(queue.ports) % max(len(queue.buffers), 1) == 0
    found.require(even, "E0602", where, f"{len(queue.ports)} ports for {len(queue.buffers)} buffers: as many for each are wanted")
    nodes = _nodes(chip.arch)
    wrong = next((port for port in queue.ports if port[0] not in (0, 1) or port[1] not in range(nodes)), None)
    found.require(wrong is None, "E0605", where, f"there is no port {list(wrong or ())}: a channel has {nodes} nodes, each on NoC 0 and 1")


@cache
def _nodes(arch: str) -> int:
    """Return how many NoC nodes a DRAM channel of an architecture has; 0 where that is not known."""
    return max((target.dram_ports for target in map(load_target, target_names()) if target.arch == arch), default=0)


# ---- sizes -------------------------------------------------------------------------------------------------------------------------


def _check_space(queue: Queue, netlist: Netlist, where: str, found: Findings) -> None:
    if queue.location == "dram":
        legal = queue.tensor.format in netlist.chip.formats and FORMATS[queue.tensor.format].device
        hint = "keep it in host memory"
        found.require(legal, "E0607", where, f"{netlist.chip.target} has no format {queue.tensor.format}", hint)
        fixed = -1 not in queue.tensor.shape
        found.require(fixed, "E0605", where, "its size depends on data", hint)


def _check_size(queue: Queue, netlist: Netlist, where: str, found: Findings) -> bool:
    """Entries, grid, blocks and bytes agree with each other.  Returns whether its ranges can be judged."""
    if not found.require(queue.entries >= 1, "E0602", where, f"{queue.entries} entries: at least 1"):
        return False
    cells = queue.grid[0] * queue.grid[1]
    ok = min(queue.grid) >= 1 and cells == len(queue.buffers)
    if not found.require(ok, "E0602", where, f"{len(queue.buffers)} buffers for a grid of {queue.grid[0]}x{queue.grid[1]}"):
        return False
    if -1 in queue.tensor.shape:
        return found.require(queue.buffer_bytes >= 0 and cells == 1, "E0602", where, "a queue of unknown size has one buffer")
    return _check_blocks(queue, netlist, where, found)


def _check_blocks(queue: Queue, netlist: Netlist, where: str, found: Findings) -> bool:
    tiled = tile_shape(queue.tensor.layout) is not None
    if not tiled and not found.require(queue.grid == (1, 1), "E0602", where, "a tensor in row layout lies in one buffer"):
        return False
    if queue.blocking is not None and tiled and not check_blocking(queue.blocking, queue.tensor, queue.grid, where, found):
        return False
    try:
        wanted = queue_buffer_bytes(queue.tensor, queue.entries, queue.blocking, netlist.chip)
    except Error as error:
        found.add("E0602", where, error.message)
        return False
    message = f"its buffers are {queue.buffer_bytes} bytes each, but {queue.entries} entries of its blocks take {wanted}"
    return found.require(queue.buffer_bytes == wanted, "E0602", where, message)


# ---- ranges ------------------------------------------------------------------------------------------------------------------------


@record(slots=True)
class Range:
    """Bytes [start, end) that a queue holds during the epochs of its lifetime, both included."""

    start: int
    end: int
    lifetime: tuple[int, int]
    queue: str


def _collect_ranges(queue: Queue, netlist: Netlist, ranges: dict[tuple[str, int, int], list[Range]], found: Findings) -> None:
    chip = netlist.chip
    dram = queue.location == "dram"
    channels = chip.dram_channels if dram else chip.host_channels + 1
    where = f"queue '{queue.name}'"
    for channel, address in queue.buffers:
        end = address + queue.buffer_bytes
        low, high = _usable(channel, queue.location, chip)
        if not found.require(0 <= channel < channels, "E0605", where, f"there is no {queue.location} channel {channel}"):
            continue
        message = f"address {address} is not a multiple of {chip.alignment_bytes}"
        found.require(address % chip.alignment_bytes == 0, "E0605", where, message)
        message = f"bytes {address} to {end} are outside the usable {low} to {high} of {queue.location} channel {channel}"
        if found.require(low <= address and end <= high, "E0605", where, message) and queue.buffer_bytes:
            key = (queue.location, queue.chip if dram else 0, channel)
            ranges[key].append(Range(address, end, queue.lifetime or ALWAYS, queue.name))


def _usable(channel: int, location: str, chip: Chip) -> tuple[int, int]:
    """First and last address of a channel that queues may take, the last not included."""
    if location == "dram":
        return chip.dram_reserved_bytes, chip.dram_channel_bytes
    return 0, chip.host_channel_bytes if channel < chip.host_channels else HOST_BYTES


def _check_reach(netlist: Netlist, found: Findings) -> None:
    """Cores read and write what their chip reaches: queues in its own DRAM (written: in any chip's), and in its channels of host memory."""
    if netlist.chip.grid is None:
        return
    private = {q.name for q in netlist.queues.values() if q.location == "host" and _is_private(q, netlist.chip)}
    for graph in netlist.graphs.values():
        on_device = {op.name: op for op in graph.ops if not isinstance(op.place, Host)}
        read = {(op.name, name) for op in on_device.values() for name in op.inputs}
        written = {write for write in graph.writes if write[0] in on_device}
        for op, name in sorted(read | written):
            if name in private and not found.many:
                message = f"cores cannot reach queue '{name}', which lies in memory of the program alone"
                found.add("E0605", f"op '{op}'", message, "place it in a channel that the chip reaches")
        _check_ways(graph, read, written, netlist, found)


def _is_private(queue: Queue, chip: Chip) -> bool:
    return any(channel >= chip.host_channels for channel, _ in queue.buffers)


def _check_ways(graph: Graph, read: set[tuple[str, str]], written: set[tuple[str, str]], netlist: Netlist, found: Findings) -> None:
    """No op of a graph reads DRAM of another chip, or writes to one that no Ethernet leads to."""
    chips = range(netlist.chip.chips)
    ways: dict[int, int] | None = None
    for op, name in sorted(read | written):
        queue = netlist.queues.get(name)
        if queue is None or queue.location != "dram" or queue.chip == graph.chip or found.many:
            continue
        if graph.chip not in chips or queue.chip not in chips:
            continue
        if (op, name) in read:
            message = f"of chip {graph.chip} reads queue '{name}' in the DRAM of chip {queue.chip}"
            found.add("E0605", f"op '{op}'", message, "write it to a queue on the reader's chip")
        elif netlist.chip.links:
            ways = links_from(netlist.chip, graph.chip) if ways is None else ways
            message = f"writes queue '{name}' on chip {queue.chip}, to which no Ethernet link leads from chip {graph.chip}"
            found.require(queue.chip in ways, "E0605", f"op '{op}'", message)


def _check_overlaps(ranges: list[Range], place: str, found: Findings) -> None:
    """No two ranges share bytes while both live."""
    for opened, other in overlaps(ranges):
        if found.many:
            return
        message = f"bytes {opened.start} to {opened.end} of {place} overlap those of queue '{other}'"
        found.add("E0605", f"queue '{opened.queue}'", message)


def overlaps(ranges: Iterable[Range]) -> Iterator[tuple[Range, str]]:
    """Ranges of one channel that share bytes with an earlier one's queue while both live; without them, no two ranges do.

    A sweep over addresses: ranges open at the same byte must have disjoint lifetimes, so they are kept sorted by lifetime, and a
    new one is compared with its neighbours alone.
    """
    opening = sorted(ranges, key=lambda r: (r.start, r.end))
    closing = sorted(opening, key=lambda r: r.end)
    live: list[tuple[int, int, int, str]] = []  # (first epoch, last epoch, number, queue), disjoint
    numbers: dict[int, tuple[int, int, int, str]] = {}
    closed = 0
    for number, opened in enumerate(opening):
        while closing[closed].end <= opened.start:
            entry = numbers.pop(id(closing[closed]), None)
            if entry is not None:
                del live[bisect_left(live, entry)]
            closed += 1
        entry = (*opened.lifetime, number, opened.queue)
        index = bisect_left(live, entry)
        clash = _clash(live, index, opened.lifetime)
        if clash is None:
            insort(live, entry)
            numbers[id(opened)] = entry
        else:
            yield opened, clash


def _clash(live: list[tuple[int, int, int, str]], index: int, lifetime: tuple[int, int]) -> str | None:
    """Return the queue before or at `index` whose lifetime meets the one given."""
    if index > 0 and live[index - 1][1] >= lifetime[0]:
        return live[index - 1][3]
    if index < len(live) and live[index][0] <= lifetime[1]:
        return live[index][3]
    return None

"""Rules of memory: where the buffers of queues may lie, and that no two share bytes."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from math import prod
from typing import TypeAlias

from ttc.dialects.core.records import record
from ttc.dialects.netlist.buda.form import BudaQueue
from ttc.dialects.netlist.buda.rules.context import ARCHS, Context, arch_named, tiles
from ttc.dialects.netlist.buda.rules.sizes import buffer_bytes

RESERVED_BYTES = 8 << 20
"""Bytes at the bottom of a DRAM channel that hold what epochs are made of, on every architecture; more above them depend on it."""
REMOTE_ADDRESS = 0x30000000
"""Where the window begins through which a Grayskull chip writes to others."""
Place: TypeAlias = tuple[str, int, int]
"""The memory that a buffer lies in: (`dram` or `host`, device, channel)."""


@record(slots=True)
class BufferRange:
    """Bytes [start, end) of one buffer of a queue."""

    start: int
    end: int
    queue: BudaQueue


def check_memory(context: Context) -> None:
    """Check channels, alignment, bounds and overlaps of the buffers of all queues.

    Queues that programs allocate and free share bytes with those alone that live at another time.  A netlist whose buffers, three or
    more, all lie at one address has not been placed: nothing overlaps there.
    """
    ranges: dict[Place, list[BufferRange]] = defaultdict(list)
    moving: dict[str, list[tuple[Place, BufferRange]]] = {}
    dynamic, alignment, floor, channels = dynamic_queues(context), _alignment(context), _floor(context), _host_channels(context)
    for queue in context.netlist.queues.values():
        size = buffer_bytes(queue, context.arch.alignment_bytes, _untilized(queue, context))
        if f"queue '{queue.name}'" in context.faulty or queue.name in context.misfits:
            continue
        if queue.loc is None or size is None or not _check_bounds(queue, size, alignment, floor, channels, context) or queue.alias:
            continue
        buffers = list(_ranges(queue, size))
        if queue.name in dynamic:
            moving[queue.name] = buffers
            continue
        for place, taken in buffers:
            ranges[place].append(taken)
    if _placed(context):
        views = _reader_views(context)
        lasting = {place: _check_overlaps(members, _place_text(place), views, context) for place, members in ranges.items()}
        _check_moving(moving, lasting, views, context)


def _ranges(queue: BudaQueue, size: int) -> Iterator[tuple[Place, BufferRange]]:
    """Yield every buffer of a queue; further instances of a host queue lie behind the first."""
    host, devices = queue.loc == "host", queue.target_devices or (0,)
    for step, device in enumerate(devices):
        offset = step * size if host else 0
        for channel, address in queue.addresses:
            yield (str(queue.loc), devices[0] if host else device, channel), BufferRange(address + offset, address + offset + size, queue)


def _place_text(place: Place) -> str:
    return f"channel {place[2]} of device {place[1]}" if place[0] == "dram" else f"host channel {place[2]} of device {place[1]}"


def dynamic_queues(context: Context) -> set[object]:
    """Return names of queues that programs allocate and free."""
    steps = (step for program in context.netlist.programs.values() for step in program.instructions)
    return {name for step in steps if step.opcode in ("allocate_queue", "deallocate_queue") for name in step.args}


def _untilized(queue: BudaQueue, context: Context) -> bool:
    producer = context.ops.get(queue.input)
    return producer is not None and bool(producer.untilize_output)


def _placed(context: Context) -> bool:
    places = [place for queue in context.netlist.queues.values() for place in queue.addresses]
    return len(places) < 3 or len(set(places)) > 1


def _alignment(context: Context) -> int:
    """A netlist for several architectures needs the least of their alignments alone."""
    listed = {context.arch.name, *context.netlist.archs}
    return min(arch_named(name).alignment_bytes for name in ARCHS if name in listed)


def _check_bounds(queue: BudaQueue, size: int, alignment: int, floor: int, host_channels: int, context: Context) -> bool:
    """Return whether all buffers lie where buffers can lie; reports the first one of each kind of fault."""
    arch, dram = context.arch, queue.loc == "dram"
    channels, limit = (arch.dram_channels, arch.dram_channel_bytes) if dram else (host_channels, arch.host_channel_bytes)
    remote = dram and arch.grayskull and bool(queue.target_devices) and _remote(queue, context)
    for channel, address in queue.addresses:
        message = None
        if not 0 <= channel < channels:
            message = f"there is no {queue.loc} channel {channel}: {arch.name} has {channels}"
        elif address % alignment:
            message = f"address 0x{address:x} is not a multiple of {alignment}"
        elif remote and (channel, address >= REMOTE_ADDRESS) != (0, True):
            message = f"channel {channel}, 0x{address:x}: Grayskull reaches other chips at channel 0 from 0x{REMOTE_ADDRESS:x} on alone"
        elif not 0 <= address <= address + size <= limit:
            message = f"bytes 0x{address:x} to 0x{address + size:x} are not inside the {limit} bytes of {queue.loc} channel {channel}"
        elif dram and address < floor:
            message = f"address 0x{address:x} is in the first 0x{floor:x} bytes of a DRAM channel, which hold the programs of epochs"
        if message is not None:
            context.queue(queue, queue.loc or "", "E0605", message)
            return False
    return True


def _remote(queue: BudaQueue, context: Context) -> bool:
    """Return whether ops on another chip than its own fill or read a queue."""
    ops = [queue.input, *(op.name for op, _ in context.readers.get(queue.name, ()))]
    graphs = [context.graph_of[name] for name in ops if name in context.graph_of]
    return any(not set(graph.target_devices or ()) & set(queue.target_devices or ()) for graph in graphs if graph.target_devices)


def _host_channels(context: Context) -> int:
    """A netlist for several architectures may use the channels of any of them."""
    return max(arch_named(name).host_channels for name in ARCHS if name in {context.arch.name, *context.netlist.archs})


def _floor(context: Context) -> int:
    """Return where queues may begin: netlists with all of them below are for machines that keep nothing there."""
    dram = [queue for queue in context.netlist.queues.values() if queue.loc == "dram"]
    return RESERVED_BYTES if any(address >= RESERVED_BYTES for queue in dram for _, address in queue.addresses) else 0


def _reader_views(context: Context) -> set[str]:
    """Rams that programs only read: they may be another view of a ram that an op fills."""
    steps = (step for program in context.netlist.programs.values() for step in program.instructions)
    return {setting.queue for step in steps for setting in step.settings if setting.read_only == "true"}


def _share(one: BudaQueue, other: BudaQueue, views: set[str]) -> bool:
    """Return whether two queues at the very same place may be views of the same data.

    That is so for a ram that is read only and one that an op fills, of as many tiles, and for a table and the indices of an embedding
    that nobody fills but the host.
    """
    if one.addresses != other.addresses:
        return False
    own, others = tiles(one), tiles(other)
    if one.type == other.type == "ram" and (one.name in views or other.name in views) and own and others:
        return prod(own) * (one.entries or 0) == prod(others) * (other.entries or 0)
    return one.input == other.input == "HOST" and (one.layout == "flat") != (other.layout == "flat")


def _check_overlaps(ranges: list[BufferRange], place: str, views: set[str], context: Context) -> list[BufferRange]:
    """Return each range against the one that reaches furthest of those before it.  Returns those that overlap none, in order."""
    ranges.sort(key=lambda r: (r.start, r.end))
    told: set[tuple[str, str]] = set()
    furthest: BufferRange | None = None
    disjoint: list[BufferRange] = []
    for current in ranges:
        if furthest is None or current.start >= furthest.end:
            disjoint.append(current)
        elif (furthest.queue.name, current.queue.name) not in told and not _share(furthest.queue, current.queue, views):
            told.add((furthest.queue.name, current.queue.name))
            _report(furthest, current, place, context)
        if furthest is None or current.end > furthest.end:
            furthest = current
    return disjoint


def _check_moving(
    moving: dict[str, list[tuple[Place, BufferRange]]], lasting: dict[Place, list[BufferRange]], views: set[str], context: Context
) -> None:
    """Queues from where they are allocated to where they are freed: ranges in use are kept in order, a new one meets its neighbours."""
    inside: dict[object, list[tuple[Place, BufferRange]]] = {}
    told: set[str] = set()
    for program in context.netlist.programs.values():
        for step in program.instructions:
            if step.opcode == "deallocate_queue":
                for name in step.args:
                    for place, taken in inside.pop(name, ()):
                        del lasting[place][bisect_left(lasting[place], taken.start, key=lambda r: r.start)]
            for name in step.args if step.opcode == "allocate_queue" else ():
                for place, taken in moving.get(str(name), ()) if name not in inside else ():
                    used = lasting.setdefault(place, [])
                    index = bisect_left(used, taken.start, key=lambda r: r.start)
                    near = [r for r in used[max(index - 1, 0) : index + 1] if r.start < taken.end and taken.start < r.end]
                    if not near:
                        used.insert(index, taken)
                        inside.setdefault(name, []).append((place, taken))
                    elif taken.queue.name not in told and not _share(near[0].queue, taken.queue, views):
                        told.add(taken.queue.name)
                        _report(near[0], taken, _place_text(place), context)


def _report(one: BufferRange, other: BufferRange, place: str, context: Context) -> None:
    if context.found.many:
        return
    message = f"bytes 0x{other.start:x} to 0x{other.end:x} of {place} overlap 0x{one.start:x} to 0x{one.end:x} of queue '{one.queue.name}'"
    context.queue(other.queue, other.queue.loc or "", "E0605", message)

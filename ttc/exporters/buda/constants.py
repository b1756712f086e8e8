"""Queues for constants, and DRAM for them behind what a netlist has placed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from math import prod
from typing import Literal

from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import TensorType
from ttc.dialects.core.records import record
from ttc.dialects.netlist.model import Blocking, Netlist, Queue
from ttc.dialects.netlist.sizes import queue_buffer_bytes


class Room:
    """Hands out what is left of each chip's channels, the emptiest channel first."""

    def __init__(self, netlist: Netlist) -> None:
        self._chip = netlist.chip
        start = self._aligned(netlist.chip.dram_reserved_bytes)
        self._ends: defaultdict[int, list[int]] = defaultdict(lambda: [start] * netlist.chip.dram_channels)
        for queue in netlist.queues.values():
            if queue.location == "dram":
                for channel, address in queue.buffers:
                    ends = self._ends[queue.chip]
                    ends[channel] = max(ends[channel], self._aligned(address + queue.buffer_bytes))

    def take(self, chip: int, size_bytes: int) -> tuple[int, int]:
        """Return (channel, address) of a free block. Raises E0503 if no channel has room."""
        ends = self._ends[chip]
        channel = min(range(len(ends)), key=lambda i: ends[i])
        address = ends[channel]
        if address + size_bytes > self._chip.dram_channel_bytes:
            message = f"{size_bytes:,} bytes for constants of the Buda netlist find no room in DRAM of chip {chip}"
            raise Error("E0503", message, hint="a smaller format or batch would help")
        ends[channel] = self._aligned(address + size_bytes)
        return channel, address

    def _aligned(self, value: int) -> int:
        alignment = self._chip.alignment_bytes
        return -(-value // alignment) * alignment


Manner = Literal["diagonals", "rows"]


@record(slots=True)
class Copy:
    """The tensor that a queue holds: that of another queue, in another form."""

    queue: str
    manner: Manner


@record
class Fillings:
    """What queues of an exported netlist hold, where that is not the tensor of the archive under their name.

    Args:
        constants: values of queues that the archive has no tensor for, [t, rows, columns] in whole tiles.
        copies: queues that hold the tensor of another queue in a manner of their own.
        indices: queues of indices, and how many each row of cores reads of them.
    """

    constants: Mapping[str, NDArray]
    copies: Mapping[str, Copy]
    indices: Mapping[str, int]


class ConstantQueues:
    """Queues for constants that the compiled netlist has no queue for; equal ones share a queue on their chip."""

    def __init__(self, netlist: Netlist) -> None:
        self.queues: dict[str, Queue] = {}
        self.values: dict[str, NDArray] = {}
        self.copies: dict[str, Copy] = {}
        self._chip = netlist.chip
        self.room = Room(netlist)
        self._known: dict[tuple[object, ...], str] = {}
        self._taken = set(netlist.queues) | {op.name for graph in netlist.graphs.values() for op in graph.ops}

    def of(self, values: NDArray, format_: str, chip: int) -> str:
        """Return the name of the queue of a constant [t, rows, columns] in whole tiles."""
        key = (values.shape, values.tobytes(), format_, chip)
        if key not in self._known:
            name = self._known[key] = self._named("constant")
            self.values[name] = values
            self.queues[name] = self._queue(name, values.shape, format_, chip)
        return self._known[key]

    def copy(self, queue: Queue, manner: Manner, chip: int) -> str:
        """Return the name of the queue that holds another's tensor in that manner.

        diagonals: of a tensor [z, c], z tiles one below another.  rows: of a matrix, in whole tiles without their order.
        """
        key = (manner, queue.name, chip)
        if key not in self._known:
            name = self._known[key] = self._named(f"{queue.name}_{manner}")
            self.copies[name] = Copy(queue.name, manner)
            t, rows, columns = queue.tensor.tile_dims()
            weights = prod(queue.tensor.shape[:-1])
            shape = (1, weights * 32, columns * 32) if manner == "diagonals" else (t, rows * 32, columns * 32)
            self.queues[name] = self._queue(name, shape, queue.tensor.format, chip, flat=manner == "rows")
        return self._known[key]

    def moved(self, queue: Queue, type_: TensorType) -> Queue:
        """Return a queue with entries of another type, in one buffer of its own."""
        if queue.tensor == type_:
            return queue
        t, rows, columns = type_.tile_dims()
        blocking = Blocking(t, (rows, columns), (1, 1))
        size = queue_buffer_bytes(type_, queue.entries, blocking, self._chip)
        place = self.room.take(queue.chip, size)
        placed = replace(queue, location="dram", grid=(1, 1), blocking=blocking, buffers=(place,), buffer_bytes=size, ports=())
        return replace(placed, tensor=type_)

    def _queue(self, name: str, shape: tuple[int, ...], format_: str, chip: int, *, flat: bool = False) -> Queue:
        type_ = TensorType(shape, format_, "tiles(32, 32)")
        t, rows, columns = type_.tile_dims()
        blocking = Blocking(t, (rows, columns), (1, 1))
        size = queue_buffer_bytes(type_, 1, blocking, self._chip)
        place = self.room.take(chip, size)
        type_ = replace(type_, layout="rows") if flat else type_
        return Queue(name, "constant", "ram", "HOST", type_, 1, "dram", chip, (1, 1), blocking, (place,), size, key=name)

    def _named(self, stem: str) -> str:
        name, number = stem, 0
        while name in self._taken:
            name = f"{stem}_{number}"
            number += 1
        self._taken.add(name)
        return name

"""The error of queues that find no room: the largest of them, and what would help."""

from __future__ import annotations

from collections.abc import Sequence

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import format_named
from ttc.dialects.core.ir.locations import source_names
from ttc.dialects.core.ir.to_plain import plain_type
from ttc.dialects.core.machines.targets import Target
from ttc.dialects.netlist.ops import QueueOp

LISTED = 5
"""The most queues that the error lists."""
SMALL = "Bfp8_b"
"""The smaller format that the error proposes for queues."""
HOST_FILLED = ("input", "output")


def size_bytes(queue: QueueOp) -> int:
    """Return bytes of all buffers of a queue."""
    rows, cols = queue.grid or (1, 1)
    return (queue.buffer_bytes or 0) * rows * cols


def shortage(queues: Sequence[QueueOp], failed: Sequence[str], room: Sequence[int], place: str, target: Target, chips: int) -> Error:
    """Return an E0503 that tells what found no room, the largest queues with their sources, and what would help.

    Args:
        queues: of one memory; failed: names of those that found no place.
        room: bytes of each channel; place: what the memory is called.
        chips: that the queues are spread over.
    """
    first = next(q for q in queues if q.sym == failed[0])
    largest = sorted(queues, key=lambda q: (-size_bytes(q), q.sym))[:LISTED]
    alone = (first.buffer_bytes or 0) > max(room, default=0)
    need = f"each of its buffers takes {first.buffer_bytes:,} bytes, a channel has {max(room, default=0):,}" if alone else ""
    total = sum(map(size_bytes, queues))
    message = f"queue '{first.sym}' finds no room in the {sum(room):,} bytes of {place}"
    return Error(
        "E0503",
        f"{message}: {need or f'{len(queues)} queues take {total:,}, all lifetimes together'}",
        hint=_help(queues, target, chips, by_channel=alone),
        excerpt="\n".join(["largest queues:", *map(_line, largest)]),
    )


def _line(queue: QueueOp) -> str:
    tensor = plain_type(queue.tensor)
    source = ", ".join(source_names(queue.location)) or queue.kind
    entries = f", {queue.entries} entries" if (queue.entries or 1) > 1 else ""
    return f"{queue.sym}: {size_bytes(queue):,} bytes, {queue.kind} of {tensor.format}{list(tensor.shape)}{entries} ({source})"


def _help(queues: Sequence[QueueOp], target: Target, chips: int, *, by_channel: bool) -> str:
    """Return what would help, the most effective first."""
    found: list[tuple[int, str]] = []
    wide = [q for q in queues if (f := format_named(plain_type(q.tensor).format)).is_float and f.data_bytes(32, 32) > 32 * 32 * 2]
    ratio = format_named(SMALL).data_bytes(32, 32) / format_named("Float32").data_bytes(32, 32)
    if wide:
        saved = int(sum(map(size_bytes, wide)) * (1 - ratio))
        found.append((saved, f"a smaller format (--format {SMALL}) saves about {saved:,} bytes"))
    batched = sum(size_bytes(q) for q in queues if q.type == "queue")
    if batched:
        found.append((batched // 2, f"half the batch saves up to {batched // 2:,}"))
    moved = sum(size_bytes(q) for q in queues if q.kind in HOST_FILLED and q.space == "dram")
    if moved:
        found.append((moved, f"inputs and outputs in host memory save {moved:,}"))
    if target.chips > chips and not by_channel:
        more = sum(map(size_bytes, queues)) * (target.chips - chips) // target.chips
        found.append((more, f"--chips {target.chips} spreads them over as many chips"))
    return "; ".join(text for _, text in sorted(found, key=lambda item: -item[0])) or "a smaller model would fit"

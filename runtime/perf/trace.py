"""The run as a trace that Perfetto and chrome://tracing open: a process for each chip, a thread for each core.

Format: the JSON object form of the Trace Event Format, complete events (`ph` X) with times in microseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ttc.runtime.perf.costs import OpCost
from ttc.runtime.perf.epoch import EpochCost
from ttc.runtime.perf.run import EpochExecution, RunCost

MAX_EVENTS = 500_000
"""The most events of a trace; later epochs are left out, and the trace says so."""
EPOCHS = 0
"""The thread of a chip on which its epochs stand, above its cores."""


def as_trace(cost: RunCost) -> dict[str, Any]:
    """Return the trace: every epoch in its first pass through the program's loops, every op on each of its cores."""
    events: list[dict[str, Any]] = []
    left_out = 0
    for execution in cost.executions:
        epoch = cost.epochs[execution.epoch]
        size = len(epoch.chips) * 2 + sum(max(op.cores, 1) for op in epoch.ops)
        if len(events) + size > MAX_EVENTS:
            left_out += 1
            continue
        events.extend(_epoch_events(cost, execution, epoch))
    return {
        "traceEvents": [*_names(cost), *events],
        "displayTimeUnit": "ms",
        "otherData": {"program": cost.program, "target": cost.target, "epochs left out": left_out, "cycles": round(cost.cycles)},
    }


def thread_of(row: int, col: int) -> int:
    """Return the thread of a core."""
    return 1 + row * 100 + col


def _names(cost: RunCost) -> Iterator[dict[str, Any]]:
    """Yield names of processes and threads."""
    for chip in sorted({chip for epoch in cost.epochs for chip in epoch.chips}):
        yield {"ph": "M", "name": "process_name", "pid": chip, "tid": EPOCHS, "args": {"name": f"chip {chip} ({cost.target})"}}
        yield {"ph": "M", "name": "thread_name", "pid": chip, "tid": EPOCHS, "args": {"name": "epochs"}}
        for row, col in sorted({cell for epoch in cost.epochs for op in epoch.ops if op.chip == chip for cell in _cells(op)}):
            yield {"ph": "M", "name": "thread_name", "pid": chip, "tid": thread_of(row, col), "args": {"name": f"core {row},{col}"}}


def _cells(op: OpCost) -> list[tuple[int, int]]:
    return [(row, col) for row in range(op.row, op.row + op.rows) for col in range(op.col, op.col + op.cols)]


def _epoch_events(cost: RunCost, execution: EpochExecution, epoch: EpochCost) -> Iterator[dict[str, Any]]:
    micro = 1e6 / cost.clock_hz
    begin = min(max(execution.start, execution.origin), execution.start + execution.cycles)
    origin = execution.origin - epoch.prologue
    told = {"microbatches": epoch.input_count, "interval": round(epoch.interval), "limit": epoch.limit, "slowest": epoch.slowest}
    for chip in epoch.chips:
        if begin > execution.start:
            yield _event("switch", chip, EPOCHS, execution.start * micro, begin * micro, {})
        args = {**told, "times": execution.times, "graphs": ", ".join(epoch.graphs)}
        yield _event(epoch.graphs[0], chip, EPOCHS, begin * micro, (execution.start + execution.cycles) * micro, args)
    for op, first, last in zip(epoch.ops, epoch.begins, epoch.ends, strict=True):
        args = {
            "type": op.type,
            "source": ", ".join(op.location),
            "cycles a microbatch": round(op.total),
            "limit": op.limit,
            "math": round(op.math),
            "DRAM in": round(op.dram_in),
            "NoC in": round(op.noc_in),
        }
        for row, col in _cells(op):
            yield _event(op.name, op.chip, thread_of(row, col), (origin + first) * micro, (origin + max(first, last)) * micro, args)


def _event(name: str, pid: int, tid: int, begin: float, end: float, args: dict[str, Any]) -> dict[str, Any]:
    """Return an event from one time to another, in microseconds.  Both are whole nanoseconds, so that neighbours do not overlap."""
    first, last = round(begin * 1000), round(end * 1000)
    return {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": first / 1000, "dur": (last - first) / 1000, "args": args}

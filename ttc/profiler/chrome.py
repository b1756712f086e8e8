"""From what was recorded to a trace that Perfetto and chrome://tracing open.

Format: the JSON object form of the Trace Event Format, complete events (`ph` X) with times in microseconds since `baseTimeNanoseconds`,
which are nanoseconds since 1970 and what PyTorch's profiler has, too.  A process is a rank.  Its threads are those of the system; behind
them each thread that ran jobs has a lane for these.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ttc.dialects.core.records import record
from ttc.profiler.simulated import simulated_events
from ttc.runtime.tracing import Event, Recording

OURS = "ttc"
"""The key of a trace under which stands what only ttc writes: rank, process, events that were lost."""
DEVICE_LANE = 1 << 24
"""The least number of threads that are lanes of jobs; the system's threads have smaller ones."""


@record
class Lane:
    """The thread of a trace on which the jobs of a thread are shown."""

    number: int
    name: str


def chrome_trace(recording: Recording, *, simulate: bool = True) -> dict[str, Any]:
    """Return a recording as a trace.  simulate: whether to add lanes of devices for which programs ran."""
    pid, rank = os.getpid(), rank_of(os.environ) or 0
    events = sorted(recording.events, key=lambda event: (event.start_ns, -event.end_ns))
    lanes = _lanes(recording, events)
    shown = [_shown(event, pid, recording.start_ns, lanes) for event in events]
    told: dict[str, Any] = {"rank": rank, "pid": pid, "lost_events": recording.lost}
    if simulate:
        found, notes = simulated_events(recording, rank)
        shown += found
        told |= {"simulated": notes} if notes else {}
    return {
        "traceEvents": [*_names(recording, events, lanes, pid, rank), *shown],
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": recording.since_1970_ns,
        OURS: told,
    }


def rank_of(environ: Mapping[str, str]) -> int | None:
    """Return the rank that torchrun gives a process; None without one, and for what is no small number."""
    text = environ.get("RANK", "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def _lanes(recording: Recording, events: list[Event]) -> dict[int, Lane]:
    """Return a lane for each thread that ran jobs, in the order in which they began to."""
    threads = dict.fromkeys(event.thread for event in events if event.kind == "job")
    return {thread: Lane(DEVICE_LANE + i, f"device: jobs of {recording.threads.get(thread, thread)}") for i, thread in enumerate(threads)}


def _names(recording: Recording, events: list[Event], lanes: Mapping[int, Lane], pid: int, rank: int) -> Iterator[dict[str, Any]]:
    program = Path(sys.argv[0]).name if sys.argv and sys.argv[0] else "python"
    yield _meta("process_name", pid, pid, {"name": f"rank {rank}: {program}"})
    yield _meta("process_sort_index", pid, pid, {"sort_index": rank})
    for thread in dict.fromkeys(event.thread for event in events if event.kind != "job"):
        yield _meta("thread_name", pid, thread, {"name": recording.threads.get(thread, str(thread))})
    for lane in lanes.values():
        yield _meta("thread_name", pid, lane.number, {"name": lane.name})
        yield _meta("thread_sort_index", pid, lane.number, {"sort_index": lane.number})


def _meta(name: str, pid: int, tid: int, args: dict[str, Any]) -> dict[str, Any]:
    return {"ph": "M", "name": name, "pid": pid, "tid": tid, "args": args}


def _shown(event: Event, pid: int, origin_ns: int, lanes: Mapping[int, Lane]) -> dict[str, Any]:
    nanoseconds = event.end_ns - event.start_ns
    told = {name: value for name, value in event.told.items() if name != "program"}
    tid = event.thread
    if event.kind == "job":
        tid = lanes[event.thread].number
        if nanoseconds > 0:
            told |= {"GFLOP/s": round(told["flops"] / nanoseconds, 3), "GB/s": round(told["bytes"] / nanoseconds, 3)}
    start = (event.start_ns - origin_ns) / 1e3
    return {"ph": "X", "cat": event.kind, "name": event.name, "pid": pid, "tid": tid, "ts": start, "dur": nanoseconds / 1e3, "args": told}

"""Makes one trace of several: of the ranks of a run, or of PyTorch's profiler and ours."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ttc.dialects.core.errors import Error, warn
from ttc.profiler.reading import Trace, checked_trace, is_time, read_trace

_FLOW_PHASES = frozenset("stfbne")
"""Phases of events that belong together by an `id`."""


def merge(traces: Sequence[Mapping[str, Any] | str | os.PathLike[str]]) -> Trace:
    """Return one trace of several, on one clock: events of one moment are below each other.

    Processes have the numbers of their ranks, further ones of a rank numbers behind those.  Traces of one process, such as PyTorch's
    profiler and ours write them, stay one process.

    Args:   traces: files, or traces as they are.
    Raises: E0102 for what is no trace, E0101 without any.
    """
    if not traces:
        raise Error("E0101", "there is no trace to merge")
    read = [_read(trace, number) for number, trace in enumerate(traces, 1)]
    bases = [trace.get("baseTimeNanoseconds") for trace in read]
    known = [base for base in bases if base is not None]
    if len(known) < len(read):
        warn("traces without baseTimeNanoseconds begin where the first of the others does")
    first = min(known, default=0)
    pids = _processes(read)
    merged: list[dict[str, Any]] = []
    for number, (trace, base) in enumerate(zip(read, bases, strict=True)):
        shift = 0 if base is None else base - first
        merged += [_moved(event, number, shift, pids[_process(trace, event)]) for event in trace["traceEvents"]]
    return {"traceEvents": merged, "displayTimeUnit": "ms", "baseTimeNanoseconds": first, "ttc": {"merged": len(read)}}


def _read(trace: Mapping[str, Any] | str | os.PathLike[str], number: int) -> Trace:
    if isinstance(trace, Mapping):
        return checked_trace(dict(trace), f"trace {number}")
    return read_trace(Path(trace))


def _rank(trace: Trace) -> int:
    """Return the rank that a trace says it is of, as ours and PyTorch's do; 0 if it says none."""
    for key in ("ttc", "distributedInfo"):
        told = trace.get(key)
        rank = told.get("rank") if isinstance(told, dict) else None
        if isinstance(rank, int) and not isinstance(rank, bool) and 0 <= rank < 1 << 20:
            return rank
    return 0


def _process(trace: Trace, event: Mapping[str, Any]) -> tuple[int, int | str]:
    return _rank(trace), event.get("pid", 0)


def _processes(traces: Sequence[Trace]) -> dict[tuple[int, int | str], int]:
    """Return the new number of each process: the rank of the one with the first timed event of a rank, else a free number."""
    found = dict.fromkeys(_process(trace, event) for trace in traces for event in trace["traceEvents"] if event["ph"] != "M")
    found |= dict.fromkeys(_process(trace, event) for trace in traces for event in trace["traceEvents"])
    numbers: dict[tuple[int, int | str], int] = {}
    for key in found:
        if key[0] not in numbers.values():
            numbers[key] = key[0]
    free = max(numbers.values(), default=0) + 1
    for key in found:
        if key not in numbers:
            numbers[key], free = free, free + 1
    return numbers


def _moved(event: Mapping[str, Any], trace: int, shift_ns: int, pid: int) -> dict[str, Any]:
    """Return an event of a trace on the common clock.

    Nanoseconds are added as integers: PyTorch's clock begins months before a trace, where floats of microseconds that are added round an
    event into the next one.
    """
    moved = {**event, "pid": pid}
    if is_time(event.get("ts")):  # metadata may have anything there
        moved["ts"] = (round(event["ts"] * 1000) + shift_ns) / 1000
    if event["ph"] in _FLOW_PHASES and "id" in event:
        moved["id"] = f"{trace}:{event['id']}"
    return moved

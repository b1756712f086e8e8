"""Lanes of devices that are not present: the performance model says what their cores would do in each run.

A device has a clock of its own.  A run begins on it when the run here begins, or when the device has done the one before.
"""

from __future__ import annotations

from math import ceil
from typing import Any

from ttc.dialects.core.errors import Error
from ttc.runtime.program import Program
from ttc.runtime.tracing import Recording

CHIP_PROCESS = 1 << 23
"""The least number of processes of a trace that are chips; the system's processes have smaller ones."""
MAX_EVENTS = 200_000
"""The most events of simulated devices in a trace; later runs are left out, and the trace says so."""
HOST = "host"


def simulated_events(recording: Recording, rank: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the events of all devices that programs of the recording were compiled for, and what is to be said of them."""
    found: list[dict[str, Any]] = []
    notes: dict[str, Any] = {}
    costs: dict[tuple[int, str], tuple[dict[str, Any], int] | None] = {}
    free: dict[str, int] = {}
    chips: dict[tuple[str, int], int] = {}
    left_out = 0
    for event in sorted((e for e in recording.events if e.kind == "run"), key=lambda e: e.start_ns):
        number = event.told["program"]
        target = _target(recording.programs[number])
        if target == HOST:
            continue
        key = number, event.name
        if key not in costs:
            costs[key] = _cost(recording.programs[number], event.name, notes)
        if (cost := costs[key]) is None:
            continue
        trace, nanoseconds = cost
        if len(found) + len(trace["traceEvents"]) > MAX_EVENTS:
            left_out += 1
            continue
        begin = max(event.start_ns - recording.start_ns, free.get(target, 0))
        free[target] = begin + nanoseconds
        found += [_placed(one, chips.setdefault((target, one["pid"]), len(chips)), begin, rank) for one in trace["traceEvents"]]
    if left_out:
        notes["runs left out"] = left_out
    return _once(found), notes


def _target(program: Program) -> str:
    return str(program.description.options.get("target", HOST))


def _cost(program: Program, name: str, notes: dict[str, Any]) -> tuple[dict[str, Any], int] | None:
    """The trace of a run, and its nanoseconds; None where the model cannot tell, which is noted."""
    from ttc.runtime.perf.run import run_cost
    from ttc.runtime.perf.trace import as_trace

    try:
        cost = run_cost(program.netlist, name)
    except Error as error:
        notes[f"program '{name}'"] = error.message
        return None
    return as_trace(cost), ceil(cost.seconds * 1e9)


def _placed(event: dict[str, Any], chip: int, begin_ns: int, rank: int) -> dict[str, Any]:
    """An event of a run on the device's clock."""
    placed = {**event, "pid": CHIP_PROCESS + chip}
    if event["ph"] == "M":
        name = event["args"]["name"]
        return {**placed, "args": {"name": f"rank {rank}: simulated {name}" if event["name"] == "process_name" else name}}
    return {**placed, "cat": "simulated", "ts": (round(event["ts"] * 1000) + begin_ns) / 1000}


def _once(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the events with each name of a lane once."""
    named: set[tuple[object, ...]] = set()
    found: list[dict[str, Any]] = []
    for event in events:
        key = (event["ph"], event["name"], event["pid"], event["tid"])
        if event["ph"] == "M" and key in named:
            continue
        named.add(key)
        found.append(event)
    return found

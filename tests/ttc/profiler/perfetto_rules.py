"""What Perfetto's importer of JSON traces asks of a trace, and a query of its lanes.

Source: json_trace_parser_impl.cc and json_trace_tokenizer.cc of Perfetto v59: times are microseconds, which become nanoseconds; numbers of
processes and threads have 32 bits; slices of one thread lie in each other or apart, or else the later one is dropped.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any


def broken_rules(trace: dict[str, Any]) -> list[str]:
    """What the importer would refuse, drop or misread."""
    found: list[str] = []
    slices: dict[tuple[int, int], list[tuple[int, int, str]]] = defaultdict(list)
    for event in trace["traceEvents"]:
        lane = event["pid"], event["tid"]
        if any(not isinstance(number, int) or not 0 <= number < 1 << 32 for number in lane):
            found.append(f"lane {lane}")
        if event["ph"] == "M":
            text = event["args"].get("name", event["args"].get("sort_index"))
            if not isinstance(text, str | int):
                found.append(f"name of {lane}")
            continue
        if event["ph"] != "X" or not event["name"] or not isinstance(event["cat"], str):
            found.append(f"event {event}")
            continue
        start = round(event["ts"] * 1000)
        slices[lane].append((start, start + round(event["dur"] * 1000), event["name"]))
    for lane, items in slices.items():
        found += [f"{lane}: {name} is dropped" for name in dropped(items)]
    return found


def dropped(slices: list[tuple[int, int, str]]) -> list[str]:
    """Slices of one lane that begin inside another one and end behind it."""
    found: list[str] = []
    open_until: list[int] = []
    for start, end, name in sorted(slices, key=lambda item: (item[0], -item[1])):
        while open_until and open_until[-1] <= start:
            open_until.pop()
        if open_until and end > open_until[-1]:
            found.append(name)
            continue
        open_until.append(end)
    return found


def lanes(trace: dict[str, Any]) -> dict[tuple[str, str], list[str]]:
    """Names of slices by the names of process and thread: what this query gives.

    select process.name, thread.name, slice.name from slice join thread_track on slice.track_id = thread_track.id
    join thread using (utid) join process using (upid) order by slice.ts
    """
    names = {(e["name"], e["pid"], e["tid"]): e["args"]["name"] for e in trace["traceEvents"] if e["ph"] == "M" and "name" in e["args"]}
    processes = {pid: text for (kind, pid, _), text in names.items() if kind == "process_name"}
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for event in sorted((e for e in trace["traceEvents"] if e["ph"] == "X"), key=lambda e: e["ts"]):
        found[processes[event["pid"]], names["thread_name", event["pid"], event["tid"]]].append(event["name"])
    return dict(found)

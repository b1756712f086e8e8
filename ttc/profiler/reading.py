"""Reads traces, which anybody may have written: their form is checked before anything is made of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from ttc.dialects.core.errors import Error
from ttc.dialects.core.json_hooks import no_constant

Trace: TypeAlias = dict[str, Any]
"""The JSON object form of the Trace Event Format."""
MAX_BYTES = 256 << 20
"""The largest file that is read, in bytes."""
MAX_CONTAINERS, MAX_COMMAS = 3 << 20, 16 << 20
"""The most brackets that open, and commas, of a file that is read: what they separate takes memory by its number, not by its bytes."""
TIMED = frozenset("XBEiICnbestfP")
"""Phases of events that have a time."""


def read_trace(path: Path) -> Trace:
    """Return the trace in a file.  Raises E0102 if there is none, or it is not well formed or too large."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise Error("E0102", f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > MAX_BYTES:
        raise Error("E0102", f"a trace of more than {MAX_BYTES >> 20} MB", where=str(path))
    if data.count(b"[") + data.count(b"{") > MAX_CONTAINERS or data.count(b",") > MAX_COMMAS:
        raise Error("E0102", f"a trace of more than {MAX_CONTAINERS:,} objects and lists, or {MAX_COMMAS:,} values", where=str(path))
    try:
        found = json.loads(data, parse_constant=no_constant)
    except (ValueError, RecursionError) as error:
        raise Error("E0102", f"not JSON: {error}", where=str(path)) from None
    return checked_trace(found, str(path))


def checked_trace(found: Any, where: str) -> Trace:
    """Return a trace whose events have names, lanes and finite times.  Raises E0102 that says which has not."""
    trace = {"traceEvents": found} if isinstance(found, list) else found
    events = trace.get("traceEvents") if isinstance(trace, dict) else None
    if not isinstance(events, list):
        raise Error("E0102", "no trace: it has no list 'traceEvents'", where=where)
    base = trace.get("baseTimeNanoseconds", 0)
    if isinstance(base, bool) or not isinstance(base, int) or not 0 <= base < 1 << 63:
        raise Error("E0102", "'baseTimeNanoseconds' is no number of nanoseconds", where=where)
    for number, event in enumerate(events):
        if (problem := _problem(event)) is not None:
            raise Error("E0102", f"event {number} of the trace {problem}", where=where)
    return trace


def _problem(event: Any) -> str | None:
    if not isinstance(event, Mapping):
        return "is no object"
    phase = event.get("ph")
    if not isinstance(phase, str) or len(phase) != 1:
        return "has no phase 'ph'"
    if phase in TIMED and not is_time(event.get("ts")):
        return "has no time 'ts'"
    if phase == "X" and not (is_time(event.get("dur", 0)) and event.get("dur", 0) >= 0):
        return "has no duration 'dur' of at least 0"
    if not isinstance(event.get("name", ""), str):
        return "has a name that is no text"
    for key in ("pid", "tid"):
        value = event.get(key, 0)
        if isinstance(value, bool) or not isinstance(value, int | str):
            return f"has a '{key}' that is neither a number nor a text"
    return None if isinstance(event.get("args", {}), Mapping) else "has 'args' that are no object"


def is_time(value: Any) -> bool:
    """Return whether a value is a number of a size that times and amounts of work have; NaN is none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e18

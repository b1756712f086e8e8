"""Counts how often, and for how long, somebody waits for a queue."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from ttc.runtime.metrics import counter
from ttc.runtime.tracing import span

_STALLS, _SECONDS = counter("queue_stalls"), counter("queue_stall_seconds")


@contextmanager
def stalled(what: str) -> Iterator[None]:
    """Count what happens inside as one wait.  what: is waited for, such as "queue 'inputs' is full"."""
    start = perf_counter()
    try:
        with span("stall", what):
            yield
    finally:
        _STALLS.add(1, what)
        _SECONDS.add(perf_counter() - start, what)

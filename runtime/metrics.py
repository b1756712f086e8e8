"""Counts of what happens in this process: the table of all metrics, and the counters and gauges behind its rows.

    _MADE = counter("kernels_compiled")      # once, where it is counted
    _MADE.add(3)

A name that the table lacks is a KeyError where the module is loaded.  `ttc.metrics` is how users read them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from threading import Lock
from typing import Literal, TypeAlias, TypeVar

from ttc.dialects.core.records import record

Labels: TypeAlias = tuple[str, ...]
Values: TypeAlias = dict[Labels, float]
"""Values of a metric, each by the values of its labels; by () for a metric without labels."""

Change: TypeAlias = "tuple[str, list[str], float]"
"""The name of a counter, values of labels, and what was added."""

MAX_SERIES = 256
"""The most sets of labels that one metric tells apart: further ones count as OTHERS."""
OTHERS = "others"
MAX_LABEL = 200
"""The most characters of a label's value."""


@record
class Metric:
    """A row of the table.

    Args:
        kind: a `counter` only grows; a `gauge` says how something is now.
        unit: of the values: `seconds`, `bytes`, `cycles`, or what is counted.
        help: one line for people.
        labels: names of what tells the values of the metric apart.
    """

    name: str
    kind: Literal["counter", "gauge"]
    unit: str
    help: str
    labels: Labels = ()


_ROWS = (
    Metric("compilations", "counter", "compilations", "Programs that were compiled."),
    Metric("compile_seconds", "counter", "seconds", "Time in the passes of these compilations, without reading the model."),
    Metric("compile_errors", "counter", "compilations", "Compilations that ended with an error.", ("code",)),
    Metric("kernels_compiled", "counter", "kernels", "Kernels that were made into machine code."),
    Metric("kernel_compile_seconds", "counter", "seconds", "Time in which they were."),
    Metric("kernel_cache_hits", "counter", "kernels", "Kernels whose machine code was in the cache."),
    Metric("kernel_cache_misses", "counter", "kernels", "Kernels whose machine code was not in the cache."),
    Metric("compile_cache_hits", "counter", "programs", "Programs of PyTorch that the cache had, so that nothing was compiled."),
    Metric("compile_cache_misses", "counter", "programs", "Programs of PyTorch that the cache did not have."),
    Metric("program_cache_hits", "counter", "programs", "Archives loaded of which the cache had all plans."),
    Metric("program_cache_misses", "counter", "programs", "Archives loaded whose plans had to be made."),
    Metric("graph_cache_hits", "counter", "calls", "Calls of PyTorch's graphs for whose sizes there was a program."),
    Metric("graph_cache_misses", "counter", "calls", "Calls of PyTorch's graphs that had to be compiled first."),
    Metric("graph_evictions", "counter", "programs", "Compiled graphs that were dropped for others."),
    Metric("fallbacks", "counter", "graphs", "Graphs that PyTorch runs itself, as they cannot be compiled.", ("code", "graph", "reason")),
    Metric(
        "reference_runs", "counter", "runs", "Runs of a plan that went to the reference engine, as data did not fit or memory was short."
    ),
    Metric("python_ops", "counter", "ops", "Ops in plans of the native engine that run in Python.", ("op",)),
    Metric("runs", "counter", "runs", "Runs of programs that began."),
    Metric("queue_stalls", "counter", "waits", "Waits for an entry of a queue, or for room in one.", ("what",)),
    Metric("queue_stall_seconds", "counter", "seconds", "Time in these waits.", ("what",)),
    Metric("sessions", "gauge", "sessions", "Sessions that somebody holds."),
    Metric("variable_bytes", "gauge", "bytes", "Memory of states and of parameters that programs update, in these sessions."),
    Metric("arena_bytes", "gauge", "bytes", "Memory that runs of the native engine work in."),
    Metric("arena_peak_bytes", "gauge", "bytes", "The most of it that there was at a time."),
    Metric("simulated_cycles", "counter", "cycles", "Cycles of a device in runs that the performance model simulated.", ("target",)),
)
METRICS: Mapping[str, Metric] = {row.name: row for row in _ROWS}
"""All metrics by name, in the order in which they are shown."""


class Counter:
    """A sum that only grows, for each set of labels.  Thread-safe."""

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self._sums: Values = {}
        self._lock = Lock()

    def add(self, amount: float = 1, *labels: str) -> None:
        """Add to the sum.  labels: a value for each label of the metric."""
        key = tuple(label[:MAX_LABEL] for label in labels)
        with self._lock:
            if key not in self._sums and len(self._sums) >= MAX_SERIES:
                key = (OTHERS,) * len(key)
            self._sums[key] = self._sums.get(key, 0) + amount

    def values(self) -> Values:
        """Return the sums by the values of the labels."""
        with self._lock:
            return dict(self._sums)

    def renew(self) -> None:
        """Do without the lock, in a forked process, of a thread that does not exist there."""
        self._lock = Lock()


class Ticks:
    """A counter of single events that happen often: `tick()` takes some tens of nanoseconds and no lock."""

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self._lock = Lock()
        self._count = count()
        self._reads = 0
        self.tick: Callable[[], int] = self._count.__next__

    def values(self) -> Values:
        """Return the sum. Reading it ticks the counter once more, which is subtracted."""
        with self._lock:
            found = self.tick() - self._reads
            self._reads += 1
        return {(): found}

    def renew(self) -> None:
        """Do without the lock, in a forked process, of a thread that does not exist there."""
        self._lock = Lock()


class Gauge:
    """A metric that says how something is at the moment.

    Args:
        read: gives the value.
    """

    def __init__(self, metric: Metric, read: Callable[[], float]) -> None:
        self.metric = metric
        self._read = read

    def values(self) -> Values:
        """Return the value, by () as a gauge has no labels."""
        return {(): self._read()}

    def renew(self) -> None:
        """Do nothing in a forked process: there is no lock."""


RegisteredT = TypeVar("RegisteredT", bound=Counter | Ticks | Gauge)
_REGISTRY: dict[str, Counter | Ticks | Gauge] = {}


def counter(name: str) -> Counter:
    """Return the counter of a metric, made when first asked for.  Raises KeyError for a name that the table lacks."""
    return _registered(name, Counter(METRICS[name]))


def ticks(name: str) -> Ticks:
    """Return the counter of a metric of frequent events, made when first asked for. Raises KeyError for a name that the table lacks."""
    return _registered(name, Ticks(METRICS[name]))


def gauge(name: str, read: Callable[[], float]) -> None:
    """Have a function called for the value of a metric. Raises KeyError for a name that the table lacks."""
    _registered(name, Gauge(METRICS[name], read))


def current() -> dict[str, Values]:
    """Return the values of all metrics now; those of code that is not loaded are empty."""
    return {name: _REGISTRY[name].values() if name in _REGISTRY else {} for name in METRICS}


def changes(before: Mapping[str, Values]) -> list[Change]:
    """Return what was added to counters since `current` gave `before`, for another process to add."""
    return [
        (name, list(labels), value - before[name].get(labels, 0))
        for name, values in current().items()
        for labels, value in values.items()
        if isinstance(_REGISTRY[name], Counter) and value > before[name].get(labels, 0)
    ]


def add_changes(found: Sequence[Change]) -> None:
    """Add what was counted in a copy of this process."""
    for name, labels, amount in found:
        counter(name).add(amount, *labels)


def _registered(name: str, made: RegisteredT) -> RegisteredT:
    found = _REGISTRY.setdefault(name, made)
    if type(found) is not type(made):
        raise TypeError(f"metric {name} is counted in two ways")
    return found


def _after_fork() -> None:
    for each in _REGISTRY.values():
        each.renew()


os.register_at_fork(after_in_child=_after_fork)

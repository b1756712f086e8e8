"""What ttc did in this process, in numbers: counters and gauges, to be read by programs, logs and Prometheus.

    with ttc.metrics.scope("step") as m:
        model(x)
    print(m.value("compilations"), m.value("fallbacks"))

The table of all metrics is `ttc.runtime.metrics.METRICS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ttc.dialects.core.errors import Error, nearest
from ttc.runtime.metrics import METRICS, Metric, Values, current

__all__ = ["Readings", "Scope", "dump", "prometheus", "scope", "snapshot"]
PREFIX = "ttc_"
"""The beginning of the names of metrics in Prometheus."""


class Readings:
    """Metrics with their values, as they were read at one time or are read on demand.

    Args:
        read: gives them, by the metric's name.
    """

    def __init__(self, read: Callable[[], Mapping[str, Values]]) -> None:
        self._read = read

    def values(self, name: str) -> Values:
        """Return the values of a metric by the values of its labels, in order; by () where it has none.  Raises E0101 for another name."""
        _metric(name)
        return dict(self._read()[name])

    def value(self, name: str, **labels: str) -> float:
        """Return the sum over all values of a metric that have these labels; 0 where nothing was counted.  Raises E0101."""
        metric = _metric(name)
        for label in labels:
            if label not in metric.labels:
                raise Error("E0101", f"metric '{name}' has no label '{label}'", hint=nearest(label, metric.labels) or "it has none")
        wanted = [(metric.labels.index(label), text) for label, text in labels.items()]
        return sum(value for key, value in self._read()[name].items() if all(key[at] == text for at, text in wanted))

    def flat(self) -> dict[str, float]:
        """Return one number for each metric, summed over its labels: what a logger takes."""
        return {name: float(sum(values.values())) for name, values in self._read().items()}

    def dump(self) -> dict[str, Any]:
        """Return all metrics as plain data for JSON: name, kind, unit, help, and values with their labels."""
        return {"metrics": [_dumped(METRICS[name], values) for name, values in self._read().items()]}

    def prometheus(self) -> str:
        """Return all metrics in Prometheus' text format, version 0.0.4; names of counters end in `_total`."""
        lines: list[str] = []
        for name, values in self._read().items():
            metric = METRICS[name]
            series = f"{PREFIX}{name}" + ("_total" if metric.kind == "counter" else "")
            lines += [f"# HELP {series} {metric.help}", f"# TYPE {series} {metric.kind}"]
            lines += [f"{series}{_labels_text(metric, key)} {_number(value)}" for key, value in _present(metric, values).items()]
        return "\n".join(lines) + "\n"


class Scope(Readings):
    """What counters grew by since the scope began, until now or until it ended; gauges are as they are, or were at its end.

    Args:
        name: that its dump carries.
    """

    def __init__(self, name: str) -> None:
        super().__init__(self._growth)
        self.name = name
        self._before = current()
        self._end: Mapping[str, Values] | None = None

    def end(self) -> None:
        """Keep the values as they are now."""
        self._end = current()

    def dump(self) -> dict[str, Any]:
        """Return the differences as plain data, with the name of the scope."""
        return {"scope": self.name, **super().dump()}

    def _growth(self) -> Mapping[str, Values]:
        return {name: _grown(METRICS[name], values, self._before[name]) for name, values in (self._end or current()).items()}


def snapshot() -> Readings:
    """Return the values of all metrics as they are now."""
    values = current()
    return Readings(lambda: values)


def dump() -> dict[str, Any]:
    """Return all metrics as plain data for JSON; see `Readings.dump`."""
    return snapshot().dump()


def prometheus() -> str:
    """Return all metrics in Prometheus' text format; see `Readings.prometheus`."""
    return snapshot().prometheus()


@contextmanager
def scope(name: str) -> Iterator[Scope]:
    """Count what happens inside, in all threads of the process.

    The scope can be read while it goes on, and keeps its numbers when it has ended.
    """
    found = Scope(name)
    try:
        yield found
    finally:
        found.end()


def _metric(name: str) -> Metric:
    if name not in METRICS:
        raise Error("E0101", f"there is no metric '{name}'", hint=nearest(name, METRICS))
    return METRICS[name]


def _grown(metric: Metric, now: Values, before: Values) -> Values:
    if metric.kind == "gauge":
        return now
    return {key: grown for key, value in now.items() if (grown := value - before.get(key, 0))}


def _present(metric: Metric, values: Values) -> Values:
    """Return the values to show: a metric without labels that nothing counted is 0."""
    return values or ({} if metric.labels else {(): 0})


def _dumped(metric: Metric, values: Values) -> dict[str, Any]:
    shown = [
        {"labels": dict(zip(metric.labels, key, strict=True)), "value": value} for key, value in sorted(_present(metric, values).items())
    ]
    return {"name": metric.name, "kind": metric.kind, "unit": metric.unit, "help": metric.help, "values": shown}


def _labels_text(metric: Metric, key: tuple[str, ...]) -> str:
    if not key:
        return ""
    return "{" + ",".join(f'{label}="{_escaped(text)}"' for label, text in zip(metric.labels, key, strict=True)) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)

"""Measures stages, passes and their parts, and counts ops and rewrites."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import field

from ttc.dialects.core.records import record
from ttc.dialects.core.watching import Named, Report, Subject
from ttc.passes.base import Watcher


@record
class PassTime:
    """The time of one run of a pass.

    Args:
        name: of the pass.
        start: seconds since the compilation began.
        seconds: that it took.
        rewrites: how often each named rewrite was applied.
        parts: seconds of its named parts.
        ops_before, ops_after: ops that compute something; 0 if they were not counted.
    """

    name: str
    start: float
    seconds: float
    rewrites: dict[str, int]
    parts: dict[str, float]
    ops_before: int
    ops_after: int


@record
class StageTime:
    """The time of one stage.  ops: in the module at its end; start, seconds: wall clock, verification and watching included."""

    stage: str
    ops: int
    seconds: float
    passes: tuple[PassTime, ...] = ()
    start: float = 0.0

    @property
    def microseconds_per_op(self) -> float:
        return self.seconds * 1e6 / max(self.ops, 1)


@record(frozen=False)
class Timing(Watcher):
    """Measures the times of all stages, in order. The clock of a stage starts where the one before it ended.

    count_ops: count ops around every pass, which takes time itself.
    """

    count_ops: bool = False
    stages: list[StageTime] = field(default_factory=list)
    _passes: list[PassTime] = field(default_factory=list)
    _began: float = field(default_factory=time.perf_counter)
    _start: float = 0.0
    _pass_start: float = 0.0
    _ops: int = 0

    def before(self, pass_: Named, unit: Subject) -> None:
        if self.count_ops and not self._passes:
            self._ops = unit.op_count()
        self._pass_start = time.perf_counter() - self._began

    def after(self, pass_: Named, unit: Subject, report: Report) -> None:
        before = self._ops
        if report.changed is not False:
            self._ops = unit.op_count() if self.count_ops else 0
        figures = dict(report.rewrites), dict(report.parts), before, self._ops
        self._passes.append(PassTime(pass_.name, self._pass_start, report.seconds, *figures))

    def on_stage(self, stage: str, unit: Subject) -> None:
        now = time.perf_counter() - self._began
        self.stages.append(StageTime(stage, unit.op_count(), now - self._start, tuple(self._passes), self._start))
        self._passes = []
        self._start = now


@record
class TimeRow:
    """A line of the tree of times: a stage (depth 0), a pass (1) or a part of one (2); seconds: its own, and with what lies below it."""

    depth: int
    name: str
    self_seconds: float
    total_seconds: float
    ops_before: int | None = None
    ops_after: int | None = None

    @property
    def microseconds_per_op(self) -> float | None:
        """The microseconds of the total time for each op that went in; None if ops were not counted."""
        return None if self.ops_before is None else self.total_seconds * 1e6 / max(self.ops_before, 1)


def time_tree(stages: Sequence[StageTime]) -> Iterator[TimeRow]:
    """Return stages, below them their passes and the time between these (verification, watching), below passes their parts."""
    for stage in stages:
        passes = sum(p.seconds for p in stage.passes)
        came_in = stage.passes[0].ops_before if stage.passes else stage.ops
        yield TimeRow(0, stage.stage, max(stage.seconds - passes, 0.0), stage.seconds, came_in, stage.ops)
        for run in stage.passes:
            yield TimeRow(1, run.name, max(run.seconds - sum(run.parts.values()), 0.0), run.seconds, run.ops_before, run.ops_after)
            for name, seconds in run.parts.items():
                yield TimeRow(2, name, seconds, seconds)


def trace_text(stages: Sequence[StageTime]) -> str:
    """Return the times as Chrome trace events, which Perfetto opens; microseconds since the compilation began."""
    events: list[dict[str, object]] = []
    for stage in stages:
        events.append(_event(stage.stage, "stage", stage.start, stage.seconds, {"ops": stage.ops}))
        for run in stage.passes:
            figures = {"ops_before": run.ops_before, "ops_after": run.ops_after, **run.rewrites}
            events.append(_event(run.name, "pass", run.start, run.seconds, figures))
            at = run.start
            for name, seconds in run.parts.items():
                events.append(_event(name, "part", at, seconds, {}))
                at += seconds
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}, indent=1) + "\n"


def _event(name: str, category: str, start: float, seconds: float, figures: dict[str, int]) -> dict[str, object]:
    begin, end = round(start * 1e9), round((start + seconds) * 1e9)  # whole nanoseconds, so that neighbours do not overlap
    times = {"ts": begin / 1000, "dur": (end - begin) / 1000}
    return {"name": name, "cat": category, "ph": "X", "pid": 1, "tid": 1, **times, "args": figures}

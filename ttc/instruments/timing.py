"""Measures stages and passes, and counts ops and rewrites."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from ttc.dialects.core.functions import entry_functions
from ttc.passes.base import Pass, Report, Unit, Watcher


@dataclass(frozen=True)
class PassTime:
    """One run of a pass.  rewrites: how often each named rewrite was applied."""

    name: str
    seconds: float
    rewrites: dict[str, int]


@dataclass(frozen=True)
class StageTime:
    """One stage.  ops: in the module at its end; seconds: wall clock, verification and watching included."""

    stage: str
    ops: int
    seconds: float
    passes: tuple[PassTime, ...] = ()

    @property
    def microseconds_per_op(self) -> float:
        return self.seconds * 1e6 / max(self.ops, 1)


@dataclass
class Timing(Watcher):
    """Times of all stages, in order.  The clock of a stage starts where the one before it ended."""

    stages: list[StageTime] = field(default_factory=list)
    _passes: list[PassTime] = field(default_factory=list)
    _start: float = field(default_factory=time.perf_counter)

    def after(self, pass_: Pass, unit: Unit, report: Report) -> None:
        self._passes.append(PassTime(pass_.name, report.seconds, dict(report.rewrites)))

    def on_stage(self, stage: str, unit: Unit) -> None:
        self.stages.append(StageTime(stage, op_count(unit), time.perf_counter() - self._start, tuple(self._passes)))
        self._passes = []
        self._start = time.perf_counter()


def op_count(unit: Unit) -> int:
    """Ops that compute something: those of the netlist once there are any, before that those of nn and tile in entry functions."""
    placed = sum(1 for op in unit.module.walk() if op.name == "netlist.op")
    return placed or sum(op.name.startswith(("nn.", "tile.")) for function in entry_functions(unit.module) for op in function.walk())

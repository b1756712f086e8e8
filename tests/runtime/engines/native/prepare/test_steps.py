"""The steps that make a plan: their names, what instruments see of them, refused rewrites, and faults."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import numpy as np
import pytest

from tests.runtime.engines.native.programs import Step, network, program, tensor
from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Plain
from ttc.dialects.core.watching import Named, Remark, Report, RewriteSite, Subject
from ttc.runtime.engines.native.codegen.features import host_cpu
from ttc.runtime.engines.native.engine import NativeEngine
from ttc.runtime.engines.native.execution.plan import NativePlan
from ttc.runtime.engines.native.prepare import steps
from ttc.runtime.engines.native.prepare.build import lower_graph, prepared_of
from ttc.runtime.engines.native.prepare.draft import Draft
from ttc.runtime.engines.native.prepare.steps import STEP_NAMES
from ttc.runtime.engines.reference import ReferencePlan
from ttc.runtime.program import Program

NAMES: dict[str, Plain] = {"names": (), "values": ()}


class Seen:
    """An instrument that keeps what it is told, and refuses rewrites after the first few."""

    compares: ClassVar[bool] = True

    def __init__(self, limit: int | None = None) -> None:
        self.told: list[str] = []
        self.reports: dict[str, Report] = {}
        self.texts: dict[str, str] = {}
        self.rewrites: list[tuple[str, RewriteSite]] = []
        self.remarks: list[Remark] = []
        self._limit = limit

    def on_stage(self, stage: str, unit: Subject) -> None:
        self.told.append(f"stage {stage}")

    def before(self, pass_: Named, unit: Subject) -> None:
        self.told.append(f"before {pass_.name}")

    def after(self, pass_: Named, unit: Subject, report: Report) -> None:
        self.told.append(f"after {pass_.name}")
        self.reports[pass_.name] = report
        self.texts[pass_.name] = unit.text()

    def failed(self, pass_: Named, unit: Subject, error: BaseException) -> None:
        self.told.append(f"failed {pass_.name}")

    def finish(self) -> None: ...

    def rewrite(self, name: str, op: RewriteSite) -> bool:
        self.rewrites.append((name, op))
        return self._limit is None or len(self.rewrites) <= self._limit

    def remark(self, remark: Remark) -> None:
        self.remarks.append(remark)


def joined(engine: str) -> Program:
    """Two products, each with a relu, side by side in one tensor: there are rewrites of several steps."""
    rng = np.random.default_rng(5)
    held = {name: (rng.standard_normal((33, 48)).astype(np.float32), "Float32") for name in ("w1", "w2")}
    plain: dict[str, Plain] = {"transpose_a": False, "transpose_b": False}
    made = [Step(f"h{i}", "tile.matmul", ("x", f"w{i}"), tensor(6, 48), plain) for i in (1, 2)]
    made += [Step(f"r{i}", "tile.map", (f"h{i}",), tensor(6, 48), {"fn": "relu", **NAMES}) for i in (1, 2)]
    made.append(Step("c", "tile.concat", ("r1", "r2"), tensor(6, 96), {"axis": 1}))
    return program({"x": tensor(6, 33)}, held, made, {"y": "c"}, engine)


def drafted(made: Program, seen: Seen) -> Draft:
    draft = lower_graph(made.netlist.graphs["g"], made.netlist, made.constants, host_cpu(), [seen])
    prepared_of(draft, 2, [seen])
    return draft


def test_instruments_see_each_step_before_and_after() -> None:
    seen = Seen()
    draft = drafted(joined("native"), seen)
    assert seen.told == [*(f"{when} {name}" for name in STEP_NAMES for when in ("before", "after")), "stage native"]
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in STEP_NAMES)
    assert all(report.seconds > 0 for report in seen.reports.values())
    changed = {name for name, report in seen.reports.items() if report.changed}
    assert {"flatten", "fuse-regions", "choose-layouts", "lower", "split-constant"} <= changed
    assert not changed & {"keep-wide", "sink-reshapes", "note-choices"}
    assert seen.reports["fuse-regions"].rewrites == {"fuse": 2}
    assert [(name, site.where) for name, site in seen.rewrites[:2]] == [("fuse", "r1"), ("fuse", "r2")]
    assert " then relu" in seen.texts["fuse-regions"]
    assert " then relu" not in seen.texts["note-choices"]
    assert "fuse-regions" in draft.changed(draft.jobs[0].node)


@pytest.mark.parametrize("limit", range(6))
def test_refused_rewrites_leave_the_numbers(limit: int) -> None:
    made = joined("reference")
    x = np.random.default_rng(limit).standard_normal((6, 33)).astype(np.float32)
    seen = Seen(limit)
    plan = NativeEngine(2, instruments=[seen]).prepare(made.netlist.graphs["g"], made.netlist, made.constants)
    assert len(seen.rewrites) >= limit
    expected = made.plans["g"].run({"x": x})["y"]
    assert np.abs(plan.run({"x": x})["y"] - expected).max() <= 1e-4


def test_what_is_left_to_python_is_remarked() -> None:
    seen = Seen()
    drafted(network("native"), seen)
    assert [(remark.kind, remark.pass_name, remark.location, remark.message) for remark in seen.remarks] == [
        ("missed", "lower", ("s",), "runs in Python: no lowering")
    ]


def test_profiles_tell_the_steps_that_changed_an_op() -> None:
    plan = joined("native").plans["g"]
    assert isinstance(plan, NativePlan)
    x = np.ones((6, 33), np.float32)
    assert all("fuse-regions" in job.steps for job in plan.timed({"x": x})[1])


def broken(*_: Any) -> None:
    raise KeyError("planted")


@pytest.mark.parametrize("step", ["fuse_regions", "with_packing_inside"])
def test_a_fault_tells_the_step(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, step, broken)
    name = {"fuse_regions": "fuse-regions", "with_packing_inside": "pack-inside"}[step]
    seen = Seen()
    with pytest.raises(Error, match=r"KeyError: 'planted'") as caught:
        drafted(joined("native"), seen)
    assert (caught.value.code, caught.value.context) == ("E0901", f"step {name} of the native engine (graph 'g')")
    assert seen.told[-1] == f"failed {name}"


def test_memory_that_does_not_suffice_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def greedy(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(steps, "fuse_regions", greedy)
    assert isinstance(joined("native").plans["g"], ReferencePlan)

"""Where the time of a run goes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.reports.profiling import profile
from ttc.runtime.engines.base import ProfiledPlan
from ttc.runtime.executor import Executor
from ttc.runtime.program import Plans, build_program

X = {"x": np.arange(4, dtype=np.float32)}


def test_jobs_of_each_graph(counter):
    """A program with a state, run twice from its initial one: the session of the caller is not touched."""
    netlist, tensors, description = counter
    program = build_program(netlist, description, tensors, engine="reference")
    with Executor(program) as session:
        runs = profile(program, X, "step", runs=2)
        assert session.states()["counter"].tolist() == [0] * 4
    assert [[graph for graph, _ in run.graphs] for run in runs] == [["step_0"], ["step_0"]]
    jobs = runs[0].jobs
    assert [job.op for job in jobs] == [op.name for op in netlist.graphs["step_0"].ops]
    assert all(job.kernel.startswith("numpy ") and job.start_ns <= job.end_ns for job in jobs)
    assert all(a.end_ns <= b.start_ns for a, b in zip(jobs, jobs[1:], strict=False))
    assert [(job.flops, job.bytes) for job in jobs] == [(4, 48)] * len(jobs)


def test_an_engine_that_cannot_tell(counter):
    netlist, tensors, description = counter
    program = build_program(netlist, description, tensors, engine="reference")

    class Silent:
        def run(self, entries: Mapping[str, NDArray], into: Mapping[str, NDArray] | None = None) -> dict[str, NDArray]:
            raise AssertionError

    class SilentPlans(Plans):
        def __getitem__(self, graph: str) -> Silent:
            return Silent()

        def make_all(self) -> None:
            """They are there."""

    assert not isinstance(Silent(), ProfiledPlan)
    silent = replace(program, plans=SilentPlans.__new__(SilentPlans))
    with pytest.raises(Error, match="does not tell where its time goes") as failure:
        profile(silent, X, "step")
    assert failure.value.code == "E0803"


def test_microbatches_and_new_parameters(affine):
    """Each microbatch counts, and so do the plans of a program that a run has changed."""
    netlist, tensors, description = affine
    program = build_program(netlist, replace(description, derived=()), tensors, engine="reference")
    (run,) = profile(program, {"x": np.zeros((3, 4), np.float32)})
    assert [graph for graph, _ in run.graphs] == ["forward_0"] * 3
    assert [job.op for job in run.jobs] == ["add", "mul"] * 3
    runs = profile(program, {}, "grow", runs=3)
    assert [[job.op for job in run.jobs] for run in runs] == [["sum"]] * 3
    assert program.constants["w"].tolist() == [2] * 4

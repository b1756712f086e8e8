"""Estimated and measured time as a page draws it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.ttc.view.conftest import Compiled
from ttc.reports.profiling import Profile
from ttc.reports.roofline import Roofline
from ttc.runtime.engines.base import Timed
from ttc.runtime.perf.run import run_cost
from ttc.view.document import checked_netlist, opened
from ttc.view.run_costs import profiled, program_costs


def test_costs_are_those_of_perf(compiled: Compiled) -> None:
    netlist = checked_netlist(opened(compiled.archive))
    (program,), ops = program_costs(netlist)
    cost = run_cost(netlist, "forward")
    assert program["us"] == pytest.approx(cost.seconds * 1e6)
    assert ops.keys() == {op.name for epoch in cost.epochs for op in epoch.ops}
    for found, epoch in zip(program["epochs"], cost.epochs, strict=True):
        assert [name for name, _, _ in found["ops"]] == [op.name for op in epoch.ops]
        assert all(0 <= begin <= end <= found["us"] * 1.001 for _, begin, end in found["ops"])


def test_a_target_without_cores_has_none(compiled: Compiled) -> None:
    netlist = checked_netlist(opened(compiled.archive))
    assert program_costs(replace(netlist, chip=replace(netlist.chip, grid=None))) == ([], {})


def test_a_profile_begins_at_zero() -> None:
    jobs = [Timed("j", "op", ("/a",), "Gemm", 5_000, 8_000, 60, 12), Timed("k", "op2", (), "Rows", 8_000, 9_500, 0, 4)]
    found = profiled(Profile([("g", jobs)]), Roofline(2, 1e9, 2e9))
    assert [(job["op"], job["start_us"], job["us"]) for job in found["jobs"]] == [("op", 0.0, 3.0), ("op2", 3.0, 1.5)]
    assert (found["threads"], found["flops_per_second"], found["bytes_per_second"]) == (2, 1e9, 2e9)

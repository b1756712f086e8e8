"""Profiles of a part of a process: what is on which lane, and that nothing but time changes."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ttc
from tests.ttc.profiler.perfetto_rules import broken_rules, dropped, lanes
from ttc.dialects.core.errors import Error
from ttc.profiler import profile, region
from ttc.runtime.executor import Executor

X = {"x": np.ones((2, 8), np.float32)}


def of_kind(trace: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [event for event in trace["traceEvents"] if event.get("cat") == kind]


@pytest.fixture
def host(small_onnx: Path) -> Executor:
    return Executor(ttc.compile(small_onnx, target="host", batch=2))


def test_runs_and_their_jobs(host: Executor, tmp_path: Path) -> None:
    expected = found = host.run(X)
    with profile(tmp_path / "trace.json") as profiler, region("outer"):
        for _ in range(3):
            with region("step"):
                found = host.run(X)
    again = host.run(X)
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value)
        np.testing.assert_array_equal(again[name], value)
    trace = json.loads((tmp_path / "trace.json").read_text())
    assert trace == json.loads(json.dumps(profiler.trace()))
    assert broken_rules(trace) == []
    assert [event["name"] for event in of_kind(trace, "region")] == ["outer", "step", "step", "step"]
    assert [event["name"] for event in of_kind(trace, "run")] == ["forward"] * 3
    jobs = of_kind(trace, "job")
    assert len(jobs) % 3 == 0
    assert {job["args"]["region"] for job in jobs} == {"outer/step"}
    assert any("/fc/MatMul" in job["name"] and job["args"]["flops"] >= 2 * 2 * 8 * 4 for job in jobs)
    assert all(
        job["dur"] == 0 or job["args"]["GFLOP/s"] == pytest.approx(job["args"]["flops"] / job["dur"] / 1e3, abs=1e-3) for job in jobs
    )


def test_nothing_is_recorded_outside(host: Executor) -> None:
    with profile() as profiler:
        host.run(X)
    before = len(profiler.trace()["traceEvents"])
    with region("later"):
        host.run(X)
    assert len(profiler.trace()["traceEvents"]) == before
    profiler.start()
    host.run(X)
    profiler.stop()
    assert len(of_kind(profiler.trace(), "run")) == 2


def test_two_profiles_at_a_time(host: Executor) -> None:
    with profile() as outer:
        host.run(X)
        with profile() as inner:
            host.run(X)
        host.run(X)
    assert [len(of_kind(p.trace(), "run")) for p in (outer, inner)] == [3, 1]


def test_states_are_written_once() -> None:
    torch: Any = pytest.importorskip("torch", reason="a module with a state")

    class Counting(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", torch.zeros(3))

        def forward(self, x: Any) -> Any:
            self.total += x
            return self.total * 2

    executor = Executor(ttc.compile(Counting(), (torch.ones(3),), target="host"))
    x = {"x": np.ones(3, np.float32)}
    executor.run(x)
    with profile() as profiler:
        executor.run(x)
    executor.run(x)
    assert executor.states()["total"].tolist() == [3, 3, 3]
    assert of_kind(profiler.trace(), "job")


def test_each_thread_has_lanes_of_its_own(host: Executor) -> None:
    both = threading.Barrier(2, timeout=20)

    def work() -> None:
        both.wait()
        for _ in range(5):
            with region("work"):
                host.run(X)

    with profile() as profiler:
        threads = [threading.Thread(target=work, name=f"worker {number}") for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    trace = profiler.trace()
    assert broken_rules(trace) == []
    assert sorted(name for _, name in lanes(trace)) == sorted(
        [*("worker 0", "worker 1"), *("device: jobs of worker 0", "device: jobs of worker 1")]
    )


def test_compilations_are_on_the_trace(small_onnx: Path) -> None:
    with profile() as profiler:
        Executor(ttc.compile(small_onnx, target="host", batch=2))
    assert [event["name"] for event in of_kind(profiler.trace(), "compile")] == ["compile for host", "kernels"]


def test_a_device_has_cores_on_a_clock_of_its_own(small_onnx: Path) -> None:
    executor = Executor(ttc.compile(small_onnx, target="n150", batch=2))
    with profile() as profiler:
        executor.run(X)
        executor.run(X)
    trace = profiler.trace()
    assert broken_rules(trace) == []
    found = {thread: names for (process, thread), names in lanes(trace).items() if "simulated chip 0 (n150)" in process}
    assert "epochs" in found
    assert any(thread.startswith("core ") for thread in found)
    assert found["epochs"].count("switch") % 2 == 0
    epochs = [event for event in of_kind(trace, "simulated") if event["tid"] == 0]
    runs = of_kind(trace, "run")
    assert min(event["ts"] for event in epochs) == pytest.approx(runs[0]["ts"], abs=0.01)
    with profile(simulate=False) as plain:
        executor.run(X)
    assert of_kind(plain.trace(), "simulated") == []


def test_a_summary_adds_up(host: Executor) -> None:
    with profile() as profiler:
        for _ in range(4):
            with region("step"):
                host.run(X)
    summary, trace = profiler.summary(), profiler.trace()
    rows = {(row.kind, row.name): row for row in summary.rows}
    assert rows["region", "step"].calls == 4
    assert rows["region", "step"].micros == pytest.approx(sum(event["dur"] for event in of_kind(trace, "region")))
    jobs = [row for row in summary.rows if row.kind == "job"]
    assert sum(row.share for row in jobs) == pytest.approx(1)
    assert sum(row.flops for row in jobs) == sum(event["args"]["flops"] for event in of_kind(trace, "job")) > 0
    assert str(summary).splitlines()[0].split() == ["kind", "name", "calls", "total", "ms", "mean", "us", "share", "GFLOP/s", "GB/s"]
    assert summary.processes == 1


def test_a_region_decorates() -> None:
    @region("decorated")
    def twice(x: int) -> int:
        return twice(x - 1) + 2 if x else 0

    with profile() as profiler:
        assert twice(2) == 4
    trace = profiler.trace()
    assert len(of_kind(trace, "region")) == 3
    assert broken_rules(trace) == []


def test_a_path_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(Error) as caught:
        profile(tmp_path / "none" / "trace.json")
    assert caught.value.code == "E0103"


def test_the_rule_of_lanes() -> None:
    assert dropped([(0, 10, "a"), (2, 5, "b"), (5, 10, "c"), (10, 12, "d")]) == []
    assert dropped([(0, 10, "a"), (2, 12, "b")]) == ["b"]

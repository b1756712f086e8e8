"""Traces of a Trainer's steps hold PyTorch's ops and our jobs on lanes of their own; times of both are told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from lightning.pytorch import Callback

from tests.ttc.lightning.modules import Images, images, trainer
from ttc.dialects.core.errors import Error
from ttc.lightning import TTCAccelerator, TTCProfiler
from ttc.lightning.profiler import merged
from ttc.profiler import profile


class Acting(Callback):
    """Has regions of its own, one in another."""

    def on_train_batch_start(self, trainer: Any, *_: Any) -> None:
        with trainer.profiler.profile("outer"):
            trainer.profiler.start("inner")
            trainer.profiler.stop("inner")


def test_a_fit_writes_one_trace_of_its_training_steps(rng: np.random.Generator, tmp_path: Path) -> None:
    profiler = TTCProfiler(tmp_path / "traces", "perf-logs")
    torch.manual_seed(0)
    runs = trainer(TTCAccelerator(fallback=False), Acting(), profiler=profiler, max_epochs=1)
    runs.fit(Images(), images(rng, 48, 8))
    (path,) = (tmp_path / "traces").glob("*training_step*.pt.trace.json")
    assert path.name.startswith("fit-perf-logs-")
    trace = json.loads(path.read_text())
    assert trace["Framework"] == "pytorch-lightning"
    spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert {"cpu_op", "user_annotation", "job", "run"} <= {event.get("cat") for event in spans}
    names = [event["name"] for event in spans]
    assert {"[pl][profile]outer", "[pl][profile]inner"} <= set(names)
    jobs = [event for event in spans if event.get("cat") == "job"]
    assert all(event["dur"] >= 0 and "op" in event["args"] for event in jobs)
    lanes = {event["args"]["name"] for event in trace["traceEvents"] if event["name"] == "thread_name"}
    assert any(name.startswith("device") for name in lanes)
    assert {event["pid"] for event in jobs} == {0}
    begins = [event["ts"] for event in spans if event["name"].startswith("[pl][profile]") and event["name"].endswith("training_step")]
    assert len(begins) == 3  # the profiler waits for a step, warms up in one, and records three
    assert any(min(begins) < job["ts"] < max(begins) for job in jobs)
    report = (tmp_path / "traces" / "fit-perf-logs.txt").read_text()
    assert "Profile stats for: records" in report
    assert "Profile stats for: ttc" in report


def test_few_steps_are_recorded_from_the_second_on(rng: np.random.Generator, tmp_path: Path) -> None:
    torch.manual_seed(0)
    runs = trainer(TTCAccelerator(fallback=False), profiler=TTCProfiler(tmp_path / "traces"), max_epochs=1)
    runs.predict(Images(), images(rng, 24))
    (path,) = (tmp_path / "traces").glob("predict-*predict_step*.pt.trace.json")
    assert any(event.get("cat") == "run" for event in json.loads(path.read_text())["traceEvents"])


def test_events_of_another_time_are_left_out() -> None:
    def event(name: str, ts: float) -> dict[str, Any]:
        return {"ph": "X", "name": name, "ts": ts, "dur": 2.0, "pid": 7, "tid": 1}

    host = {"traceEvents": [event("a", 10), event("b", 20)], "baseTimeNanoseconds": 5000, "schemaVersion": 1}
    ours = {"traceEvents": [event("early", 1), event("within", 8), event("late", 40)], "baseTimeNanoseconds": 10_000, "ttc": {"rank": 0}}
    found = merged(host, ours, 3)
    assert [(e["name"], e["ts"], e["pid"]) for e in found["traceEvents"]] == [("a", 10, 3), ("b", 20, 3), ("within", 13, 3)]
    assert found["schemaVersion"] == 1


@pytest.mark.parametrize("option", ["record_module_names", "emit_nvtx"])
def test_options_that_mean_nothing_here(option: str) -> None:
    with pytest.raises(Error, match=f"E0101.*no {option} on ttc"):
        TTCProfiler(**{option: True})


def test_the_profile_of_a_whole_process_beside_it(rng: np.random.Generator, tmp_path: Path) -> None:
    """What TTC_PROFILE starts goes on while a Trainer's profiler records: both have the runs of the steps."""
    torch.manual_seed(0)
    with profile(tmp_path / "whole.json"):
        trainer(TTCAccelerator(fallback=False), profiler=TTCProfiler(tmp_path / "traces"), max_epochs=1).predict(Images(), images(rng, 24))
    (path,) = (tmp_path / "traces").glob("predict-*predict_step*.pt.trace.json")
    counts = [
        sum(event.get("cat") == "run" for event in json.loads(file.read_text())["traceEvents"]) for file in (path, tmp_path / "whole.json")
    ]
    assert 0 < counts[0] <= counts[1]

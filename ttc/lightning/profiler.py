"""A profiler for a Trainer: PyTorch's for the host, and ttc's for what compiled graphs run, in one trace."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lightning.pytorch.profilers import PyTorchProfiler
from torch.profiler import ProfilerAction
from torch.profiler import profile as Kineto

from ttc import profiler
from ttc.dialects.core.errors import Error, warn
from ttc.profiler.profile import write_trace
from ttc.profiler.reading import MAX_BYTES

_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
_REFUSED = {
    "record_module_names": "modules inside of a compiled step are not called; jobs name the source of their ops",
    "emit_nvtx": "it is for CUDA's profiler",
}


class TTCProfiler(PyTorchProfiler):
    """Write traces of steps with lanes of PyTorch's ops and of the jobs of compiled graphs, and tell the times of both.

    Files are named as Lightning names them, `fit-NAME-RANK-....pt.trace.json`: TensorBoard, chrome://tracing and Perfetto open them.

    Args:
        dirpath: folder of the files; None: that of the Trainer's logger.
        filename: part of the names of files, and of that of the report, a text for each rank; None: the report is logged.
        group_by_input_shapes, export_to_chrome, row_limit, sort_by_key: as of Lightning's PyTorchProfiler.
        simulate: whether runs of programs for a device are simulated, and shown on lanes of its cores.
        options: of `torch.profiler.profile`, `schedule` and `record_shapes` among them.
    Raises: E0101 for options that mean nothing here.
    """

    _stage = None  # Lightning's destructor reads it, also of one whose options are refused

    def __init__(
        self,
        dirpath: str | Path | None = None,
        filename: str | None = None,
        group_by_input_shapes: bool = False,
        export_to_chrome: bool = True,
        row_limit: int = 20,
        sort_by_key: str | None = None,
        simulate: bool = True,
        **options: Any,
    ) -> None:
        for name, reason in _REFUSED.items():
            if options.pop(name, False):
                raise Error("E0101", f"there is no {name} on ttc: {reason}")
        self._ready = options.pop("on_trace_ready", None) or self._write
        super().__init__(
            dirpath, filename, group_by_input_shapes, False, export_to_chrome, row_limit, sort_by_key, False,
            on_trace_ready=lambda kineto: self._ready(kineto), **options,
        )  # fmt: skip
        self._ours = profiler.Profiler(simulate=simulate)
        self._records, self._step = False, ""

    def start(self, action_name: str) -> None:
        """Begin a region of this name."""
        super().start(action_name)
        self._follow()

    def stop(self, action_name: str) -> None:
        """End the region of this name."""
        if any(action_name.endswith(step) for step in self.STEP_FUNCTIONS):
            self._step = action_name
        super().stop(action_name)
        self._follow()

    def summary(self) -> str:
        """Return tables of times: of PyTorch's ops, and of runs, jobs and compilations of ttc."""
        theirs = super().summary()
        self._follow()
        ours = self._ours.summary()
        return theirs if not ours.rows else f"{theirs}{os.linesep}{self._stats_to_str({'ttc': str(ours)})}"

    def teardown(self, stage: str | None) -> None:
        """End all regions, and write what was not written yet."""
        super().teardown(stage)
        self._follow()

    def _follow(self) -> None:
        """Record what ttc does while PyTorch's profiler records."""
        kineto: Any = self.profiler
        records = kineto is not None and kineto.current_action in _RECORDING
        if records != self._records:
            (self._ours.start if records else self._ours.stop)()
            self._records = records

    def _write(self, kineto: Kineto) -> None:
        if not self._export_to_chrome:
            return
        if self.dirpath is None:
            warn("TTCProfiler writes no trace, as there is no `dirpath`, nor a logger that has one")
            return
        folder = Path(self.dirpath)
        folder.mkdir(parents=True, exist_ok=True)
        name = f"{self._prepare_filename(action_name=self._step, extension='')}.{time.time_ns()}.pt.trace.json"
        write_trace(folder / name, merged(_exported(kineto, folder), self._ours.trace(), self.local_rank))


def merged(host: Mapping[str, Any], ours: Mapping[str, Any], rank: int) -> dict[str, Any]:
    """Return PyTorch's trace with the events of ours of the same time, as processes of a rank."""
    ranked = {**ours, "ttc": {**ours["ttc"], "rank": rank}}
    told = {**host, "distributedInfo": {**host.get("distributedInfo", {}), "rank": rank}}
    both = profiler.merge([told, ranked])
    begin, end = _times(profiler.merge([told, {**ranked, "traceEvents": []}]))
    kept = [
        event for event in both["traceEvents"] if "ts" not in event or (event["ts"] <= end and event["ts"] + event.get("dur", 0) >= begin)
    ]
    return {**told, **both, "traceEvents": kept, "Framework": "pytorch-lightning"}


def _times(trace: Mapping[str, Any]) -> tuple[float, float]:
    """When the first event of a trace begins, and when the last one ends, in microseconds."""
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    return min((e["ts"] for e in events), default=0.0), max((e["ts"] + e.get("dur", 0) for e in events), default=0.0)


def _exported(kineto: Kineto, folder: Path) -> dict[str, Any]:
    """Return what PyTorch's profiler recorded.  Raises E0102 for more than a trace can hold."""
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        path = Path(scratch) / "trace.json"
        kineto.export_chrome_trace(str(path))
        if path.stat().st_size > MAX_BYTES:
            raise Error("E0102", f"PyTorch's trace has more than {MAX_BYTES >> 20} MB", hint="fewer active steps: schedule=")
        return json.loads(path.read_text(encoding="utf-8", errors="replace"))

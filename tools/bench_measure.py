"""Processes that `bench_peers.py` measures: engines that live through the run of one model and take turns, and fresh ones."""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from bench_engines import ROOT, Job

HERE = Path(__file__).resolve().parent
TURN_SECONDS, MOST_TURN_SECONDS, MOST_RUNS, WARM_UP_SHARE = 0.05, 0.2, 200, 5
"""An engine's turn: about so long if nothing disturbs it, at most so many runs, and a fifth of their number before, uncounted."""
MOST_SECONDS = 10.0
"""The seconds within which measurements of fresh processes are repeated."""
Found = TypeVar("Found")


class Failed(RuntimeError):
    """Raised with what a process said before it ended with an error."""


def environment(threads: int) -> dict[str, str]:
    """Return the environment of measured processes: thread counts for libraries that read them there, this checkout, compiled Python as
    usual.
    """
    counts = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, **counts, "PYTHONPATH": os.pathsep.join(paths)}


def worker(engine: str, job: Job, outputs: Path | None = None) -> list[str]:
    """Return the command of an engine's process."""
    arguments = [engine, job.model, job.threads, job.ours, job.built or "-", outputs or "-"]
    return [sys.executable, str(HERE / "bench_worker.py"), *map(str, arguments)]


# ---- engines that take turns ----------------------------------------------------------------------------------------------------


class Resident:
    """An engine in a process that is stopped but for its turns, so that no thread of it spins while others run."""

    def __init__(self, command: Sequence[str], threads: int) -> None:
        """command: of a process that speaks as `bench_worker.py` does; `first` is its first answer."""
        self._errors = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=environment(threads),
        )
        self.runs = self.warm_up = 1
        try:
            self.first = self._answer()
            for _ in range(2):  # the second run of all is often slow, too
                self._fit(min(self.turn()))
        except BaseException:
            self.close()
            raise

    def turn(self) -> list[float]:
        """Return the seconds of each run of a turn."""
        assert self._process.stdin is not None
        self._process.send_signal(signal.SIGCONT)
        try:
            self._process.stdin.write(f"{self.runs} {self.warm_up} {MOST_TURN_SECONDS}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise Failed(self._said()) from None
        seconds = self._answer()["seconds"]
        self._process.send_signal(signal.SIGSTOP)
        return seconds

    def close(self) -> None:
        """End the process, and wait for it."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _fit(self, seconds: float) -> None:
        self.runs = max(1, min(MOST_RUNS, round(TURN_SECONDS / max(seconds, 1e-6))))
        self.warm_up = max(1, self.runs // WARM_UP_SHARE)

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise Failed(self._said())
        return json.loads(line)

    def _said(self) -> str:
        self._process.wait()
        self._errors.seek(0)
        return last_line(self._errors.read()) or f"status {self._process.returncode}"


def last_line(text: str) -> str:
    """Return the last that tells of an error, or the last of all."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line for line in lines if "error" in line.lower()] or lines
    return told[-1][:200] if told else ""


# ---- fresh processes ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fresh:
    """The times and memory of a process from its start to its end.

    Args:
        seconds: of the whole process.
        peak_bytes: most memory resident at a time.
        imports, first_output: of an engine: seconds to import it; from then until the first output is there.
    """

    seconds: float
    peak_bytes: int
    imports: float = 0.0
    first_output: float = 0.0


def launch(command: Sequence[str], threads: int) -> Fresh:
    """Run a command to its end.  Raises Failed."""
    whole = [sys.executable, "-S", str(HERE / "bench_launch.py"), *command]
    done = subprocess.run(whole, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment(threads))
    if done.returncode:
        raise Failed(last_line(done.stderr) or f"status {done.returncode}")
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    said = answers[0] if len(answers) > 1 else {"import": 0.0, "load": 0.0, "first": 0.0}
    return Fresh(**answers[-1], imports=said["import"], first_output=said["load"] + said["first"])


def fresh_worker(engine: str, job: Job) -> Fresh:
    """Measure an engine's process from its start, over its first output, to its end."""
    return launch(worker(engine, job), job.threads)


def ttc(threads: int, *arguments: str) -> Fresh:
    """Return a command of ttc, as a process."""
    return launch([sys.executable, "-m", "ttc", *arguments], threads)


def repeated(measure: Callable[[], Found], most: int) -> list[Found]:
    """Return measurements, `most` of them or as many as MOST_SECONDS allow, after one that is not counted; at least one."""
    start = time.perf_counter()
    found = [measure()]
    spent = time.perf_counter() - start
    if spent > MOST_SECONDS / 2:
        return found
    found.clear()
    while len(found) < most and (not found or time.perf_counter() - start < MOST_SECONDS):
        found.append(measure())
    return found


def median_of(found: Sequence[Fresh]) -> Fresh:
    """Return the medians of each figure."""
    columns = {name: statistics.median(getattr(item, name) for item in found) for name in ("seconds", "imports", "first_output")}
    return Fresh(peak_bytes=max(item.peak_bytes for item in found), **columns)

"""One engine with one model, in a process of its own, for `bench_peers.py`.

    python bench_worker.py ENGINE MODEL.onnx THREADS OUR_ENGINE BUILT|- OUTPUTS.npz|-

Prints a line of JSON when the first output is there: seconds to import, to load, and of the first run.  Then answers each line of stdin,
`RUNS WARM_UP SECONDS`, with the seconds of so many runs after so many that are not counted, each as far as half of the time allows, but at
least one; ends with stdin.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any, Protocol, TextIO

import numpy as np

from bench_engines import ENGINES, Job

PR_SET_PDEATHSIG = 1


class Runs(Protocol):
    """The runs of an engine that are timed."""

    def run(self) -> Any: ...


def serve(engine: Runs, answers: TextIO) -> None:
    """Run the engine at each request, until stdin ends."""
    gc.disable()
    for line in sys.stdin:
        runs, warm_up, most = line.split()
        timed(engine, int(warm_up), float(most) / 2)
        answer(answers, {"seconds": timed(engine, int(runs), float(most) / 2)})
        gc.collect()


def timed(engine: Runs, runs: int, most: float) -> list[float]:
    """Return the seconds of each run; none begins after `most` seconds but the first."""
    seconds: list[float] = []
    begin = time.perf_counter()
    while not seconds or len(seconds) < runs and time.perf_counter() - begin < most:
        start = time.perf_counter()
        engine.run()
        seconds.append(time.perf_counter() - start)
    return seconds


def answer(answers: TextIO, value: Any) -> None:
    """Write a line of JSON."""
    answers.write(json.dumps(value) + "\n")
    answers.flush()


def main() -> None:
    """Run the tool."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # a stopped process would outlive the one that wakes it
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # engines print what they like
    name, model, threads, ours, built, outputs = sys.argv[1:]
    job = Job(Path(model), None if built == "-" else Path(built), int(threads), ours)
    times = [time.perf_counter()]
    engine = ENGINES[name](job)
    times.append(time.perf_counter())
    engine.open()
    times.append(time.perf_counter())
    first = engine.run()
    times.append(time.perf_counter())
    if outputs != "-":
        np.savez(outputs, *engine.arrays(first))
    del first
    spans = [after - before for before, after in zip(times, times[1:], strict=False)]
    answer(answers, dict(zip(("import", "load", "first"), spans, strict=True)))
    serve(engine, answers)


if __name__ == "__main__":
    main()

"""`make bench`: whole-process times and peak memory of compiling and running models.

Usage: python tools/bench.py [MODEL.onnx ...]; without models, the ResNet-50 of tools/demo.py.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import onnx

from demo import resnet50

TARGETS = ("n150", "host")


def measure(*command: str) -> tuple[float, float]:
    """Return seconds and peak MB of one ttc process.  Ends the benchmark with its status if it fails."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "ttc", *command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(os.waitstatus_to_exitcode(status))
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def bench(model: Path, target: str, folder: Path) -> str:
    """Return one line: times, memory, and size of the archive by the model's."""
    archive = folder / "out.tti"
    compile_seconds, compile_mb = measure("compile", str(model), "-o", str(archive), "--target", target, "-q")
    run_seconds, run_mb = measure("run", str(archive), "--random", "-q")
    ratio = archive.stat().st_size / model.stat().st_size
    times = f"compile {compile_seconds:6.2f} s {compile_mb:6.0f} MB   run {run_seconds:6.2f} s {run_mb:6.0f} MB"
    return f"{model.stem:16} {target:5} {times}   archive / model {ratio:.3f}"


def main(models: list[str]) -> None:
    """Print a line for every model and target."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = [Path(model) for model in models]
        if not paths:
            paths = [folder / "resnet50.onnx"]
            onnx.save(resnet50(), paths[0])
        for path in paths:
            for target in TARGETS:
                print(bench(path, target, folder), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

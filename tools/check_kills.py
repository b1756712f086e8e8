"""Kill `ttc train` at random moments, let it go on, and compare what it leaves with a run that was never stopped.

    python tools/check_kills.py [--count 20] [--seed N]

A run shuffles its rows, draws dropouts, keeps running statistics, follows a schedule and writes checkpoints.  It is killed (SIGKILL) at a
moment that is uniform over the time that a whole run takes, start included, and started again with `--resume auto`, until it ends; then
another begins, until so many were killed.  After each kill every checkpoint must be whole; at the end of each run weights, states and log
must have the same bits as those of the run that was never stopped, and no other files than its may be left.  Exit status 1 if any differ.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn

import checkout  # noqa: F401
import ttc
from ttc.train.log import read_log

FEATURES, CLASSES, BATCH, ROWS = 12, 4, 8, 64
EPOCHS, EVERY = 40, 2


def write_files(folder: Path) -> None:
    """Write a training archive, `m.tti`, and samples, `data.npz`."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(FEATURES, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, CLASSES))
    example = (torch.zeros(BATCH, FEATURES),)
    ttc.compile(network.train(), example, loss="cross_entropy", optimizer="adamw:lr=0.01", target="host").save(folder / "m.tti")
    draws = np.random.default_rng(0)
    x = draws.standard_normal((ROWS, FEATURES)).astype(np.float32)
    np.savez(folder / "data.npz", input=x, target=x[:, :CLASSES].argmax(axis=1))


def command(folder: Path, name: str) -> list[str]:
    """Return the command of a run, whose files begin with a name."""
    run = ["--data", folder / "data.npz", "--epochs", EPOCHS, "--every", EVERY, "--shuffle", "--schedule", "cosine:warmup=5", "--seed", 3]
    files = ["--checkpoint", folder / name, "--log", folder / f"{name}.csv", "-o", folder / f"{name}.tti", "--resume", "auto"]
    return [sys.executable, "-m", "ttc", "train", str(folder / "m.tti"), *map(str, run), *map(str, files), "--threads", "1", "-q"]


def broken_checkpoints(folder: Path) -> list[str]:
    """Return names of checkpoints that are not whole."""
    found = list[str]()
    for path in sorted(folder.glob("*.safetensors")):
        data = path.read_bytes()
        size = int.from_bytes(data[:8], "little")
        try:
            ends = [row["data_offsets"][1] for key, row in json.loads(data[8 : 8 + size]).items() if key != "__metadata__"]
        except ValueError:
            found.append(path.name)
            continue
        if max(ends, default=0) != len(data) - 8 - size:
            found.append(path.name)
    return found


def differences(folder: Path, name: str) -> list[str]:
    """Return what a finished run left that is not what the whole one left."""
    found = list[str]()
    with ttc.load(folder / "whole.tti") as whole, ttc.load(folder / f"{name}.tti") as other:
        pairs = [({**e.parameters(), **e.states()}) for e in (whole, other)]
    found += [key for key in pairs[0] if key not in pairs[1] or pairs[0][key].tobytes() != pairs[1][key].tobytes()]
    logs = [[(line.update, line.loss) for line in read_log(folder / f"{run}.csv")] for run in ("whole", name)]
    found += ["its log"] if logs[0] != logs[1] else []
    left = [sorted(path.name for path in (folder / run).iterdir()) for run in ("whole", name)]
    return found + (["files in its folder"] if left[0] != left[1] else [])


def killed(command_line: list[str], seconds: float) -> bool:
    """Start a run and kill it after so many seconds; False if it ended before, well.  Raises CalledProcessError if it failed."""
    process = subprocess.Popen(command_line)
    try:
        status = process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return True
    if status:
        raise subprocess.CalledProcessError(status, command_line)
    return False


def main() -> int:
    """Run the tool; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=20, help="kills")
    parser.add_argument("--seed", type=int, default=None, help="of the moments")
    options = parser.parse_args()
    draws, kills, run, wrong = random.Random(options.seed), 0, 0, list[str]()
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        write_files(folder)
        started = time.perf_counter()
        subprocess.run(command(folder, "whole"), check=True)
        seconds = time.perf_counter() - started
        print(f"a whole run: {seconds:.1f} s")
        while kills < options.count:
            name, own = f"run{run}", 0
            while own + kills < options.count and killed(command(folder, name), moment := draws.uniform(0, seconds)):
                own += 1
                broken = broken_checkpoints(folder / name) if (folder / name).is_dir() else []
                wrong += [f"{name}: {checkpoint} is broken" for checkpoint in broken]
                log = folder / f"{name}.csv"
                print(f"{name}: killed after {moment:.2f} s, {log.read_bytes().count(10) - 1 if log.exists() else 0} updates logged")
            subprocess.run(command(folder, name), check=True)
            found = differences(folder, name)
            print(f"{name}: killed {own} times, {'same bits' if not found else 'differs: ' + ', '.join(found)}")
            wrong += [f"{name}: {item}" for item in found]
            kills, run = kills + own, run + 1
    print("\n".join(wrong) or f"{kills} kills, {run} runs: the same bits, no broken checkpoint")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

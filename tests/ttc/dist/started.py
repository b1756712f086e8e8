"""Starts scripts in several processes, as users do: with torchrun."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parents[3]
SECONDS = 240
"""That all processes have; more are ended."""


def started(script: str, processes: int, *arguments: str, restarts: int = 0, **variables: str) -> tuple[int, str]:
    """Run a script, by its path from this folder, in so many processes on a free port, and return the exit status and all that was printed.

    No process is left behind, whatever happens: all are of one session, which is ended.
    """
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(processes), "--max-restarts", str(restarts)]
    command += ["--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0", str(Path(__file__).parent / script), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **variables}
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    try:
        printed, _ = process.communicate(timeout=SECONDS)
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return process.returncode, printed


def end() -> NoReturn:
    """End a process of a script that has done all it should.

    Threads of PyTorch may abort an interpreter that takes its time to end ("terminate called without an active exception").
    """
    import torch.distributed as dist  # tests that start scripts load no torch

    dist.barrier()
    dist.destroy_process_group()
    sys.stdout.flush()
    os._exit(0)

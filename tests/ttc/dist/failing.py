"""A script for two processes, the second of which is killed, hangs or raises in its third step."""

from __future__ import annotations

import os
import signal
import sys
from datetime import timedelta
from time import sleep

import torch
from torch import nn

from ttc.dist import Runner, failures, mesh


def fail(how: str) -> None:
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif how == "hangs":
        sleep(1000)
    raise RuntimeError("there is no third step")


def main() -> None:
    failures.NOTES_SECONDS = 1.0
    of = mesh(pipe=2, patience=60)
    runner = Runner(nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3)), mesh=of, loss=nn.MSELoss(), microbatches=2, target=None)
    for step in range(3):
        if step == 2:
            of.wait(timedelta(seconds=1))  # not before: processes that load torch need longer for each other
        if step == 2 and of.rank == 1:
            fail(sys.argv[1])
        runner.step(torch.ones(4, 3), target=torch.ones(4, 3))


if __name__ == "__main__":
    main()

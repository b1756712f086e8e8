"""A script for two processes that goes on from its last checkpoint; one of them is killed once, in the middle of a step of the others."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import torch
from torch import nn

from tests.ttc.dist.equal import batches, network
from tests.ttc.dist.started import end
from ttc.dialects.core.errors import Error
from ttc.dist import Runner, mesh

UPDATES, DIES_IN = 6, 4


def main() -> None:
    folder = Path(sys.argv[1])
    of = mesh(pipe=2, patience=20)
    runner = Runner(network(), mesh=of, loss=nn.CrossEntropyLoss(), microbatches=4, target=None)
    optimizer = runner.optimizer(torch.optim.AdamW, lr=1e-2)
    try:
        done = runner.load(folder, optimizer)
    except Error as error:
        if error.code != "E0102":
            raise
        done = 0
    print(f"process {of.rank} begins after {done}", flush=True)
    for update, (x, target) in enumerate(batches(5, UPDATES)):
        if update < done:
            continue
        if update == DIES_IN and of.rank == 1 and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
            os.kill(os.getpid(), signal.SIGKILL)
        runner.zero_grad()
        loss = runner.step(x, target=target).loss
        optimizer.step()
        if update % 2:
            runner.save(folder, optimizer)
        if of.rank == 0:
            print(f"loss {update} {float(loss)!r}", flush=True)


if __name__ == "__main__":
    main()
    end()

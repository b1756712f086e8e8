"""One way of training one network, in a process of its own, for `bench_training.py`.

    python training_worker.py WAY NETWORK THREADS

Prints a line of JSON when the first steps are done: their losses.  Then answers each line of stdin as `bench_worker.py` does; a run is a
whole step: forward, loss, backward, AdamW.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import torch

import checkout  # noqa: F401  # pyright: ignore[reportUnusedImport]
from bench_worker import PR_SET_PDEATHSIG, answer, serve
from training_networks import task

STEPS = 5
"""First steps, whose losses are compared."""
LEARNING_RATE = 1e-4


def eager(function: Callable[..., Any], threads: int) -> Callable[..., Any]:
    """PyTorch, op by op."""
    del threads
    return function


def inductor(function: Callable[..., Any], threads: int) -> Callable[..., Any]:
    """PyTorch's own compiler; it needs a C++ compiler."""
    del threads
    return torch.compile(function, dynamic=False)


def torch_compile(function: Callable[..., Any], threads: int) -> Callable[..., Any]:
    """`torch.compile` with our backend; a graph that it cannot compile is an error."""
    options = {"target": "host", "threads": threads, "fallback": False}
    return torch.compile(function, backend="ttc", dynamic=False, options=options)


WAYS = {"eager": eager, "inductor": inductor, "torch.compile": torch_compile}


class Training:
    """A network in training.

    Args:
        way: of WAYS.
        network: of `training_networks.NETWORKS`.
    """

    def __init__(self, way: str, network: str, threads: int) -> None:
        torch.set_num_threads(threads)
        self._task = task(network)
        self._loss = WAYS[way](self._task.loss, threads)
        self._optimizer = torch.optim.AdamW(self._task.network.parameters(), lr=LEARNING_RATE, fused=True)

    def run(self) -> torch.Tensor:
        """One step; the loss before it."""
        self._optimizer.zero_grad()
        loss = self._loss(self._task.batch, self._task.target)
        loss.backward()
        self._optimizer.step()
        return loss.detach()


def main() -> None:
    """See above."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # compilers print what they like
    way, network, threads = sys.argv[1:]
    training = Training(way, network, int(threads))
    answer(answers, {"losses": [float(training.run()) for _ in range(STEPS)]})
    serve(training, answers)


if __name__ == "__main__":
    main()

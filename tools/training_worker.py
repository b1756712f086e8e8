"""One way of training one network, in a process of its own, for `bench_training.py`.

    python training_worker.py WAY NETWORK THREADS [PRECISION]

Prints a line of JSON when the first steps are done: their losses, seconds to the end of the first one, and bytes of memory at the peak over
those before it.  Then answers each line of stdin as `bench_worker.py` does; a run is a whole step: forward, loss, backward, AdamW.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, TypeAlias

import torch

import checkout  # noqa: F401  # pyright: ignore[reportUnusedImport]
from bench_worker import PR_SET_PDEATHSIG, answer, serve
from training_networks import Task, task

STEPS = 5
"""The number of first steps, whose losses are compared."""
LEARNING_RATE = 1e-4
Step: TypeAlias = Callable[[], Any]
"""Makes one step; gives the loss before it, as something that `float` takes, once it is computed."""


class _Whole(torch.nn.Module):
    """A task's network with its loss."""

    def __init__(self, given: Task) -> None:
        super().__init__()
        self.network = given.network
        self._loss = given.loss

    def forward(self, batch: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Return the loss of a batch."""
        return self._loss(batch, target)


def _by_torch(given: Task, loss: Callable[..., Any], precision: str) -> Step:
    """Return a step that PyTorch leads: a loss, its gradients, and AdamW with fused=True."""
    optimizer = torch.optim.AdamW(given.network.parameters(), lr=LEARNING_RATE, fused=True)

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
            found = loss(given.batch, given.target)
        found.backward()
        optimizer.step()
        return found.detach()

    return step


def eager(given: Task, threads: int, precision: str) -> Step:
    """Train by PyTorch, op by op."""
    del threads
    return _by_torch(given, given.loss, precision)


def inductor(given: Task, threads: int, precision: str) -> Step:
    """Train by PyTorch's own compiler; it needs a C++ compiler."""
    del threads
    return _by_torch(given, torch.compile(given.loss, dynamic=False), precision)


def jax(given: Task, threads: int, precision: str) -> Step:
    """Train by JAX: gradients of the exported network's ops, and AdamW, in one compiled function."""
    from training_jax import step_of

    del threads  # those of the processors that the process may use, see `main`
    return step_of(_Whole(given), (given.batch, given.target), LEARNING_RATE, precision)


def torch_compile(given: Task, threads: int, precision: str) -> Step:
    """Train by `torch.compile` with our backend; a graph that it cannot compile is an error. The optimizer is PyTorch's."""
    options = {"target": "host", "threads": threads, "fallback": False, "precision": precision}
    return _by_torch(given, torch.compile(given.loss, backend="ttc", dynamic=False, options=options), "float32")


def step(given: Task, threads: int, precision: str) -> Step:
    """Train by our fused program `step`, by `ttc.training`."""
    import ttc

    optimizer = torch.optim.AdamW(given.network.parameters(), lr=LEARNING_RATE)
    executor = ttc.training(_Whole(given), loss="output", optimizer=optimizer, target="host", threads=threads, precision=precision)
    return lambda: executor(given.batch, given.target)[1]


WAYS = {"eager": eager, "inductor": inductor, "jax": jax, "torch.compile": torch_compile, "step": step}


class Training:
    """A network in training.

    Args:
        way: of WAYS.
        network: of `training_networks.NETWORKS`.
        precision: float32, or bfloat16: peers then run under autocast.
    """

    def __init__(self, way: str, network: str, threads: int, precision: str = "float32") -> None:
        torch.set_num_threads(threads)
        given = task(network)
        self._before, start = _peak_bytes(), time.perf_counter()
        self.run = WAYS[way](given, threads, precision)
        self.losses = [float(self.run())]
        self.first_seconds = time.perf_counter() - start
        self.losses += [float(self.run()) for _ in range(STEPS - 1)]

    @property
    def peak_bytes(self) -> int:
        """Return the most memory that was resident at a time, over what was when the network was made."""
        return _peak_bytes() - self._before


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def main() -> None:
    """Run the tool."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # compilers print what they like
    way, network, threads, *precision = sys.argv[1:]
    if way == "jax":  # the only way to tell XLA how many threads to use
        os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[: int(threads)]))
    training = Training(way, network, int(threads), *precision)
    answer(answers, {"losses": training.losses, "first": training.first_seconds, "peak": training.peak_bytes})
    serve(training, answers)


if __name__ == "__main__":
    main()

"""Whole training steps of a pipeline in two processes against one process with the same work.

    python tools/bench_distributed.py [--rounds 9] [--microbatches 8] [--most 1.15] [--json]

Both take turns (A B A B ...) in the same two processes: in its turn the one process computes with as many threads as there are
processes, on the same microbatches, while the other one waits.  A step is forward and backward of all microbatches, compiled, and AdamW.
What is compared is the median over the turns.  Exit status 1 if losses differ, or if a step of the pipeline takes more than --most steps of
one process.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

import torch
import torch.distributed as dist
from torch import nn

import checkout  # noqa: F401  # pyright: ignore[reportUnusedImport]
from ttc.dist import Mesh, Runner, mesh, partition
from ttc.dist.failures import COMPILING

WIDTH, TOKENS, ROWS, BLOCKS, HEADS = 192, 64, 4, 6, 4
"""Sizes of the network; rows are those of a microbatch."""
STEPS = 3
"""The training steps of a turn."""
SECONDS = 300


class Block(nn.Module):
    """A block of a transformer."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.heads, self.joined = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Attend, and pass each token through two layers."""
        shape = (x.shape[0], x.shape[1], HEADS, WIDTH // HEADS)
        q, k, v = (part.reshape(shape).transpose(1, 2) for part in self.heads(self.first(x)).chunk(3, -1))
        found = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.joined(found.transpose(1, 2).reshape(x.shape))
        return x + self.narrow(nn.functional.gelu(self.wide(self.second(x))))


def network() -> nn.Sequential:
    """Return the blocks, the same in every process."""
    torch.manual_seed(0)
    return nn.Sequential(*(Block() for _ in range(BLOCKS)))


class One:
    """Runs the training steps in one process."""

    def __init__(self, microbatches: int) -> None:
        self._model = network()
        self._optimizer = torch.optim.AdamW(self._model.parameters(), 1e-4)
        self._microbatches = microbatches
        self._model.compile(backend="ttc", dynamic=False, options={"threads": dist.get_world_size(), "fallback": False})

    def step(self, x: torch.Tensor) -> float:
        """Return the loss of a step."""
        self._optimizer.zero_grad()
        losses = []
        for rows in x.chunk(self._microbatches):
            loss = nn.functional.mse_loss(self._model(rows), rows.flip(1)) / self._microbatches
            loss.backward()
            losses.append(float(loss.detach()))
        self._optimizer.step()
        return sum(losses)


class Several:
    """Runs the training steps in a pipeline of processes."""

    def __init__(self, of: Mesh, microbatches: int) -> None:
        x = torch.zeros(ROWS, TOKENS, WIDTH)
        stages = partition(network(), of.size("pipe"), "cost", examples=(x,))
        self._runner = Runner(mesh=of, stages=stages, loss=nn.MSELoss(), microbatches=microbatches)
        self._optimizer = self._runner.optimizer(torch.optim.AdamW, lr=1e-4)

    def step(self, x: torch.Tensor) -> float:
        """Return the loss of a step."""
        self._runner.zero_grad()
        loss = self._runner.step(x, target=x.flip(1)).loss
        self._optimizer.step()
        return float(loss)


def work(result: Path, rounds: int, microbatches: int) -> None:
    """Let both take turns, and write what they took; each process of the two comes here."""
    torch.set_num_threads(1)
    of = mesh(pipe=dist_size())
    several, one = Several(of, microbatches), One(microbatches) if of.rank == 0 else None
    x = torch.randn(ROWS * microbatches, TOKENS, WIDTH, generator=torch.Generator().manual_seed(1))
    seconds: dict[str, list[float]] = {"several": [], "one": []}
    losses: dict[str, list[float]] = {"several": [], "one": []}
    for turn in range(rounds + 1):  # the first compiles
        for name, way in (("several", several), ("one", one)):
            of.wait(None if turn else COMPILING)
            dist.barrier(group=of.group("pipe"))
            begin = perf_counter()
            losses[name] += [way.step(x) for _ in range(STEPS)] if way is not None else []
            dist.barrier(group=of.group("pipe"))
            seconds[name] += [(perf_counter() - begin) / STEPS] if turn else []
    if of.rank == 0:
        result.write_text(json.dumps({"seconds": seconds, "losses": losses}))


def dist_size() -> int:
    """Return how many processes there are."""
    return int(os.environ["WORLD_SIZE"])


def main() -> int:
    """Start the processes, and report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--microbatches", type=int, default=8)
    parser.add_argument("--most", type=float, default=1.15, help="steps of one process that a step of the pipeline may take")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--result", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.result is not None:
        work(given.result, given.rounds, given.microbatches)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--rdzv-backend", "c10d"]
        command += ["--rdzv-endpoint", "localhost:0", __file__, "--result", str(result)]
        command += ["--rounds", str(given.rounds), "--microbatches", str(given.microbatches)]
        subprocess.run(command, check=True, timeout=SECONDS, env={**os.environ, "OMP_NUM_THREADS": "1"})
        found = json.loads(result.read_text())
    taken = {name: median(values) for name, values in found["seconds"].items()}
    ratio = taken["several"] / taken["one"]
    apart = max(abs(a - b) for a, b in zip(found["losses"]["several"], found["losses"]["one"], strict=True))
    report = {"one_ms": taken["one"] * 1e3, "two_ms": taken["several"] * 1e3, "ratio": ratio, "losses_apart": apart}
    if given.json:
        print(json.dumps(report))
    else:
        print(f"one process {taken['one'] * 1e3:.1f} ms, two {taken['several'] * 1e3:.1f} ms: {ratio:.2f}; losses differ by {apart:.1e}")
    return 0 if ratio <= given.most and apart < 1e-4 else 1


if __name__ == "__main__":
    raise SystemExit(main())

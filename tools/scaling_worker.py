"""One of the processes that tools/scaling.py measures: a block, a link, or whole steps of a layout."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

import checkout  # noqa: F401  # pyright: ignore[reportUnusedImport]
from bench_distributed import ROWS, TOKENS, WIDTH, Block
from ttc.dist import Runner, mesh

SIZES = (1 << 12, 1 << 23)
"""The bytes of the messages that tell a link's latency, and its rate."""


def network(blocks: int) -> nn.Sequential:
    """Return a model of so many blocks, the same in every process."""
    torch.manual_seed(0)
    return nn.Sequential(*(Block() for _ in range(blocks)))


def timed(work: Callable[[], Any], rounds: int) -> float:
    """Return the least seconds that work takes, after a first time that compiles: other work on the machine only adds to it."""
    seconds = []
    for turn in range(rounds + 1):
        dist.barrier()
        begin = perf_counter()
        work()
        dist.barrier()
        seconds += [perf_counter() - begin] if turn else []
    return min(seconds)


def one(rounds: int, blocks: int) -> dict[str, float]:
    """Return times of one process: steps of few and of many microbatches and blocks tell what each of them takes."""
    step = {(n, m): timed(step_of(1, 1, False, n, m), rounds) for n, m in ((1, 2), (blocks, 2), (blocks, 6))}
    block = network(1)
    optimizer = torch.optim.AdamW(block.parameters(), 1e-4)
    for parameter in block.parameters():
        parameter.grad = torch.zeros_like(parameter)
    update = timed(optimizer.step, rounds)
    passes = (step[blocks, 6] - step[blocks, 2]) / 4 / blocks
    forward = forward_of(block, rounds)
    fixed = max(0.0, step[1, 2] - 2 * passes - update)
    parameters = sum(parameter.numel() for parameter in block.parameters())
    sizes = {"parameters": parameters, "activation_bytes": ROWS * TOKENS * WIDTH * 4}
    return {"forward": min(forward, passes / 2), "backward": passes - min(forward, passes / 2), "update": update, "step": fixed, **sizes}


def forward_of(block: nn.Module, rounds: int) -> float:
    """Return the seconds of a block's forward pass, compiled, with what its gradients need."""
    block.compile(backend="ttc", dynamic=False, options={"threads": 1, "fallback": False})
    x = torch.randn(ROWS, TOKENS, WIDTH, requires_grad=True)
    return timed(lambda: block(x), rounds)


def between(rounds: int) -> dict[str, float]:
    """Return what a message from one process to the next takes, of few bytes and of many."""

    def exchange(size_bytes: int) -> Callable[[], None]:
        value = torch.zeros(size_bytes // 4)

        def there_and_back() -> None:
            (dist.send if dist.get_rank() == 0 else dist.recv)(value, 1 - dist.get_rank())
            (dist.recv if dist.get_rank() == 0 else dist.send)(value, 1 - dist.get_rank())

        return there_and_back

    few, many = (timed(exchange(size), rounds) / 2 for size in SIZES)
    return {"latency": few, "rate": (SIZES[1] - SIZES[0]) / max(many - few, 1e-9)}


def step_of(pipe: int, data: int, shared: bool, blocks: int, microbatches: int) -> Callable[[], Any]:
    """Return a step of a layout, as this process takes part in it.  microbatches: of all replicas."""
    of = mesh(pipe=pipe, data=data)
    own = microbatches // data
    runner = Runner(
        network(blocks), mesh=of, loss=nn.MSELoss(), microbatches=own, shard=3 if shared else 0, units=(Block,) if shared else ()
    )
    optimizer = runner.optimizer(torch.optim.AdamW, lr=1e-4) if shared else torch.optim.AdamW(runner.parameters(), 1e-4)
    x = torch.randn(ROWS * own, TOKENS, WIDTH, generator=torch.Generator().manual_seed(1))

    def step() -> None:
        runner.zero_grad()
        runner.step(x, target=x.flip(1))
        optimizer.step()

    return step


def main() -> None:
    """Measure what is asked, and write it; every process comes here."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("one", "between", "step"))
    parser.add_argument("--result", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--blocks", type=int, default=8)
    parser.add_argument("--microbatches", type=int, default=8)
    parser.add_argument("--pipe", type=int, default=1)
    parser.add_argument("--data", type=int, default=1)
    parser.add_argument("--shared", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(1)
    mesh()
    if given.what == "one":
        found = one(given.rounds, given.blocks)
    elif given.what == "between":
        found = between(given.rounds)
    else:
        found = {"seconds": timed(step_of(given.pipe, given.data, given.shared, given.blocks, given.microbatches), given.rounds)}
    if dist.get_rank() == 0:
        given.result.write_text(json.dumps(found))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

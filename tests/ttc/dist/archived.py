"""A script for two processes: runners of an archive and runners that compile, and archives that cannot be loaded."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch._dynamo.utils import counters
from torch.distributed.tensor import DTensor

import ttc
from tests.ttc.dist.equal import ROWS, WIDTH, Both, Last, Tied, batches, close, network
from tests.ttc.dist.started import end
from ttc import metrics
from ttc.dialects.core.errors import Error
from ttc.dist import Mesh, Runner, mesh, partition, save_stages

MICROBATCHES = 4
EXAMPLES = (torch.zeros(ROWS // MICROBATCHES, WIDTH),)


def trained(runner: Runner, share: slice) -> list[torch.Tensor]:
    """Losses of steps, and the weights after them."""
    optimizer = runner.optimizer(torch.optim.AdamW, lr=1e-2)
    losses = []
    for x, target in batches(5, 3):
        runner.zero_grad()
        losses.append(runner.step(x[share], target=target[share]).loss)
        runner.clip_grad_norm_(0.5)
        optimizer.step()
    weights = [value.full_tensor() if isinstance(value, DTensor) else value.clone() for value in runner.state_dict().values()]
    return [*losses, *weights, runner.eval(torch.ones(7, WIDTH), gather="all")]


def equal(of: Mesh, path: Path, stages: int, schedule: str, shard: int = 0) -> None:
    """The archive is loaded first: nothing was compiled in this process before."""
    if of.rank == 0 and not path.exists():
        save_stages(path, network(), stages, examples=EXAMPLES)
    counters.clear()
    torch.distributed.barrier()
    rows = ROWS // of.size("data")
    share = slice(of.coordinate("data") * rows, (of.coordinate("data") + 1) * rows)
    options = {"mesh": of, "loss": nn.CrossEntropyLoss(), "microbatches": rows // len(EXAMPLES[0]), "schedule": schedule, "shard": shard}
    with metrics.scope("archive") as counted:
        found = trained(Runner(path, **options), share)
        assert counted.flat().get("compilations", 0) == 0
    assert not counters["stats"]
    wanted = trained(Runner(stages=partition(network(), stages), **options), share)
    for mine, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-6, atol=1e-6)


def tied(of: Mesh, path: Path) -> None:
    """A table of the first and the last stage is one parameter."""
    tokens = torch.arange(ROWS * 6).reshape(ROWS, 6) % 7
    if of.rank == 0:
        model = Tied()
        few = tokens[: ROWS // MICROBATCHES]
        save_stages(path, stages=[Both(model), Last(model)], examples=few, named={1: {"labels": few}})
    torch.distributed.barrier()
    runner = Runner(path, mesh=of, loss="output", microbatches=MICROBATCHES)
    alone = Tied()
    alone(tokens, tokens).backward()
    runner.step(tokens, **({"labels": tokens} if of.is_last("pipe") else {}))
    for part in runner.stages:
        for name, parameter in part.named_parameters():
            known = alone.table if "table" in name else alone.inner
            torch.testing.assert_close(parameter.grad, known.weight.grad, rtol=1e-5, atol=1e-5)


def refused(of: Mesh, code: str, what: str, path: Path, **options: Any) -> None:
    """Raises AssertionError unless this process, as the other one, has that error."""

    def step() -> None:
        runner = Runner(path, mesh=of, loss=nn.CrossEntropyLoss(), microbatches=MICROBATCHES, **options)
        runner.step(torch.zeros(2 * ROWS, WIDTH), target=torch.zeros(2 * ROWS, dtype=torch.int64))

    with pytest.raises(Error) as caught:
        step()
    assert caught.value.code == code, caught.value
    assert what in str(caught.value) or "another process" in str(caught.value), caught.value


def failures(of: Mesh, folder: Path) -> None:
    """Each is one error in both processes, and they go on to the next."""
    good, own, three = folder / "two.tti", folder / f"own{of.rank}.tti", folder / "three.tti"
    if of.rank == 0:
        save_stages(three, network(), 3, examples=EXAMPLES)
    raw = bytearray(good.read_bytes())
    (folder / "cut.tti").write_bytes(raw[: len(raw) // 2])
    raw[raw.index(network().get_parameter("0.weight").detach().numpy().tobytes())] ^= (
        1  # a weight of the first stage, which process 1 does not read
    )
    damaged = folder / f"damaged{of.rank}.tti"
    damaged.write_bytes(raw)
    save_stages(own, partition(network(), 2)[of.rank], 1, examples=(torch.zeros(4, WIDTH if of.rank == 0 else 24),))
    model = folder / f"model{of.rank}.tti"
    ttc.compile(nn.Linear(4, 4), (torch.zeros(2, 4),), target="host").save(model)
    torch.distributed.barrier()
    refused(of, "E0101", "3 stages do not divide among 2 processes", three)
    refused(of, "E0101", "schedule interleaved does not fit 2 stages in 2 processes", good, schedule="interleaved")
    refused(of, "E0701", "", folder / "cut.tti")
    refused(of, "E0704" if of.rank == 0 else "E0703", "do not match their hash", damaged)
    refused(of, "E0703", "different archives", own)
    refused(of, "E0703", "the archive holds no stages of a pipeline", model)
    refused(of, "E0102" if of.rank == 0 else "E0703", "cannot open it", folder / "missing.tti" if of.rank == 0 else good)
    refused(of, "E0801", "microbatches of stage 0 of the archive are", good)


def tied_and_shared(of: Mesh, shard: int) -> None:
    """A table of the first and the last stage, whose states replicas share: updates are those of one process."""
    alone, model = Tied(), Tied()
    made = Runner(mesh=of, stages=[Both(model), Last(model)], loss="output", microbatches=2, shard=shard)
    optimizers = made.optimizer(torch.optim.AdamW, lr=1e-2), torch.optim.AdamW(alone.parameters(), lr=1e-2)
    tokens = torch.randint(0, 7, (ROWS, 6), generator=torch.Generator().manual_seed(4))
    share = tokens[of.coordinate("data") :: 2]
    for _ in range(4):
        made.zero_grad()
        alone.zero_grad()
        found = made.step(share, **({"labels": share} if of.is_last("pipe") else {}))
        wanted = alone(tokens, tokens)
        wanted.backward()
        close(found.loss, wanted.detach(), "loss")
        close(made.clip_grad_norm_(0.3), torch.nn.utils.clip_grad_norm_(alone.parameters(), 0.3), "norm of tied parameters")
        for optimizer in optimizers:
            optimizer.step()
    for part in made.stages:
        for name, parameter in part.named_parameters():
            whole = parameter.full_tensor() if isinstance(parameter, DTensor) else parameter.detach()
            close(whole, (alone.table if "table" in name else alone.inner).weight.detach(), name)


def main() -> None:
    folder, what = Path(sys.argv[1]), sys.argv[2]
    of = {"data": lambda: mesh(data=2, pipe=1), "grid": lambda: mesh(data=2, pipe=2)}.get(what, lambda: mesh(pipe=2))()
    if what == "grid":
        for shard in (0, 1, 3):
            tied_and_shared(of, shard)
            equal(of, folder / "two.tti", 2, "1f1b", shard)
    elif what == "data":
        for shard in (0, 1, 3):
            equal(of, folder / "one.tti", 1, "1f1b", shard)
    elif what == "more":
        equal(of, folder / "four.tti", 4, "interleaved")
        tied(of, folder / "tied.tti")
    else:
        equal(of, folder / "two.tti", 2, "1f1b")
        failures(of, folder)
    print(f"process {of.rank} is equal", flush=True)


if __name__ == "__main__":
    main()
    end()

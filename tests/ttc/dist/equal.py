"""A script for several processes: a pipeline in them trains as one process does, in PyTorch alone, on the whole batch."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import pytest
import torch
from torch import nn

import ttc
from tests.ttc.dist.started import end
from ttc.dialects.core.errors import Error
from ttc.dist import Mesh, Runner, mesh, partition

ROWS, WIDTH, CLASSES, UPDATES = 16, 12, 5, 10


def network() -> nn.Sequential:
    torch.manual_seed(3)
    return nn.Sequential(
        nn.Linear(WIDTH, 24), nn.GELU(), nn.Sequential(nn.Linear(24, 24), nn.LayerNorm(24)), nn.Tanh(), nn.Linear(24, CLASSES)
    )


def batches(seed: int, count: int = UPDATES) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    generator = torch.Generator().manual_seed(seed)
    for _ in range(count):
        target = torch.randint(0, CLASSES, (ROWS,), generator=generator)
        target[1] = target[2] = -100  # targets that do not count lie unevenly in microbatches
        yield torch.randn(ROWS, WIDTH, generator=generator), target


def close(found: torch.Tensor, wanted: torch.Tensor, what: str) -> None:
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5, msg=lambda text: f"{what}: {text}")


def compare(of: Mesh, way: str, microbatches: int, schedule: str = "1f1b", chunks: int = 1) -> None:
    """Ten updates by AdamW with clipped gradients, here and in the pipeline."""
    alone, model = network(), network()
    examples = (torch.zeros(ROWS // microbatches, WIDTH),)
    stages = partition(model, of.size("pipe") * chunks, way, examples)
    loss = nn.CrossEntropyLoss()
    runner = Runner(mesh=of, stages=stages, loss=loss, microbatches=microbatches, schedule=schedule)
    reference = torch.optim.AdamW(alone.parameters(), 1e-2)
    optimizer = torch.optim.AdamW(runner.parameters() or [torch.zeros(1)], 1e-2)  # a stage may have no parameters
    share = slice(of.coordinate("data") * ROWS // of.size("data"), (of.coordinate("data") + 1) * ROWS // of.size("data"))
    for x, target in batches(5):
        reference.zero_grad()
        runner.zero_grad()
        wanted = loss(alone(x), target)
        wanted.backward()
        found = runner.step(x[share], target=target[share], gather="all")
        close(found.loss, wanted.detach(), "loss")
        close(found.outputs, alone(x).detach()[share], "outputs")
        known = dict(alone.named_parameters())
        for part in runner.stages:
            for name, parameter in part.named_parameters():
                close(parameter.grad, known[name].grad, f"gradient of {name}")
        close(runner.clip_grad_norm_(0.5), torch.nn.utils.clip_grad_norm_(alone.parameters(), 0.5), "norm")
        reference.step()
        optimizer.step()
    for name, value in runner.state_dict().items():
        close(value, alone.state_dict()[name], name)
    if microbatches == 4:
        evaluate(of, runner, alone)


def evaluate(of: Mesh, runner: Runner, alone: nn.Module) -> None:
    """A last batch of 7 rows in 4 microbatches; a norm of largest magnitudes; rows that do not divide; gradients of two steps."""
    x = torch.linspace(-1, 1, 7 * WIDTH).reshape(7, WIDTH)
    close(runner.eval(x, gather="all"), alone(x).detach(), "evaluation")
    ((x, target),) = batches(6, 1)
    runner.zero_grad()
    runner.step(x, target=target)
    once = [parameter.grad.clone() for parameter in runner.parameters()]
    runner.step(x, target=target)
    assert all(torch.equal(2 * one, p.grad) for one, p in zip(once, runner.parameters(), strict=True))
    largest = runner.clip_grad_norm_(1e9, float("inf"))
    own = torch.tensor(max([float(g.abs().max()) * 2 for g in once], default=0.0))
    torch.distributed.all_reduce(own, torch.distributed.ReduceOp.MAX)
    close(largest, own, "largest")
    refused = Runner(network(), mesh=of, loss=nn.MSELoss(), microbatches=3, target=None)
    with pytest.raises(Error, match="E0801"):
        refused.step(torch.zeros(8, WIDTH), target=torch.zeros(8, CLASSES))


def tied(of: Mesh) -> None:
    """An embedding that the last stage has, too; integers and structures between stages; inputs of the last stage alone."""
    alone, model = Tied(), Tied()
    runner = Runner(mesh=of, stages=_stages(model, of.size("pipe")), loss="output", microbatches=2, precision="float32")
    generator = torch.Generator().manual_seed(4)
    tokens, target = (torch.randint(0, 7, (ROWS, 6), generator=generator) for _ in range(2))
    alone(tokens, target).backward()
    last = {"labels": target} if of.is_last("pipe") else {}
    found = runner.step(tokens, **last)
    close(found.loss, alone(tokens, target).detach(), "loss")
    close(runner.clip_grad_norm_(1e9), torch.nn.utils.clip_grad_norm_(alone.parameters(), 1e9), "norm of tied parameters")
    for part in runner.stages:
        for name, parameter in part.named_parameters():
            close(parameter.grad, dict(alone.named_parameters())["table.weight" if "table" in name else "inner.weight"].grad, name)


class Tied(nn.Module):
    """Three pieces, of which the first and the last have one table."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(9)
        self.table = nn.Embedding(7, 8)
        self.inner = nn.Linear(8, 8, bias=False)

    def forward(self, tokens: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return Last(self)(Middle(self)(First(self)(tokens)), target)


class First(nn.Module):
    def __init__(self, model: Tied) -> None:
        super().__init__()
        self.table = model.table

    def forward(self, tokens: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"value": self.table(tokens), "tokens": tokens}


class Middle(nn.Module):
    def __init__(self, model: Tied) -> None:
        super().__init__()
        self.inner = model.inner

    def forward(self, given: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        return {"value": torch.tanh(self.inner(given["value"])), "tokens": given["tokens"]}


class Last(First):
    def forward(self, given: dict[str, torch.Tensor], labels: torch.Tensor) -> torch.Tensor:
        logits = given["value"] @ self.table.weight.t() * (given["tokens"][..., None] > 1)
        return nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())


class Both(nn.Module):
    def __init__(self, model: Tied) -> None:
        super().__init__()
        self.first, self.middle = First(model), Middle(model)

    def forward(self, tokens: torch.Tensor) -> dict[str, torch.Tensor]:
        return self.middle(self.first(tokens))


class Marked(nn.Module):
    """A model that marks two stages, with a skip and a weight of both."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(7)
        self.first, self.last = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.last.weight = self.first.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.tanh(self.first(x))
        with ttc.stage(1):
            return self.last(y) + x[:, :CLASSES].sum(1, keepdim=True)


def cut(of: Mesh) -> None:
    """Stages that a marked model is cut into."""
    alone, model = Marked(), Marked()
    parts = ttc.cut(model, torch.zeros(ROWS // 2, WIDTH), training=True)
    runner = Runner(mesh=of, stages=parts, loss=nn.MSELoss(), microbatches=2)
    x = torch.linspace(-1, 1, ROWS * WIDTH).reshape(ROWS, WIDTH)
    nn.functional.mse_loss(alone(x), x * 2).backward()
    found = runner.step(x, target=x * 2, gather="all")
    close(found.outputs, alone(x).detach(), "outputs of a model that is cut")
    for part in runner.stages:
        for name, parameter in part.named_parameters():
            close(parameter.grad, dict(alone.named_parameters())[name].grad, f"gradient of {name}")


def _stages(model: Tied, pipe: int) -> list[nn.Module]:
    return [Both(model), Last(model)] if pipe == 2 else [First(model), Middle(model), Last(model)]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pipe", type=int, required=True)
    parser.add_argument("--ways", nargs="+", default=["uniform"])
    parser.add_argument("--microbatches", nargs="+", type=int, default=[4])
    parser.add_argument("--interleaved", action="store_true")
    parser.add_argument("--tied", action="store_true")
    parser.add_argument("--cut", action="store_true")
    given = parser.parse_args()
    of = mesh(pipe=given.pipe)
    if given.tied:
        tied(of)
    if given.cut:
        cut(of)
    for way in given.ways:
        for microbatches in given.microbatches:
            compare(of, way, microbatches)
            compare(of, way, microbatches, "gpipe")
    if given.interleaved:
        compare(of, "uniform", 4, "interleaved", chunks=2)
    print(f"process {of.rank} is equal", flush=True)


if __name__ == "__main__":
    main()
    end()

"""A script for several processes: a model that they share trains as one process does, and its checkpoints go on in any number of them."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.distributed.tensor import DTensor

from tests.ttc.dist.equal import ROWS, batches, close, network
from tests.ttc.dist.started import end
from ttc.dist import Mesh, Runner, Sharded, mesh, partition, shard
from ttc.dist.sharding import own_optimizer
from ttc.dist.stages import Backward

UPDATES = 10
BOUND = 0.55
"""Share of an optimizer's bytes that a process of two has at most."""


class Alone:
    """One process in PyTorch alone, which trains on the rows of all."""

    def __init__(self) -> None:
        self.model = network()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-2)

    def update(self, x: torch.Tensor, target: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self.model(x), target)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), 0.5)
        self.optimizer.step()
        return loss.detach(), norm

    def compare(self, state: dict[str, torch.Tensor], what: str) -> None:
        wanted = self.model.state_dict()
        for name, value in state.items():
            close(value.full_tensor() if isinstance(value, DTensor) else value, wanted[name], f"{name}, {what}")


def rows(of: Mesh) -> slice:
    """The rows of this process, of those of a batch; of three processes the last one has one row more."""
    place = of.coordinate("data") * of.size("shard") + of.coordinate("shard")
    return slice(place * ROWS // of.replicas(), (place + 1) * ROWS // of.replicas())


def made(of: Mesh, stage: int, folder: str | None, units: tuple[type[nn.Module], ...]) -> tuple[Sharded, torch.optim.Optimizer]:
    sharded = shard(network(), mesh=of, stage=stage, offload=folder, units=units)
    return sharded, sharded.optimizer(torch.optim.AdamW, lr=1e-2)


def updated(of: Mesh, sharded: Sharded, optimizer: torch.optim.Optimizer, x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    optimizer.zero_grad()
    # targets that do not count lie in the rows of one process: the loss is the sum over what counts in all
    count = (target != -100).sum() / of.replicas()
    loss = nn.functional.cross_entropy(sharded(x[rows(of)]), target[rows(of)], reduction="sum") / count
    sharded.backward(loss)
    norm = sharded.clip_grad_norm_(0.5)
    optimizer.step()
    return norm


def compare(of: Mesh, stage: int, folder: str | None = None, units: tuple[type[nn.Module], ...] = ()) -> None:
    """Ten updates, with an evaluation and a checkpoint between."""
    alone, (sharded, optimizer) = Alone(), made(of, stage, folder, units)
    what = f"stage {stage}, {units}"
    place = Path(shared_name(of))
    for number, (x, target) in enumerate(batches(5)):
        _, norm = alone.update(x, target)
        close(updated(of, sharded, optimizer, x, target), norm, f"norm, {what}")
        if number == 4:
            with torch.no_grad():
                close(sharded(x), alone.model(x).detach(), f"evaluation, {what}")
            sharded.save(place, optimizer, steps=number + 1)
            sharded, optimizer = made(of, stage, folder, units)
            with torch.no_grad():
                sharded(x)  # with weights that the checkpoint replaces
            assert sharded.load(place, optimizer) == 5
    alone.compare(sharded.module.state_dict(), what)
    share = bytes_of(optimizer) / bytes_of(alone.optimizer)
    assert share <= (BOUND if stage and of.sharers().size() > 1 else 1.0), (what, share)
    if folder is not None:
        assert "ttc-states-" in Path("/proc/self/maps").read_text()
        assert not list(Path(folder).glob("ttc-states-*"))
    print(f"{what}: {share:.3f} of the bytes")


def bytes_of(optimizer: torch.optim.Optimizer) -> int:
    """The bytes of an optimizer's states in this process."""
    values = [v for state in own_optimizer(optimizer).state.values() for v in state.values()]
    return sum((v.to_local() if isinstance(v, DTensor) else v).nbytes for v in values)


def shared_name(of: Mesh) -> str:
    """A new folder that process 0 makes, by name."""
    found = [tempfile.mkdtemp() if of.rank == 0 else ""]
    torch.distributed.broadcast_object_list(found, 0)
    return found[0]


def piped(of: Mesh, stage: int, schedule: str = "1f1b", backward: Backward | None = None) -> None:
    """Stages of a pipeline that replicas share; their checkpoint goes on where parameters are whole."""
    alone = Alone()
    many = of.size("pipe") * (2 if schedule == "interleaved" else 1)
    options: dict[str, Any] = {"mesh": of, "loss": nn.CrossEntropyLoss(), "microbatches": 4, "schedule": schedule, "backward": backward}
    runners = [Runner(stages=partition(network(), many), shard=s, **options) for s in (stage, 0)]
    optimizers = [runner.optimizer(torch.optim.AdamW, lr=1e-2) for runner in runners]
    runner, optimizer = runners[0], optimizers[0]
    share = slice(of.coordinate("data") * ROWS // of.size("data"), (of.coordinate("data") + 1) * ROWS // of.size("data"))
    place = Path(shared_name(of))
    for number, (x, target) in enumerate(batches(5)):
        if number == 6:
            close(runner.eval(x, gather="all"), alone.model(x).detach(), "evaluation")
            runner.save(place, optimizer)
            runner, optimizer = runners[1], optimizers[1]
            assert runner.load(place, optimizer) == 6
        runner.zero_grad()
        loss, norm = alone.update(x, target)
        close(runner.step(x[share], target=target[share]).loss, loss, "loss")
        close(runner.clip_grad_norm_(0.5), norm, "norm")
        optimizer.step()
    alone.compare(runner.state_dict(), f"pipeline, stage {stage}, {schedule}")


def tied() -> None:
    """A weight, and a scale of fewer rows than replicas, that the first and the last stage have, and the process between does not."""
    of = mesh(data=2, pipe=3)
    x = torch.linspace(-1, 1, ROWS * 6).reshape(ROWS, 6)
    for stage in (1, 2, 3):
        alone, stages = three_layers(), three_layers()
        nn.functional.mse_loss(alone(x), x.flip(1)).backward()
        runner = Runner(mesh=of, stages=list(stages), loss=nn.MSELoss(), microbatches=2, target=None, shard=stage)
        share = slice(of.coordinate("data") * ROWS // 2, (of.coordinate("data") + 1) * ROWS // 2)
        runner.step(x[share], target=x[share].flip(1))
        wanted = alone[of.coordinate("pipe")]
        for name, parameter in runner.stages[0].named_parameters():
            found = parameter.grad
            assert found is not None
            close(found.full_tensor() if isinstance(found, DTensor) else found, wanted.get_parameter(name).grad, f"{name}, stage {stage}")
        close(runner.clip_grad_norm_(1e9), torch.nn.utils.clip_grad_norm_(alone.parameters(), 1e9), f"norm, stage {stage}")


class Scaled(nn.Module):
    """A layer with one scale for all."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.scale = nn.Linear(6, 6), nn.Parameter(torch.full((1,), 1.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.scale * torch.tanh(self.layer(x))


def three_layers() -> nn.Sequential:
    torch.manual_seed(3)
    layers = [Scaled(), Scaled(), Scaled()]
    layers[2].layer.weight, layers[2].scale = layers[0].layer.weight, layers[0].scale
    return nn.Sequential(*layers)


def units() -> None:
    compare(mesh(), 3, tempfile.gettempdir(), (nn.Linear, nn.LayerNorm))


def hybrid() -> None:
    """Groups that share, each with everything; the last ones are of one process."""
    world = torch.distributed.get_world_size()
    for of in (mesh(data=world // 2, shard=2), mesh(data=world, shard=1)):
        for stage in (1, 2, 3):
            compare(of, stage)


def plain() -> None:
    for stage in (1, 2, 3):
        compare(mesh(), stage)


def pipelines() -> None:
    of = mesh(data=2, pipe=2)
    for stage in (1, 2, 3):
        piped(of, stage)
        piped(of, stage, "interleaved")


def hooked() -> None:
    """A function of the user goes backward, where replicas add up gradients (DDP), and where each has its rows of them (FSDP)."""
    of = mesh(data=2, pipe=2)
    for stage in (1, 2, 3):
        calls: list[bool] = []

        def backward(output: torch.Tensor, gradient: torch.Tensor | None, calls: list[bool] = calls) -> None:
            calls.append(gradient is None)
            torch.autograd.backward(output, gradient)

        piped(of, stage, backward=backward)
        assert calls == [of.is_last("pipe")] * 4 * UPDATES, (stage, calls)


CASES: dict[str, Callable[[], None]] = {
    "plain": plain,
    "units": units,
    "hybrid": hybrid,
    "pipelines": pipelines,
    "tied": tied,
    "hooked": hooked,
}


def main() -> None:
    of = mesh()
    for case in sys.argv[1:]:
        CASES[case]()
    print(f"process {of.rank} is equal", flush=True)


if __name__ == "__main__":
    main()
    end()

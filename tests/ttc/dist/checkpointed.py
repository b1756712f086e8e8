"""A script for two processes: they go on from a checkpoint of one, as stages and as replicas, and write one of two."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from torch import nn

from tests.ttc.dist.started import end
from ttc.dist import Mesh, Runner, mesh

ROWS, WIDTH = 8, 6


class Scaled(nn.Module):
    """A layer with a buffer."""

    scale: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scale", torch.rand(WIDTH) + 0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x * self.scale)


def network(seed: int) -> nn.Sequential:
    """Layers of which the first and the last, in different stages, have one weight."""
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), Scaled(), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH))
    model[3].weight = model[0].weight
    return model


class Run:
    """A runner and its optimizer, of a model whose weights the checkpoint must replace."""

    def __init__(self, of: Mesh, seed: int, target: str | None = None) -> None:
        self.mesh = of
        self.runner = Runner(network(seed), mesh=of, loss=nn.MSELoss(), microbatches=2, target=target)
        self.optimizer = torch.optim.AdamW(self.runner.parameters(), 0.05)

    def updated(self, update: int) -> float:
        """The loss of an update, which changes the weights."""
        x = torch.randn(ROWS, WIDTH, generator=torch.Generator().manual_seed(update))
        share = x.chunk(self.mesh.size("data"))[self.mesh.coordinate("data")]
        self.runner.zero_grad()
        loss = self.runner.step(share, target=share.flip(1)).loss
        self.optimizer.step()
        return float(loss)


def main() -> None:
    one, two = (Path(name) for name in sys.argv[1:])
    stages = Run(mesh(pipe=2), 11)
    assert stages.runner.load(one, stages.optimizer) == 3
    losses = [stages.updated(3), stages.updated(4)]
    stages.runner.save(two, stages.optimizer)
    losses += [stages.updated(5), stages.updated(6)]
    replicas = Run(mesh(data=2, pipe=1), 12)
    assert replicas.runner.load(two, replicas.optimizer) == 5
    losses += [replicas.updated(5), replicas.updated(6)]
    sys.stdout.write(f"losses {stages.mesh.rank} {' '.join(map(str, losses))}\n")  # at once: lines of two processes do not mix
    sys.stdout.flush()


if __name__ == "__main__":
    main()
    end()

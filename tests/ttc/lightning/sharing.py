"""A script for several processes: a Trainer whose processes share what each would hold whole trains as one process does."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import LightningModule, Trainer
from torch import distributed, nn
from torch.distributed.fsdp import ShardingStrategy
from torch.distributed.tensor import DTensor
from torch.utils.data import DataLoader, TensorDataset

from tests.ttc.dist.started import end
from tests.ttc.lightning.modules import trainer
from ttc.dist.sharding import own_optimizer
from ttc.lightning import ShardedStrategy, TTCAccelerator

WIDTH, ROWS, BATCH, EPOCHS, NORM = 8, 36, 12, 2, 0.5
BOUND = 0.55
"""Share of an optimizer's bytes that a process of two has at most."""


class Layer(nn.Module):
    """A layer that a strategy may gather, or compute again, apart from others."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(16, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.tanh(self.linear(x))


class Decayed(LightningModule):
    """A few layers whose rate falls with every update."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(WIDTH, 16), Layer(), Layer(), nn.Linear(16, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(x)

    def training_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
        loss = nn.functional.cross_entropy(self(batch[0]), batch[1])
        self.log("train_loss", loss, sync_dist=True)
        return loss

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        self.log("val_loss", nn.functional.cross_entropy(self(batch[0]), batch[1]), sync_dist=True)

    def configure_optimizers(self) -> Any:
        optimizer = torch.optim.AdamW(self.parameters(), 1e-2)
        return [optimizer], [{"scheduler": torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9), "interval": "step"}]


def rows() -> torch.Tensor:
    return torch.randn(ROWS, WIDTH, generator=torch.Generator().manual_seed(5))


def classes(x: torch.Tensor) -> torch.Tensor:
    return x[:, :4].argmax(1)


def loader(rank: int, processes: int) -> DataLoader:
    """The rows of one process, so that those of all are batches of one process; Lightning's own sampler would shuffle them."""
    x = rows()[rank::processes]
    return DataLoader(TensorDataset(x, classes(x)), BATCH // processes)


def alone(epochs: int = EPOCHS) -> tuple[Decayed, int]:
    """The model, and the bytes of its optimizer's states, after the same updates in a loop of PyTorch's in one process."""
    model = Decayed()
    (optimizer,), (rates,) = model.configure_optimizers()
    for _ in range(epochs):
        for x in rows().split(BATCH):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model.net(x), classes(x)).backward()
            nn.utils.clip_grad_norm_(model.parameters(), NORM)
            optimizer.step()
            rates["scheduler"].step()
    return model, bytes_of(optimizer)


def bytes_of(optimizer: torch.optim.Optimizer) -> int:
    """The bytes of an optimizer's states in this process."""
    values = [v for state in own_optimizer(optimizer).state.values() for v in state.values()]
    return sum((v.to_local() if isinstance(v, DTensor) else v).nbytes for v in values)


def begun(strategy: ShardedStrategy, epochs: int, **options: Any) -> Trainer:
    """A Trainer of all processes."""
    processes = int(os.environ["WORLD_SIZE"])
    options = {"use_distributed_sampler": False, "gradient_clip_val": NORM, "strategy": strategy, **options}
    return trainer(TTCAccelerator(fallback=False), max_epochs=epochs, devices=processes, **options)


def compare(what: str, folder: Path, bound: float, **options: Any) -> None:
    """Fit, evaluate and save, then go on from the checkpoint with a new model, as one process trains in one go."""
    rank, processes = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    data, path = loader(rank, processes), folder / f"{what}.ckpt"
    model, first = Decayed(), begun(ShardedStrategy(**options), 1)
    first.fit(model, data, data)
    (found,) = first.validate(model, data, verbose=False)
    half, _ = alone(1)
    wanted = nn.functional.cross_entropy(half(rows()), classes(rows()))
    torch.testing.assert_close(torch.tensor(found["val_loss"]), wanted.detach(), rtol=1e-4, atol=1e-5)
    first.save_checkpoint(path)
    distributed.barrier()
    last = begun(ShardedStrategy(**options), EPOCHS)
    last.fit(Decayed(), data, ckpt_path=path)
    one, whole = alone()
    state = last.strategy.lightning_module_state_dict()
    if rank == 0:
        for name, value in one.state_dict().items():
            torch.testing.assert_close(state[name], value, rtol=1e-4, atol=1e-5, msg=lambda text, name=name: f"{what}, {name}: {text}")
        plain = Decayed()
        plain.load_state_dict(torch.load(path, weights_only=True)["state_dict"])
        torch.testing.assert_close(plain.net[0].weight, half.net[0].weight, rtol=1e-4, atol=1e-5)
    share = bytes_of(last.optimizers[0]) / whole
    assert share <= bound, (what, share)
    print(f"{what}: {share:.3f} of the bytes", flush=True)


CASES: dict[str, tuple[dict[str, Any], float]] = {
    "nothing": ({"stage": 0}, 1.0),
    "states": ({"stage": 1}, BOUND),
    "gradients": ({"stage": 2}, BOUND),
    "parameters": ({"stage": 3, "units": (Layer,), "recompute": (Layer,), "offload": "/tmp"}, BOUND),
    "full": ({"sharding": "full_shard"}, BOUND),
    "grad_op": ({"sharding": "SHARD_GRAD_OP"}, BOUND),
    "hybrid": ({"sharding": "HYBRID_SHARD", "group": 2}, BOUND),
    "host": ({"sharding": "HYBRID_SHARD"}, BOUND),
    "no": ({"sharding": ShardingStrategy.NO_SHARD}, 1.0),
    "config": ({"config": {"zero_optimization": {"stage": 2}, "gradient_clipping": NORM}}, BOUND),
}


def main() -> None:
    folder, *names = sys.argv[1:]
    for name in names:
        options, bound = CASES[name]
        compare(name, Path(folder), bound, **options)
    print(f"process {os.environ['RANK']} is equal", flush=True)


if __name__ == "__main__":
    main()
    end()

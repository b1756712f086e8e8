"""A script for two processes, the second of which takes longer to compile for shapes that are new to it alone than processes wait."""

from __future__ import annotations

import sys
from datetime import timedelta
from time import sleep
from typing import Any

import torch
from torch import nn

from tests.ttc.dist.started import end
from ttc.dist import mesh, shard

PATIENCE = 3.0


class Slow(nn.Module):
    """A layer that takes its time, as compiling does, for other numbers of rows than 4."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.layer = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if len(x) != 4:
            sleep(2 * PATIENCE)
        return self.layer(x)


def main() -> None:
    of = mesh(patience=60)
    stage, alone = int(sys.argv[1]), sys.argv[2:] == ["alone"]
    sharded = shard(Slow(), mesh=of, stage=stage, target=None)
    wanted = Slow()
    x = torch.arange(12.0).reshape(4, 3)
    sharded.backward(sharded(x).sum())
    sharded.zero_grad()
    of.patience = PATIENCE  # not before: processes that load torch need longer for each other
    of.wait(timedelta(seconds=PATIENCE))
    own = x[:3] if of.rank == 1 else x
    if not alone:
        sharded.backward(sharded(own).sum())
    else:
        if of.rank == 1:
            with torch.no_grad():
                sharded(own)
        sharded.backward(sharded(x).sum())
        own = x
    (torch.stack([wanted(part).sum() for part in (x, x if alone else x[:3])]).sum() / 2).backward()
    for name, parameter in sharded.module.named_parameters():
        grad: Any = parameter.grad
        assert grad is not None
        whole = grad.full_tensor() if hasattr(grad, "full_tensor") else grad
        torch.testing.assert_close(whole, wanted.get_parameter(name).grad)
    print(f"process {of.rank} is equal", flush=True)


if __name__ == "__main__":
    main()
    end()

"""Losses of microbatches add up to the loss of a batch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from ttc.dialects.core.errors import Error
from ttc.dist import Mesh
from ttc.dist.shares import SharedLoss

LOSSES = [
    (nn.CrossEntropyLoss(), True),
    (nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 0.5])), True),
    (nn.CrossEntropyLoss(ignore_index=1), True),
    (nn.MSELoss(), False),
    (nn.L1Loss(), False),
]


@pytest.mark.parametrize(("loss", "of_classes"), LOSSES, ids=lambda value: str(value)[:40])
def test_parts_add_up(alone: Mesh, loss: nn.Module, of_classes: bool, rng: np.random.Generator) -> None:
    outputs = torch.from_numpy(rng.standard_normal((12, 3), np.float32))
    target = torch.from_numpy(rng.integers(0, 3, 12)) if of_classes else torch.from_numpy(rng.standard_normal((12, 3), np.float32))
    if of_classes:
        target[0] = target[1] = getattr(loss, "ignore_index", -100)
    shared = SharedLoss(loss, 4, alone)
    shared.begin(target)
    parts = [shared(part, rows) for part, rows in zip(outputs.chunk(4), target.chunk(4), strict=True)]
    torch.testing.assert_close(torch.stack(parts).sum(), loss(outputs, target))
    torch.testing.assert_close(shared.mean(), loss(outputs, target))


def test_a_last_stage_that_gives_no_loss(alone: Mesh) -> None:
    with pytest.raises(Error, match="E0801"):
        SharedLoss(None, 1, alone)(torch.ones(3), torch.ones(3))

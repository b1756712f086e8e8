"""Learning rates follow an optimizer that takes the place of another one."""

from __future__ import annotations

import warnings

import torch
from torch.optim import SGD
from torch.optim.lr_scheduler import ExponentialLR, LinearLR, SequentialLR

from ttc.lightning.rates import move_rates


def test_rates_of_several_schedulers_move() -> None:
    weight = torch.nn.Parameter(torch.ones(1))
    before = SGD([weight], 1.0)
    parts = [LinearLR(before, 0.5, total_iters=2), ExponentialLR(before, 0.5)]
    scheduler = SequentialLR(before, parts, [2])
    after = SGD([dict(group) for group in before.param_groups], 1.0)
    move_rates(before, after, [scheduler])
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weight.grad = torch.ones(1)
        for _ in range(4):
            found.append(after.param_groups[0]["lr"])
            after.step()
            scheduler.step()
    assert found == [0.5, 0.75, 1.0, 0.5]
    assert before.param_groups[0]["lr"] == 0.5

"""Modules compute their activations again in the backward pass, and keep their names and gradients."""

from __future__ import annotations

import torch
from torch import nn

from ttc.lightning.recomputed import recompute


class Counted(nn.Module):
    """A layer that counts its calls."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.calls = nn.Linear(3, 3), 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return torch.tanh(self.layer(x))


def test_activations_are_computed_again() -> None:
    torch.manual_seed(1)
    plain, model = nn.Sequential(Counted(), Counted()), nn.Sequential(Counted(), Counted())
    model.load_state_dict(plain.state_dict())
    names = list(model.state_dict())
    assert (recompute(model, (Counted,)), recompute(model, (Counted,)), recompute(model, (nn.Conv2d,))) == (2, 2, 0)
    assert list(model.state_dict()) == names
    for module in (plain, model):
        module(torch.ones(2, 3)).sum().backward()
    assert [[layer.calls for layer in module] for module in (plain, model)] == [[1, 1], [2, 2]]
    for one, other in zip(plain.parameters(), model.parameters(), strict=True):
        assert one.grad is not None
        assert other.grad is not None
        assert torch.equal(one.grad, other.grad)

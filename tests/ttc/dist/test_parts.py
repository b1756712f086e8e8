"""Chains of layers keep the names of a model's parameters."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from ttc.dialects.core.errors import Error
from ttc.dist.parts import layers_of, linearize


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(4, 6)
        self.layers = nn.ModuleList([nn.Sequential(nn.Linear(6, 6), nn.ReLU()) for _ in range(3)])
        self.head = nn.Linear(6, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.embed(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(torch.flatten(x, 1))


def test_names_slices_modules_and_functions() -> None:
    model = Network()
    chain = linearize(
        model, ["embed", "layers.0:2", "layers.2.0", model.get_submodule("layers.2.1"), lambda x: torch.flatten(x, 1), "head"]
    )
    x = torch.ones(3, 4)
    assert torch.equal(chain(x), model(x))
    assert chain.state_dict().keys() == model.state_dict().keys()
    assert [layer.name for layer in layers_of(chain)[:3]] == ["embed", "layers.0.0", "layers.0.1"]


@pytest.mark.parametrize("item", ["neck", "layers.0:a", "layers.1:2:3", nn.ReLU(), 3])
def test_what_is_no_layer(item: object) -> None:
    with pytest.raises(Error, match="E0101"):
        linearize(Network(), [item])  # pyright: ignore[reportArgumentType]


def test_a_model_without_order() -> None:
    with pytest.raises(Error, match="no order of layers"):
        linearize(Network())

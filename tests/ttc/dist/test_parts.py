"""Chains of layers keep the names of a model's parameters."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from ttc.dialects.core.errors import Error
from ttc.dist.cutting import partition
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
    with pytest.raises(Error, match="no known order of layers"):
        linearize(Network())


class Chain(nn.Sequential):
    """A class of its own for a chain."""


class Doubled(nn.Sequential):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 2 * super().forward(x)


def test_classes_of_chains() -> None:
    model = Chain(nn.Linear(4, 4), Chain(nn.Linear(4, 4), nn.Tanh()), Doubled(nn.Linear(4, 2)))
    chain = linearize(model)
    assert [layer.name for layer in layers_of(chain)] == ["0", "1.0", "1.1", "2"]
    x = torch.ones(3, 4)
    assert torch.equal(chain(x), model(x))
    assert list(chain.state_dict()) == list(model.state_dict())
    with pytest.raises(Error, match="a Doubled has no known order of layers"):
        linearize(Doubled(nn.Linear(4, 2)))


def test_a_container_with_hooks_stays_whole() -> None:
    inner = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    inner.register_forward_hook(lambda _module, _args, output: output * 2)
    model = nn.Sequential(nn.Linear(4, 4), inner)
    chain, x = linearize(model), torch.ones(3, 4)
    assert [layer.name for layer in layers_of(chain)] == ["0", "1"]
    assert torch.equal(chain(x), model(x))
    assert list(chain.state_dict()) == list(model.state_dict())
    with pytest.raises(Error, match="the Sequential has hooks"):
        linearize(inner)


class Residual(nn.Module):
    def __init__(self, channels: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels * stride, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels * stride)
        self.downsample = nn.Sequential(nn.Conv2d(channels, channels * stride, 1, stride)) if stride > 1 else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.bn1(self.conv1(x)) + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    """A residual network as torchvision writes one."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1, self.relu = nn.Conv2d(3, 4, 7, 2, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        self.layer1 = nn.Sequential(Residual(4, 1), Residual(4, 1))
        self.layer2 = nn.Sequential(Residual(4, 2), Residual(8, 1))
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        return self.fc(torch.flatten(self.avgpool(self.layer2(self.layer1(x))), 1))


def test_a_residual_network() -> None:
    """The list of layers of TorchDistPackage's example: names of members, with a function between them."""
    torch.manual_seed(6)
    model = ResNet()
    order = ["conv1", "bn1", "relu", "maxpool", "layer1", "layer2", "avgpool", lambda x: torch.flatten(x, 1), "fc"]
    chain = linearize(model, order)
    x = torch.randn(2, 3, 32, 32)
    torch.testing.assert_close(chain.eval()(x), model.eval()(x))
    assert [layer.name for layer in layers_of(chain)][4:8] == ["layer1.0", "layer1.1", "layer2.0", "layer2.1"]
    parts = partition(chain, 3)
    assert {name for part in parts for name in part.state_dict()} == set(model.state_dict())
    other = ResNet()
    other.load_state_dict({name: value for part in parts for name, value in part.state_dict().items()})
    torch.testing.assert_close(other.eval()(x), nn.Sequential(*parts)(x))

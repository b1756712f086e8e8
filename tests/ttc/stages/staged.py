"""Models that mark their stages, with what is hard to cut: skips, shared parameters, integers, buffers, writing in place."""

from __future__ import annotations

from typing import Any

import torch

import ttc


class Shared(torch.nn.Module):
    """Three stages: a skip over the second, one weight in the first and the last, integers that pass, a batch norm, and numbers."""

    def __init__(self, *, whole: bool = False) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.first = torch.nn.Linear(4, 4)
        self.norm = torch.nn.BatchNorm1d(4)
        self.drop = torch.nn.Dropout(0.0)
        self.last = torch.nn.Linear(4, 4)
        self.last.weight = self.first.weight
        self.scale: torch.Tensor
        self.register_buffer("scale", torch.tensor([0.5, -1.0, 2.0, 1.5]))
        self._whole = whole

    def forward(self, x: Any, places: Any) -> Any:
        first, later = self.first(x), places + 1
        with ttc.stage(2):
            inner = self.drop(self.norm(first)) * self.scale
        with ttc.stage(5):
            y = (self.last(inner) + first.reshape(x.shape[0], -1)) * later[:, None]
        return {"y": y, "later": later, "rows": x.shape[0]} if self._whole else y


class Chain(torch.nn.Module):
    """An encoder of layers and a head, without marks."""

    def __init__(self, layers: int = 4) -> None:
        super().__init__()
        torch.manual_seed(5)
        self.layers = torch.nn.ModuleList([torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh()) for _ in range(layers)])
        self.head = torch.nn.Linear(4, 2)

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


class WritesInPlace(torch.nn.Module):
    """A value that passes to the next stage, and is written to there."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        y = self.first(x)
        z = y * 2
        ttc.stage(1).start()
        y.add_(1.0)
        ttc.stage(2).start()
        return y * z


class FlowsBack(torch.nn.Module):
    """The first stage is begun again, with what the second has made."""

    def forward(self, x: Any) -> Any:
        ttc.stage(0).start()
        y = x.exp()
        ttc.stage(1).start()
        z = y.sin()
        ttc.stage(0).start()
        return z.tanh() + y


def run(parts: Any, *values: Any) -> Any:
    """What stages make of inputs, one after another."""
    found: Any = values
    for part in parts:
        found = part(*found)
    return found

"""Networks in stages, whole and in parts, with what PyTorch makes of them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

ROWS = 3
"""How many rows a microbatch has."""
BOUND = 2e-5


class Split(torch.nn.Module):
    """A stage with two outputs, one of which may be integers that pass through."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(6, 5)
        self.second = torch.nn.Linear(6, 5)

    def forward(self, x: Any) -> Any:
        return self.first(x).tanh(), self.second(x)


class Join(torch.nn.Module):
    """A stage with two inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.last = torch.nn.Linear(5, 4)

    def forward(self, a: Any, b: Any) -> Any:
        return self.last(a * b + a)


class Whole(torch.nn.Module):
    """All stages, one after another."""

    def __init__(self, parts: Sequence[torch.nn.Module]) -> None:
        super().__init__()
        self.parts = torch.nn.ModuleList(copy.deepcopy(part) for part in parts)

    def forward(self, *x: Any) -> Any:
        for part in self.parts:
            x = part(*x)
            x = x if isinstance(x, tuple) else (x,)
        return x[0] if len(x) == 1 else x


def parts(count: int) -> list[torch.nn.Module]:
    """So many stages from x[n, 6] to y[n, 4]."""
    torch.manual_seed(count)
    one = [torch.nn.Sequential(torch.nn.Linear(6, 6), torch.nn.Tanh()), torch.nn.ReLU(), Split(), Join()]
    return {1: [torch.nn.Sequential(*one[:2], torch.nn.Linear(6, 4))], 2: one[2:], 3: one[1:], 4: one}[count]


def microbatches(rng: np.random.Generator, count: int) -> tuple[list[Any], list[Any]]:
    """Inputs and targets."""
    x = [torch.from_numpy(rng.standard_normal((ROWS, 6)).astype(np.float32)) for _ in range(count)]
    return x, [torch.from_numpy(rng.standard_normal((ROWS, 4)).astype(np.float32)) for _ in range(count)]


def check_weights(whole: Whole, found: Sequence[dict[str, NDArray[Any]]], bound: float = BOUND) -> None:
    """Compare parameters of all stages with those of the whole."""
    for part, values in zip(whole.parts, found, strict=True):
        wanted = {name: p.detach().numpy() for name, p in part.named_parameters()}
        assert values.keys() == wanted.keys()
        for name, value in values.items():
            np.testing.assert_allclose(value, wanted[name], rtol=0, atol=bound * max(1.0, float(np.abs(wanted[name]).max())))

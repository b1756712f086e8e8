"""Tensors of stages have the names of their model, each once."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from ttc.dialects.core.errors import Error
from ttc.dist import partition
from ttc.dist.names import Names


def test_a_tensor_that_two_stages_have() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 2))
    model[2].weight = model[0].weight
    parts = partition(model, 2)
    first, last = (Names.of(parts, (number,)).now(parts) for number in range(2))
    assert first.all == last.all == {"0.weight", "0.bias", "2.bias"}
    assert set(first.first) == {"0.weight", "0.bias"}
    assert set(last.here) == {"0.weight", "2.bias"}
    assert set(last.first) == {"2.bias"}


def test_stages_that_use_a_name_twice() -> None:
    parts = [nn.Linear(1, 2), nn.Linear(2, 1)]
    names = Names.of(parts, (0, 1))
    assert set(names.places) == {"weight", "bias", "1:weight", "1:bias"}
    parts[1].weight = nn.Parameter(torch.ones(1, 2))
    assert names.now(parts).here["1:weight"] is parts[1].weight  # parameters of now, not of then


class Counted(nn.Linear):
    def get_extra_state(self) -> int:
        return 3


def test_values_that_are_no_tensors() -> None:
    parts = [Counted(1, 1)]
    with pytest.raises(Error, match="E0103"):
        Names.of(parts, (0,)).now(parts)

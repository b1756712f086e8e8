"""Stages hold each layer once, in order, and the costliest is as cheap as it can be."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import torch
from torch import nn

from ttc.dialects.core.errors import Error
from ttc.dist.cutting import partition
from ttc.dist.parts import layers_of


def chain(widths: list[int]) -> nn.Sequential:
    return nn.Sequential(*(nn.Linear(a, b) for a, b in zip(widths, widths[1:], strict=False)))


@pytest.mark.parametrize("stages", [1, 2, 3, 4, 11])
def test_stages_in_a_row_are_the_model(stages: int) -> None:
    model = chain([4] * 12)
    parts = partition(model, stages)
    sizes = [len(layers_of(part)) for part in parts]
    assert sum(sizes) == 11
    assert max(sizes) - min(sizes) <= 1
    x = torch.ones(2, 4)
    assert torch.equal(nn.Sequential(*parts)(x), model(x))
    assert [name for part in parts for name in part.state_dict()] == list(model.state_dict())


def test_the_largest_stage_is_as_small_as_it_can_be(rng: np.random.Generator) -> None:
    costs = [float(cost) for cost in rng.integers(1, 50, 9)]
    model = chain([2] * 10)
    parts = partition(model, 3, lambda layer: costs[int(layer.name)])
    found = max(sum(costs[int(layer.name)] for layer in layers_of(part)) for part in parts)
    bounds = [(0, *cut, 9) for cut in combinations(range(1, 9), 2)]
    assert found == min(max(sum(costs[a:b]) for a, b in zip(cut, cut[1:], strict=False)) for cut in bounds)


def test_parameters_and_operations_say_where_to_cut() -> None:
    model = chain([2, 2, 2, 2, 64, 2])
    assert [len(layers_of(part)) for part in partition(model, 2, "params")] == [4, 1]
    # a convolution of few parameters over a large picture costs more than layers of many
    picture = nn.Sequential(nn.Conv2d(3, 8, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 512), nn.Linear(512, 4))
    assert [len(layers_of(part)) for part in partition(picture, 2, "cost", (torch.zeros(1, 3, 64, 64),))] == [1, 4]


@pytest.mark.parametrize(("stages", "by"), [(0, "uniform"), (4, "uniform"), (2, "weight"), (2, "cost")])
def test_what_cannot_be_cut(stages: int, by: str) -> None:
    with pytest.raises(Error, match="E0101"):
        partition(chain([2] * 4), stages, by)

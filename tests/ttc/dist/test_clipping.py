"""Norms are those of all gradients, each counted once."""

from __future__ import annotations

from math import inf

import pytest
import torch

from ttc.dialects.core.errors import Error
from ttc.dist import Mesh, clip_grad_norm_
from ttc.dist.clipping import COPY


def parameters(*gradients: float) -> list[torch.nn.Parameter]:
    made = [torch.nn.Parameter(torch.zeros(1)) for _ in gradients]
    for parameter, gradient in zip(made, gradients, strict=True):
        parameter.grad = torch.tensor([gradient])
    return made


@pytest.mark.parametrize(("norm_type", "norm"), [(1.0, 7.0), (2.0, 5.0), (inf, 4.0)])
def test_norms(alone: Mesh, norm_type: float, norm: float) -> None:
    made = parameters(3.0, -4.0)
    assert float(clip_grad_norm_(made, 1.0, norm_type, mesh=alone)) == pytest.approx(norm)
    assert [float(p.grad) for p in made if p.grad is not None] == pytest.approx([3 / norm, -4 / norm], rel=1e-5)


def test_a_parameter_that_another_stage_counts(alone: Mesh) -> None:
    made = parameters(3.0, 4.0)
    setattr(made[1], COPY, True)
    assert float(clip_grad_norm_(made, 1e9, mesh=alone)) == pytest.approx(3.0)


def test_without_gradients(alone: Mesh) -> None:
    assert float(clip_grad_norm_(torch.nn.Parameter(torch.zeros(1)), 1.0, mesh=alone)) == 0


def test_a_norm_that_is_not_finite_clips_nothing(alone: Mesh) -> None:
    made = parameters(inf, 4.0)
    with pytest.raises(Error, match="E0801"):
        clip_grad_norm_(made, 1.0, mesh=alone, error_if_nonfinite=True)
    assert float(made[1].grad if made[1].grad is not None else 0) == 4.0


@pytest.mark.parametrize("norm_type", [0, -1, float("nan")])
def test_a_norm_that_is_none(alone: Mesh, norm_type: float) -> None:
    with pytest.raises(Error, match="E0101"):
        clip_grad_norm_(parameters(1.0), 1.0, norm_type, mesh=alone)

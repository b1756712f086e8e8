"""Ops that PyTorch computes by one kernel, against that kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import ttc  # noqa: E402
from tests.ttc.importers.torch.single_op import randn  # noqa: E402

CAUSAL = torch.ones(5, 5, dtype=torch.bool).triu(1)
PADDED = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
BOTH = (CAUSAL | PADDED[:, None, None, :]).expand(2, 2, 5, 5)
MASKS = [(None, None), (CAUSAL, 0), (PADDED, 1), (BOTH, 2)]


class Called(torch.nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


def check(function: Any, *inputs: Any) -> None:
    """A function of inputs compiles to what PyTorch computes."""
    found = ttc.Executor(ttc.compile(Called(function), inputs, target="host"))(*[x.numpy() for x in inputs])
    for ours, theirs in zip(found, torch.utils._pytree.tree_leaves(function(*inputs)), strict=True):
        np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("mask", "kind"), MASKS)
@pytest.mark.parametrize("gelu", [False, True])
@pytest.mark.parametrize("norm_first", [False, True])
def test_encoder_layer(mask: Any, kind: int | None, gelu: bool, norm_first: bool) -> None:
    projections = (randn(24, 8), randn(24), randn(8, 8), randn(8))
    norms, layers = (randn(8), randn(8) + 1, randn(8) + 2, randn(8)), (randn(16, 8), randn(16), randn(8, 16), randn(8))

    def layer(x: Any) -> Any:
        settings = (gelu, norm_first, 1e-5)
        return torch.ops.aten._transformer_encoder_layer_fwd(x, 8, 2, *projections, *settings, *norms, *layers, mask, kind)

    check(layer, randn(2, 5, 8))


@pytest.mark.parametrize(("mask", "kind"), MASKS)
@pytest.mark.parametrize("average", [False, True])
def test_multi_head_attention(mask: Any, kind: int | None, average: bool) -> None:
    projections = (randn(24, 8), randn(24), randn(8, 8), randn(8))

    def attend(x: Any) -> Any:
        return torch.ops.aten._native_multi_head_attention(x, x, x, 8, 2, *projections, mask, True, average, kind)

    check(attend, randn(2, 5, 8))


@pytest.mark.parametrize("order", [0.0, 1.0, 1.5, 2.0, 3.0, float("inf")])
def test_gradient_of_distances(order: float) -> None:
    """Rows that are the same are at no distance: they get no gradient."""
    x, y = randn(2, 5, 3), randn(2, 4, 3)
    y[0, 0] = x[0, 0]
    distances = torch.cdist(x, y, p=order)
    check(lambda grad, *given: torch.ops.aten._cdist_backward(grad, *given[:2], order, given[2]), randn(2, 5, 4), x, y, distances)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_margins_of_several_classes_count_none_behind_the_first_end(reduction: str) -> None:
    classes = torch.tensor([[1, 2, -1, 0, 0], [3, -1, -1, 4, -1], [-1, 0, 1, 2, 3], [4, 0, 1, 3, 2]])
    loss = torch.nn.MultiLabelMarginLoss(reduction=reduction)
    check(lambda x, y: (loss(x, y), loss(x[0], y[0])), randn(4, 5), classes)

"""Attention of PyTorch's kernel for the CPU, with what its gradient needs, and that gradient."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

from tests.ttc.importers.torch.single_op import check, randn  # noqa: E402

attend = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
gradient = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default


def hidden(rows: int, columns: int) -> Any:
    """A mask that hides some places, and all of the last row."""
    mask = torch.zeros(rows, columns)
    mask[0, 1] = mask[1, 2:] = -torch.inf
    mask[-1] = -torch.inf
    return mask


@pytest.mark.parametrize(("causal", "masked", "scale"), [(False, False, None), (True, False, 0.7), (False, True, None)])
def test_result_and_gradient(causal: bool, masked: bool, scale: float | None) -> None:
    q, k, v = randn(2, 3, 5, 8), randn(2, 3, 5 if causal else 6, 8), randn(2, 3, 5 if causal else 6, 8) + 1
    mask = hidden(5, k.shape[2]) if masked else None
    check(attend, q, k, v, 0.0, causal, attn_mask=mask, scale=scale)
    y, total = attend(q, k, v, 0.0, causal, attn_mask=mask, scale=scale)
    check(gradient, randn(*y.shape), q, k, v, y, total, 0.0, causal, attn_mask=mask, scale=scale, tolerance=4e-5)


def test_of_doubles() -> None:
    q, k = randn(1, 2, 3, 4).double(), randn(1, 2, 5, 4).double()
    y, total = attend(q, k, k)
    check(gradient, torch.ones_like(y), q, k, k, y, total, 0.0, False, tolerance=1e-12)


def test_heads_that_share_keys() -> None:
    q, k, v = randn(2, 4, 5, 8), randn(2, 2, 6, 8), randn(2, 2, 6, 8) + 1
    y, total = attend(q, k, v)
    check(attend, q, k, v)
    check(gradient, randn(*y.shape), q, k, v, y, total, 0.0, False, tolerance=4e-5)

"""Random numbers of compiled graphs are those that PyTorch draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

from torch.nn import functional as F  # noqa: E402

Compile = Callable[..., Any]


def check(run: Any, function: Any, *inputs: Any) -> None:
    for seed in (0, 1):
        torch.manual_seed(seed)
        ours = run(*inputs)
        torch.manual_seed(seed)
        torch.testing.assert_close(ours, function(*inputs))


def test_each_kind_in_order(compiled: Compile) -> None:
    def function(x: Any) -> Any:
        y = x + torch.rand_like(x) + torch.randn(3) + torch.randint(0, 5, (3,)) + torch.randperm(3)
        y = y + torch.normal(0.0, 1.0, (3,)) + torch.empty(3).uniform_(-1, 1) + torch.empty(3).normal_() + torch.empty(3).exponential_()
        return y + torch.randint_like(x, 7) + torch.bernoulli(x, 0.25)

    run = compiled(function)
    check(run, function, torch.ones(3))
    assert not torch.equal(run(torch.ones(3)), run(torch.ones(3)))


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_dropout(compiled: Compile, p: float) -> None:
    def function(x: Any) -> Any:
        return F.dropout(x, p) + F.dropout(x.transpose(0, 1), p).transpose(0, 1)

    check(compiled(function), function, torch.randn(4, 5, 6))


def test_dropout_inside_attention(compiled: Compile) -> None:
    def function(x: Any) -> Any:
        return F.scaled_dot_product_attention(x, x, x, dropout_p=0.4)

    check(compiled(function), function, torch.randn(2, 2, 5, 4))


def test_the_mask_of_a_forward_graph_is_that_of_its_backward(compiled: Compile) -> None:
    def function(x: Any) -> Any:
        return (F.dropout(x, 0.5) * torch.arange(1.0, 9)).sum()

    gradients = []
    for run in (compiled(function), function):
        torch.manual_seed(3)
        x = torch.ones(8, requires_grad=True)
        gradients.append(torch.autograd.grad(run(x), x)[0])
    torch.testing.assert_close(*gradients)


def test_numbers_that_depend_on_values_are_named(compiled: Compile) -> None:
    def function(p: Any) -> Any:
        return torch.bernoulli(p) + torch.multinomial(p, 3)

    with pytest.warns(UserWarning, match=r"\n  bernoulli\.default .* random numbers that depend on values\n  multinomial\.default"):
        check(compiled(function, fallback=True), function, torch.tensor([0.2, 0.5, 0.7]))


def test_dropouts_of_whole_channels_and_alpha_dropouts(compiled: Compile) -> None:
    def function(x: Any) -> Any:
        channels = F.dropout2d(x, 0.3) + F.dropout3d(x[None], 0.3)[0]
        return channels + F.alpha_dropout(x, 0.3, training=True) + F.feature_alpha_dropout(x, 0.3, training=True)

    x = torch.linspace(-1, 1, 4 * 5 * 6).reshape(4, 5, 6, 1)
    check(compiled(function), function, x)
    assert not torch.equal(function(x), function(x))

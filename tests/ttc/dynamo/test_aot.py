"""Forward and backward graphs: training goes as it does in PyTorch."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

Compile = Callable[..., Any]


def train(run: Any, model: Any, batches: list[tuple[Any, ...]]) -> list[float]:
    """Losses of SGD with momentum, a step a batch; random numbers are the same each time."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for step, batch in enumerate(batches):
        torch.manual_seed(step)
        optimizer.zero_grad()
        loss = run(*batch)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def check(compiled: Compile, model: Any, batches: list[tuple[Any, ...]]) -> None:
    """Losses, gradients of the last step, parameters and buffers are those of PyTorch."""
    twin = copy.deepcopy(model)
    expected = train(twin, twin, batches)
    found = train(compiled(model), model, batches)
    assert expected[0] != expected[-1]
    torch.testing.assert_close(torch.tensor(found), torch.tensor(expected), rtol=1e-5, atol=1e-6)
    for (name, ours), theirs in zip(model.named_parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5, msg=name)
        torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-3, atol=1e-4, msg=name)
    for ours, theirs in zip(model.buffers(), twin.buffers(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)


class Perceptron(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 16), nn.SiLU(), nn.Linear(16, 16), nn.Tanh(), nn.Dropout(0.2), nn.Linear(16, 1))

    def forward(self, x: Any, y: Any) -> Any:
        return F.mse_loss(self.body(x).squeeze(1), y)


class Convolutional(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8)
        self.second, self.groups = nn.Conv2d(8, 8, 3, groups=2), nn.GroupNorm(2, 8)
        self.head = nn.Linear(8, 5)

    def forward(self, x: Any, y: Any) -> Any:
        x = F.max_pool2d(F.relu(self.norm(self.first(x))), 2)
        x = F.avg_pool2d(F.gelu(self.groups(self.second(x))), 2, 1)
        return F.cross_entropy(self.head(F.adaptive_avg_pool2d(x, 1).flatten(1)), y)


class Transformer(nn.Module):
    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(12, 8, padding_idx=0), nn.Linear(8, 12)
        self.block = nn.TransformerEncoderLayer(8, 2, 16, dropout, "gelu", batch_first=True)

    def forward(self, tokens: Any, targets: Any) -> Any:
        return F.cross_entropy(self.head(self.block(self.embed(tokens))).transpose(1, 2), targets)


def test_perceptron(compiled: Compile, graphs: list[str]) -> None:
    check(compiled, Perceptron(), [(torch.randn(8, 6), torch.randn(8)) for _ in range(4)])
    assert graphs == ["forward", "backward"]


def test_convolutional_network(compiled: Compile) -> None:
    check(compiled, Convolutional(), [(torch.randn(3, 3, 16, 16), torch.randint(0, 5, (3,))) for _ in range(3)])


@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_transformer(compiled: Compile, dropout: float) -> None:
    check(compiled, Transformer(dropout), [(torch.randint(0, 12, (2, 5)), torch.randint(0, 12, (2, 5))) for _ in range(3)])


def test_without_gradients_there_is_no_backward_graph(compiled: Compile, graphs: list[str]) -> None:
    model, x = nn.Linear(3, 2), torch.randn(4, 3)
    run = compiled(model)
    with torch.no_grad():
        assert not run(x).requires_grad
    assert graphs == ["inference"]
    run(x).sum().backward()
    assert graphs == ["inference", "forward", "backward"]
    torch.testing.assert_close(model.weight.grad, x.sum(0).expand(2, 3))


def test_gradients_of_inputs_and_none_for_others(compiled: Compile) -> None:
    def function(x: Any, y: Any, places: Any) -> Any:
        return (x[places] * y.detach()).sum() + y.sum()

    def gradients(run: Any) -> tuple[Any, ...]:
        x, y = torch.arange(6.0).requires_grad_(), torch.ones(3, requires_grad=True)
        run(x, y, torch.tensor([1, 1, 4])).backward()
        return x.grad, y.grad

    for ours, theirs in zip(gradients(compiled(function)), gradients(function), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_a_backward_graph_runs_again(compiled: Compile) -> None:
    model = nn.Linear(3, 2)
    loss = compiled(model)(torch.ones(2, 3)).square().sum()
    loss.backward(retain_graph=True)
    first = model.weight.grad.clone()
    loss.backward()
    torch.testing.assert_close(model.weight.grad, 2 * first)


def test_autocast(compiled: Compile) -> None:
    model, x = nn.Linear(3, 2), torch.randn(4, 3)
    with torch.autocast("cpu", torch.bfloat16):
        ours, theirs = compiled(model)(x), model(x)
    assert ours.dtype == torch.bfloat16
    torch.testing.assert_close(ours, theirs)
    ours.float().sum().backward()
    assert model.weight.grad.dtype == torch.float32


def test_a_step_of_an_optimizer(compiled: Compile) -> None:
    model = nn.Linear(3, 2)
    twin = copy.deepcopy(model)
    optimizers = [torch.optim.AdamW(m.parameters(), lr=0.1) for m in (model, twin)]
    steps = [compiled(optimizers[0].step), optimizers[1].step]
    for _ in range(3):
        for m, step in zip((model, twin), steps, strict=True):
            m.zero_grad()
            m(torch.ones(2, 3)).square().sum().backward()
            step()
    torch.testing.assert_close(model.weight, twin.weight, rtol=1e-5, atol=1e-5)


def test_a_backward_that_cannot_be_compiled_runs_in_pytorch(compiled: Compile, strange: Any) -> None:
    class Forward(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
            return strange(grad)

    x = torch.randn(4, requires_grad=True)
    with pytest.warns(UserWarning, match="PyTorch runs the graph backward_0_0"):
        compiled(lambda x: Forward.apply(x).sum(), fallback=True)(x).backward()
    torch.testing.assert_close(x.grad, torch.full((4,), 0.5))

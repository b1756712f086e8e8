"""What TorchDynamo leaves to Python is said: an error where nothing may fall back, else a warning that the metrics count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch._dynamo import config  # noqa: E402

from ttc import metrics  # noqa: E402
from ttc.dialects.core.errors import Error, TtcWarning  # noqa: E402
from ttc.dynamo.limited import compile_limited  # noqa: E402

LINEAR = nn.Linear(4, 2)


@torch.compiler.disable
def outside(_: object) -> None:
    """A call that no graph takes in."""


def in_a_loop(x: torch.Tensor) -> torch.Tensor:
    for name in ("a", "b"):
        outside(name)
    return LINEAR(x)


def in_a_try(x: torch.Tensor) -> torch.Tensor:
    try:
        outside(x)
        return LINEAR(x)
    finally:
        outside(None)


def between_graphs(x: torch.Tensor) -> torch.Tensor:
    y = LINEAR(x)
    outside(y)
    return y * 2


def nothing(x: torch.Tensor) -> torch.Tensor:
    return x


@pytest.mark.parametrize("function", [in_a_loop, in_a_try])
def test_frames_that_are_left_to_python(function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    x = torch.ones(3, 4)
    torch._dynamo.reset()
    with pytest.raises(Error, match=r"E0202.*TorchDynamo takes no graph from step.*torch.compiler.disable"):
        compile_limited(function, "step", {"target": "host", "fallback": False})(x)
    run = compile_limited(function, "step", {"target": "host"})  # TorchDynamo does not come to the frame again
    with metrics.scope("left out") as counted:
        with pytest.warns(TtcWarning, match="PyTorch runs it itself"):
            found = run(x)
        assert counted.value("fallbacks") == 1
        torch.testing.assert_close(run(x), found)
        assert counted.value("fallbacks") == 1  # it is told once
    torch.testing.assert_close(found, LINEAR(x))


def test_a_reason_is_told_again_though_another_came_between() -> None:
    layer = nn.GRU(4, 2)
    for function, reason in ((in_a_loop, "outside"), (lambda x: layer(x)[0], "GRU"), (in_a_loop, "outside")):
        torch._dynamo.reset()
        with pytest.raises(Error, match=reason):
            compile_limited(function, "step", {"target": "host", "fallback": False})(torch.ones(3, 4))


@pytest.mark.parametrize(("function", "graphs"), [(between_graphs, 2), (nothing, 0)])
def test_frames_that_are_not(function: Callable[[Any], Any], graphs: int) -> None:
    torch._dynamo.reset()
    run = compile_limited(function, "step", {"target": "host", "fallback": False})
    with metrics.scope("taken") as counted, torch.no_grad():
        run(torch.ones(3, 4))
    assert (counted.value("runs"), counted.value("fallbacks")) == (graphs, 0)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_layers(kind: Callable[[int, int], nn.Module]) -> None:
    """TorchDynamo leaves them out unless it is told to take them in: then they are compiled step by step, with gradients."""
    torch.manual_seed(2)
    layer, x = kind(3, 4), torch.randn(3, 2, 3)
    torch._dynamo.reset()
    with pytest.raises(Error, match="E0202") as caught:
        compile_limited(lambda x: layer(x)[0], "step", {"target": "host", "fallback": False})(x)
    assert caught.value.hint == "torch._dynamo.config.allow_rnn = True takes recurrent layers in, step by step"
    with config.patch(allow_rnn=True), metrics.scope("steps") as counted:
        found = compile_limited(lambda x: layer(x)[0], "step", {"target": "host", "fallback": False})(x)
        gradients = torch.autograd.grad(found.square().sum(), list(layer.parameters()))
        assert counted.value("runs") == 2
    wanted = layer(x)[0]
    torch.testing.assert_close(found, wanted)
    for mine, known in zip(gradients, torch.autograd.grad(wanted.square().sum(), list(layer.parameters())), strict=True):
        torch.testing.assert_close(mine, known, rtol=1e-4, atol=1e-5)

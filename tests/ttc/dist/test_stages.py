"""Stages compute in the precision that was asked for, and go backward by a function of the user."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from tests.ttc.dist.equal import batches, network
from ttc.dialects.core.errors import Error
from ttc.dist import Mesh, Runner, partition
from ttc.dist.signatures import Signature
from ttc.dist.stages import Crossing, warm_up


def runner_of(alone: Mesh, **options: object) -> Runner:
    """Two stages in one process."""
    stages = partition(network(), 2)
    given = {"loss": nn.CrossEntropyLoss(), "microbatches": 4, "schedule": "interleaved", "target": None, **options}
    return Runner(mesh=alone, stages=stages, **given)  # pyright: ignore[reportArgumentType]


def reference() -> tuple[nn.Module, torch.Tensor, torch.Tensor, torch.Tensor]:
    """PyTorch's gradients and loss for a batch."""
    model = network()
    ((x, target),) = batches(5, 1)
    loss = nn.functional.cross_entropy(model(x), target)
    loss.backward()
    return model, x, target, loss.detach()


def test_a_backward_function_is_called_for_each_microbatch_of_each_stage(alone: Mesh) -> None:
    model, x, target, loss = reference()
    calls: list[tuple[tuple[int, ...], bool]] = []

    def backward(output: torch.Tensor, gradient: torch.Tensor | None) -> None:
        calls.append((tuple(output.shape), gradient is None))
        torch.autograd.backward(output, gradient)

    runner = runner_of(alone, backward=backward)
    found = runner.step(x, target=target)
    torch.testing.assert_close(found.loss, loss)
    assert sorted(calls) == [((), True)] * 4 + [((4, 24), False)] * 4  # losses have no gradient, outputs have the last stage's
    for mine, wanted in zip(runner.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, wanted.grad)


@pytest.mark.parametrize("target", [None, "host"])
def test_bfloat16_passes_between_stages(alone: Mesh, target: str | None) -> None:
    model, x, wanted, loss = reference()
    runner = runner_of(alone, precision="bf16-mixed", target=target)
    found = runner.step(x, target=wanted, gather="all")
    assert found.loss.dtype == torch.float32
    assert found.outputs.dtype == torch.bfloat16
    torch.testing.assert_close(found.loss, loss, rtol=1e-2, atol=1e-2)
    for mine, plain in zip(runner.parameters(), model.parameters(), strict=True):
        assert mine.grad is not None
        assert mine.grad.dtype == torch.float32
        torch.testing.assert_close(mine.grad, plain.grad, rtol=1e-2, atol=1e-2)


def test_another_precision() -> None:
    with pytest.raises(Error, match="E0101"):
        Crossing(nn.Linear(1, 1), "float8", is_last=True)


def test_warming_up_changes_nothing() -> None:
    torch.manual_seed(0)
    crossing = Crossing(nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Dropout()), "float32", is_last=False)
    inputs = Signature.of((torch.ones(4, 3),))
    crossing.structure = inputs.structure
    before = {name: value.clone() for name, value in crossing.state_dict().items()}
    state = torch.random.get_rng_state()
    warm_up(crossing, inputs, {}, training=True)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert all(torch.equal(value, before[name]) for name, value in crossing.state_dict().items())
    assert all(parameter.grad is None for parameter in crossing.parameters())

"""Updates by arrays like those of the call before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ttc
from tests.draws import rng_of_test
from ttc.dialects.core.errors import Error
from ttc.train.executor import TrainingExecutor
from ttc.train.repeated import SMALL_BYTES, RepeatedUpdate

torch = pytest.importorskip("torch", reason="torch has a build for Python 3.11 alone")
ROWS = 4


def executors(features: int = 3, **options: Any) -> tuple[Any, TrainingExecutor]:
    """Return a module and an executor that trains a copy of it by the mean squared error."""
    torch.manual_seed(0)
    module, copy = torch.nn.Linear(features, 2), torch.nn.Linear(features, 2)
    copy.load_state_dict(module.state_dict())
    optimizer = torch.optim.SGD(copy.parameters(), lr=0.1)
    return module, ttc.training(copy, loss="mse", optimizer=optimizer, target="host", threads=1, **options)


def rows(features: int = 3) -> tuple[Any, Any]:
    draws = rng_of_test()
    return tuple(torch.from_numpy(draws.standard_normal((ROWS, width), np.float32)) for width in (features, 2))


def step(module: Any, rate: float, x: Any, target: Any) -> float:
    """Do a step of SGD by PyTorch; gives the loss before it."""
    loss = torch.nn.functional.mse_loss(module(x), target)
    loss.backward()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter -= rate * parameter.grad
            parameter.grad = None
    return loss.item()


def repeated(executor: TrainingExecutor) -> RepeatedUpdate:
    found = executor._repeated
    assert found is not None
    return found


@pytest.mark.parametrize("features", [3, SMALL_BYTES // 8])
def test_repeated_calls_are_steps_with_the_numbers_of_the_optimizer(features: int) -> None:
    module, executor = executors(features)
    with executor:
        for rate in (1e-3, 1e-3, 2e-3, 1e-3):
            x, target = rows(features)
            executor.optimizer.param_groups[0]["lr"] = rate
            outputs, loss = executor(x, target)
            torch.testing.assert_close(outputs, module(x), rtol=1e-4, atol=1e-4)
            assert loss.item() == pytest.approx(step(module, rate, x, target), rel=1e-4)
            assert loss.shape == ()
            assert executor.losses.tolist() == [loss.item()]
        assert repeated(executor).given((x, target)) is not None
        weights = executor.weights()
    for name, parameter in module.named_parameters():
        np.testing.assert_allclose(weights[name], parameter.detach().numpy(), rtol=1e-4, atol=1e-5)


def test_tensors_may_lie_otherwise_and_results_stay() -> None:
    module, executor = executors()
    with executor:
        x, target = rows()
        first, _ = executor(x, target)
        kept = first.clone()
        step(module, 0.1, x, target)
        second, _ = executor(x.T.contiguous().T, target.repeat(2, 1)[::2][:ROWS])
        torch.testing.assert_close(second, module(x))
        assert torch.equal(first, kept)


def test_arrays_of_another_kind_are_taken_as_by_a_first_call() -> None:
    _, executor = executors()
    with executor:
        x, target = rows()
        executor(x, target)
        before = repeated(executor)
        for others in ((x[:2], target[:2]), (x.double(), target), (x.numpy(), target), (x,), (torch.nn.Parameter(x), target)):
            assert before.given(others) is None
        executor(x.numpy(), target.numpy())
        assert repeated(executor).given((x.numpy(), target.numpy())) is not None
        assert repeated(executor).given((x, target)) is None
        with pytest.raises(Error, match=r"takes 2 arrays, not 1"):
            executor(x)
        executor(x[:2], target[:2])
        assert repeated(executor) is not before
    with pytest.raises(Error, match=r"closed"):
        executor(x, target)


@pytest.mark.parametrize("options", [{"accumulate": 2}, {"iterations": 2}, {"replicas": 2}, {"output": "last"}, {"output": "loss"}])
def test_calls_of_several_microbatches_or_with_chosen_outputs_are_not_repeated(options: dict[str, Any]) -> None:
    _, executor = executors(**options)
    with executor:
        executor(*rows())
        assert executor._repeated is None


def test_accumulated_gradients_are_forgotten() -> None:
    _, executor = executors()
    with executor:
        x, target = rows()
        executor(x, target)
        executor.forward(x)
        executor.backward(target)
        executor(x, target)
        with pytest.raises(Error, match=r"no accumulated gradients"):
            executor.update()

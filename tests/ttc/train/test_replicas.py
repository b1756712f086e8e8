"""Replicas that share the rows of an update."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ttc
from tests.draws import rng_of_test
from ttc.dialects.core.errors import Error

torch = pytest.importorskip("torch", reason="torch has a build for Python 3.11 alone")
HOST = {"target": "host", "threads": 1}


def network(*, dropout: float = 0.0) -> Any:
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(5, 6), torch.nn.Dropout(dropout), torch.nn.Tanh(), torch.nn.Linear(6, 3))


def rows(count: int) -> tuple[Any, Any]:
    draws = rng_of_test()
    labels = draws.integers(0, 3, count)
    labels[: count // 3] = -100  # which do not count: rows of replicas weigh unevenly
    return torch.from_numpy(draws.standard_normal((count, 5)).astype(np.float32)), torch.from_numpy(labels)


def weights_after(calls: int, x: Any, y: Any, *, dropout: float = 0.0, **options: Any) -> dict[str, Any]:
    with ttc.training(network(dropout=dropout), loss="cross_entropy", optimizer="adamw:lr=0.05", **HOST, **options) as executor:
        for _ in range(calls):
            executor(x, y)
        return executor.state_dict()


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_weights_do_not_depend_on_how_rows_are_shared(dropout: float) -> None:
    x, y = rows(24)
    one = weights_after(2, x, y, dropout=dropout, accumulate=6)
    for options in ({"replicas": 3, "accumulate": 2}, {"replicas": 6}):
        found = weights_after(2, x, y, dropout=dropout, **options)
        for name, value in one.items():
            torch.testing.assert_close(found[name], value, rtol=2e-5, atol=2e-5, msg=lambda text, name=name: f"{name}: {text}")


def test_threads_in_any_order_give_the_same_bits() -> None:
    x, y = rows(24)
    first, *others = (weights_after(3, x, y, replicas=4) for _ in range(3))
    assert all(torch.equal(other[name], value) for other in others for name, value in first.items())


def test_replicas_keep_the_same_weights() -> None:
    x, y = rows(12)
    with ttc.training(network(), loss="cross_entropy", optimizer="sgd:lr=0.1", replicas=2, **HOST) as executor:
        executor(x, y)
        executor.forward(x[:6])
        executor.backward(y[:6])
        executor.update()
        replicas: Any = executor._replicas
        first, second = (updates.session.parameters() for updates in replicas.all)
        assert all(np.array_equal(value, second[name]) for name, value in first.items())


def test_sum_of_means_needs_half_the_rate() -> None:
    x, y = rows(8)
    y[y < 0] = 0
    found = []
    for options in ({"accumulate": 2, "reduction": "sum"}, {"replicas": 2, "reduction": "sum"}, {"accumulate": 2}):
        rate = 0.1 if "reduction" in options else 0.2
        with ttc.training(network(), loss="cross_entropy", optimizer=f"sgd:lr={rate}", **HOST, **options) as executor:
            executor(x, y)
            found.append(executor.state_dict()["0.weight"])
    for other in found[1:]:
        torch.testing.assert_close(found[0], other, rtol=1e-5, atol=1e-6)


def test_losses_as_outputs_are_chosen() -> None:
    x, y = rows(24)
    y[y < 0] = 1
    cross_entropy = torch.nn.functional.cross_entropy
    with ttc.training(
        network(), loss="cross_entropy", optimizer="sgd:lr=0.0", replicas=2, accumulate=2, iterations=2, loss_rows="output", **HOST
    ) as executor:
        outputs, losses = executor(x, y)
        assert executor.output_shapes(x, y) == (((24, 3),), (8,))
        torch.testing.assert_close(outputs, network().eval()(x), rtol=1e-5, atol=1e-5)
        expected = torch.stack([cross_entropy(a, b) for a, b in zip(outputs.chunk(8), y.chunk(8), strict=True)])
        torch.testing.assert_close(losses, expected, rtol=1e-5, atol=1e-6)
    with ttc.training(
        network(), loss="cross_entropy", optimizer="sgd", accumulate=2, output="last", loss_rows="output", **HOST
    ) as executor:
        assert executor.output_shapes(x, y) == (((12, 3),), ())
        assert [tuple(found.shape) for found in executor(x, y)] == [(12, 3), ()]


def test_a_failure_in_one_replica_changes_nothing() -> None:
    x, y = rows(8)
    y[:] = 1
    with ttc.training(network(), loss="cross_entropy", optimizer="sgd:lr=0.1", replicas=2, **HOST) as executor:
        executor(x, y)
        before = executor.state_dict()
        wrong = y.clone()
        wrong[-1] = 7
        with pytest.raises(Error) as raised:
            executor(x, wrong)
        assert raised.value.code == "E0802"
        assert all(torch.equal(value, before[name]) for name, value in executor.state_dict().items())


def test_another_size_goes_on_with_the_weights() -> None:
    x, y = rows(12)
    y[y < 0] = 2
    model = network()
    reference = network()
    optimizer = torch.optim.SGD(reference.parameters(), lr=0.1, momentum=0.9)
    with ttc.training(model, loss="cross_entropy", optimizer="sgd:lr=0.1,momentum=0.9", **HOST) as executor:
        for count in (12, 4, 12, 4):
            executor(x[:count], y[:count])
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(reference(x[:count]), y[:count]).backward()
            optimizer.step()
        assert executor.compilations == 2
        executor.pull_weights()
    for found, wanted in zip(model.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)

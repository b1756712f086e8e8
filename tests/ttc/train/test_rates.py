"""Numbers of an optimizer as they are at each step."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

import ttc  # noqa: E402
from ttc.runtime.manifest import Training  # noqa: E402
from ttc.train.rates import Numbers, hyper_of  # noqa: E402


@pytest.fixture(scope="module")
def module() -> Any:
    return torch.nn.Linear(3, 2)


def training_of(module: Any, optimizer: Any) -> Training:
    program = ttc.compile(module, (torch.zeros(4, 3),), loss="mse", optimizer=optimizer, target="host")
    assert program.description.training is not None
    return program.description.training


def test_numbers_that_change_are_seen(module: Any) -> None:
    optimizer = torch.optim.AdamW(module.parameters(), lr=0.5)
    training, numbers = training_of(module, optimizer), Numbers()
    first = numbers.of(optimizer, module, training)
    assert (first["lr"], first["beta1"]) == (0.5, 0.9)
    assert numbers.of(optimizer, module, training) is first
    optimizer.param_groups[0]["lr"] = 0.25
    optimizer.param_groups[0]["betas"] = (0.8, 0.999)
    second = numbers.of(optimizer, module, training)
    assert (second["lr"], second["beta1"]) == (0.25, 0.8)
    assert second == hyper_of(optimizer, module, training)


def test_numbers_in_tensors_are_read_every_time(module: Any) -> None:
    optimizer = torch.optim.AdamW(module.parameters(), lr=torch.tensor(0.5))
    training, numbers = training_of(module, optimizer), Numbers()
    assert numbers.of(optimizer, module, training)["lr"] == 0.5
    optimizer.param_groups[0]["lr"].fill_(0.125)
    assert numbers.of(optimizer, module, training)["lr"] == 0.125


def test_numbers_are_those_of_the_optimizer_that_is_given(module: Any) -> None:
    training, numbers = training_of(module, "sgd:lr=0.5"), Numbers()
    assert numbers.of("sgd:lr=0.5", module, training)["lr"] == 0.5
    assert numbers.of("sgd:lr=0.75", module, training)["lr"] == 0.75


def test_groups_that_get_other_parameters_are_looked_at_again(module: Any) -> None:
    optimizer = torch.optim.SGD(module.parameters(), lr=0.5)
    training, numbers = training_of(module, optimizer), Numbers()
    first = numbers.of(optimizer, module, training)
    optimizer.param_groups[0]["params"] = list(module.parameters())
    assert numbers.of(optimizer, module, training) == first
    optimizer.param_groups[0]["lr"] = 0.125
    assert numbers.of(optimizer, module, training)["lr"] == 0.125

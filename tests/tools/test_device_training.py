"""What rounding alone does to gradients, and how differences are said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch: Any = pytest.importorskip("torch", reason="networks of PyTorch are trained")

from device_training import Row, difference, rounding, table  # noqa: E402
from training_networks import Task, classified, perceptron  # noqa: E402


def test_differences_are_of_all_arrays_together():
    wanted = {"a": np.array([3.0, 0.0]), "b": np.array([4.0])}
    assert difference(wanted, wanted) == 0
    assert difference({"a": np.array([3.0, 3.0]), "b": np.array([8.0])}, wanted) == pytest.approx(1.0)


@pytest.mark.parametrize(("values", "least", "most"), [(torch.round, 0.0, 0.0), (lambda x: x, 1e-4, 2e-2)], ids=["whole", "any"])
def test_what_bfloat16_holds_is_not_changed_by_rounding(values: Callable[[Any], Any], least: float, most: float):
    """One layer: its results are small whole numbers, or any."""
    torch.manual_seed(0)
    given = classified(torch.nn.Sequential(torch.nn.Linear(4, 3)), 8, 4)
    with torch.no_grad():
        for tensor in (*given.network.parameters(), given.batch):
            tensor.copy_(values(tensor * 4))
    assert least <= rounding(Task(given.network, given.batch, given.target % 3), 8) <= most


def test_rounding_leaves_a_network_as_it_was():
    given = classified(perceptron((8, 8, 4)), 4, 8)
    before = [p.detach().clone() for p in given.network.parameters()]
    assert 0 < rounding(Task(given.network, given.batch, given.target % 4), 4) < 0.1
    assert all(torch.equal(a, b) and b.grad is None for a, b in zip(before, given.network.parameters(), strict=True))


def test_a_figure_above_its_bound_is_not_within_it():
    row = Row("a", 1, 1e-4, 1e-2, 5e-3, 3, 0, 1e6, 0.1, 0.2, 1.0)
    assert row.within
    assert not Row("a", 1, 1e-4, 3e-2, 2e-2, 3, 0, 1e6, 0.1, 0.2, 1.0).within
    assert not Row("a", 1, 2e-3, 1e-2, 2e-2, 3, 0, 1e6, 0.1, 0.2, 1.0).within
    assert table([row]).splitlines()[2] == "| a | 1 | 1.0e-04 | 1.0e-02 | 5.0e-03 | 3 | 0 | 1,000,000 | 10% | 20.0% |"

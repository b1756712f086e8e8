"""torch.cond, while_loop and scan, known and depending on data, against PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

from torch._higher_order_ops.scan import scan  # noqa: E402

import ttc  # noqa: E402
from ttc.importers.torch.tables import rows  # noqa: E402


class Called(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function
        self.scale = torch.nn.Parameter(torch.tensor([2.0, 3.0, 4.0]))

    def forward(self, *inputs: Any) -> Any:
        return self.function(self, *inputs)


def agrees(function: Callable[..., Any], *calls: tuple[Any, ...]) -> None:
    """A program compiled for the first call gives what PyTorch gives for all calls."""
    module = Called(function)
    executor = ttc.Executor(ttc.compile(module, calls[0], target="host"))
    for inputs in calls:
        expected = module(*inputs)
        found = executor(*[x.numpy() for x in inputs])
        for ours, theirs in zip(found, expected if isinstance(expected, tuple) else (expected,), strict=True):
            np.testing.assert_allclose(ours, theirs.detach().numpy(), rtol=1e-6, atol=1e-6)


X = torch.arange(6.0).reshape(2, 3)


def test_a_branch_that_data_decides() -> None:
    def either(module: Any, x: Any) -> Any:
        return torch.cond(x.sum() > 0, lambda x: (x + 1, x * module.scale), lambda x: (x - 1, x * 3), (x,))

    agrees(either, (X,), (-X,))


def test_a_branch_that_is_known() -> None:
    def either(module: Any, x: Any) -> Any:
        return torch.cond(torch.tensor(True), lambda x: x * module.scale, lambda x: x * 3, (x,))

    agrees(either, (X,))


def test_a_loop_until_data_says_so() -> None:
    def grow(_: Any, x: Any) -> Any:
        return torch.while_loop(lambda i, y: (i < 9) & (y.sum() < 100), lambda i, y: (i + 1, y * 2 + 1), (torch.tensor(0), x))

    agrees(grow, (X,), (X * 10,), (X * 1000,))


@pytest.mark.parametrize("length", [4, 40])
def test_scans_of_few_and_many_steps(length: int) -> None:
    def sums(module: Any, x: Any) -> Any:
        return scan(lambda total, row: (total + row, total * row * module.scale), torch.zeros(3), x)

    agrees(sums, (torch.rand(length, 3),))


def test_steps_that_become_too_many_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ttc.importers.torch.walk.MAX_INNER", 40)
    module = Called(lambda _, x: scan(lambda total, row: (total + row, total * row), torch.zeros(3), x))
    with pytest.raises(ttc.Error, match="more than 40 nodes") as caught:
        ttc.compile(module, (torch.rand(20, 3),), target="host")
    assert caught.value.code == "E0203"


def test_ops_refused_in_a_branch_are_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(rows(), "aten.atan.default")

    def either(_: Any, x: Any) -> Any:
        return torch.cond(x.sum() > 0, lambda x: torch.atan(x), lambda x: x * 2, (x,))

    with pytest.raises(ttc.Error) as caught:
        ttc.compile(Called(either), (torch.rand(3, 3),))
    assert caught.value.code == "E0202"
    assert "atan.default" in str(caught.value.excerpt)

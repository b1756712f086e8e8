"""Which ops of a program a wrong gradient can come from."""

from __future__ import annotations

from typing import Any

import pytest

import ttc
from ttc.comparison.suspects import suspects

torch = pytest.importorskip("torch", reason="torch has a build for Python 3.11 alone")


@pytest.fixture
def program() -> Any:
    """Compile two layers with a softmax between them, and a norm behind them."""
    network = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Softmax(1), torch.nn.Linear(6, 3), torch.nn.LayerNorm(3))
    return ttc.compile(network, (torch.zeros(2, 4),), loss="mse", optimizer="sgd", target="host")


@pytest.mark.parametrize(
    ("wrong", "right", "found", "absent"),
    [
        (["0.weight", "0.bias"], ["2.weight", "2.bias", "3.weight"], {"linear", "softmax", "linear_1"}, {"layer_norm", "loss"}),
        (["0.weight", "0.bias", "2.weight", "2.bias"], ["3.weight", "3.bias"], {"linear_1", "layer_norm"}, {"softmax", "loss"}),
        (["3.weight"], ["0.weight", "2.weight", "3.bias"], {"layer_norm"}, {"linear", "softmax", "loss"}),
        (["0.weight", "2.weight", "3.weight"], [], {"layer_norm", "loss"}, {"softmax"}),
    ],
)
def test_ops_are_between_wrong_and_right(program: Any, wrong: list[str], right: list[str], found: set[str], absent: set[str]) -> None:
    names = set(suspects(program, "backward", wrong, right))
    assert names >= found
    assert not names & absent

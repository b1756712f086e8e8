"""Gradients of training programs against differences of their own forward part."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch has a build for Python 3.11 alone")

import ttc  # noqa: E402
from tests.dialects.nn.gradients.test_check import wrong_by  # noqa: E402
from ttc.comparison.gradients import BOUND, compare_gradients, has_gradients  # noqa: E402
from ttc.dialects.nn.gradients.base import GRADIENTS  # noqa: E402


def network() -> Any:
    """Make a small one with what is no plain function: a max pool, dropout, and norms of the batch."""
    torch.manual_seed(0)
    make = torch.nn
    start = [make.Conv2d(3, 6, 3, padding=1), make.BatchNorm2d(6), make.ReLU(), make.MaxPool2d(2), make.Flatten(), make.Dropout(0.3)]
    return make.Sequential(*start, make.Linear(54, 8), make.Tanh(), make.Linear(8, 5))


def fed(program: Any, rng: np.random.Generator, **more: Any) -> dict[str, Any]:
    return {"input": rng.standard_normal((4, 3, 6, 6)).astype(np.float32), "target": np.array([1, 2, 0, 4]), **more}


@pytest.mark.parametrize(
    "options",
    [
        {"target": "host"},
        {"target": "host", "recompute": "all"},
        {"target": "host", "loss_scale": 1024.0, "clip_norm": 1.0},
        {"target": "host", "input_gradients": True},
        {"target": "n150", "format": "Float16_b"},
    ],
    ids=str,
)
def test_right_gradients_are_not_called_wrong(options: dict[str, Any], rng: np.random.Generator) -> None:
    program = ttc.compile(network(), (torch.zeros(4, 3, 6, 6),), loss="cross_entropy", optimizer="sgd", **options)
    found = compare_gradients(program, fed(program, rng))
    assert found.whole is not None
    assert found.whole.wanted is not None
    assert found.whole.error < BOUND / 100
    assert found.within
    assert ("input" in found.whole.names) == ("input_gradients" in options)


def test_a_step_of_several_microbatches_is_compared_in_its_first(rng: np.random.Generator) -> None:
    program = ttc.compile(network(), (torch.zeros(4, 3, 6, 6),), loss="cross_entropy", optimizer="sgd", target="host", microbatches=2)
    first, second = fed(program, rng), fed(program, rng)
    whole = {name: np.concatenate([first[name], second[name]]) for name in first}
    assert compare_gradients(program, whole).whole == compare_gradients(program, first).whole


def test_gradients_whose_cotangents_come_in(rng: np.random.Generator) -> None:
    program = ttc.compile(network(), (torch.zeros(4, 3, 6, 6),), training=True, target="host")
    (name,) = program.description.training.outputs
    inputs = {**fed(program, rng), f"grad.{name}": rng.standard_normal((4, 5)).astype(np.float32)}
    found = compare_gradients(program, inputs)
    assert found.whole is not None
    assert found.whole.error < BOUND / 100


def test_numbers_of_rules_in_16_bits_are_not_called_wrong(rng: np.random.Generator) -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4)).bfloat16()
    program = ttc.compile(model, (torch.zeros(4, 8, dtype=torch.bfloat16),), loss="cross_entropy", optimizer="sgd", target="host")
    x = rng.standard_normal((4, 8)).astype(np.float32)
    found = compare_gradients(program, {"input": x, "target": np.array([1, 2, 0, 3])})
    assert found.whole is not None
    assert BOUND < found.whole.error < found.whole.bound == pytest.approx(1e-2)


def test_a_backward_part_without_its_forward_part_is_not_compared(rng: np.random.Generator) -> None:
    program = ttc.compile(torch.nn.Linear(3, 2), (torch.zeros(4, 3),), training=True, stash=True, target="host")
    assert compare_gradients(program, {}).reason.startswith("forward keeps what backward reads")


@pytest.mark.parametrize(
    ("rule", "operand", "wrong", "suspect"),
    [("nn.tanh", 0, {"0", "1", "6"}, "tanh"), ("nn.max_pool2d", 0, {"0", "1"}, "max_pool2d"), ("nn.relu", 0, {"0", "1"}, "relu")],
)
def test_a_wrong_rule_is_placed(
    rule: str, operand: int, wrong: set[str], suspect: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(GRADIENTS.rules(), rule, wrong_by(GRADIENTS.rules()[rule], operand, 1.01))
    program = ttc.compile(network(), (torch.zeros(4, 3, 6, 6),), loss="cross_entropy", optimizer="sgd", target="host")
    found = compare_gradients(program, fed(program, rng))
    assert not found.within
    assert {name.partition(".")[0] for name in found.wrong} == wrong
    assert any(suspect in name for name in found.suspects), found.suspects
    assert "loss" not in found.suspects


def test_what_stops_on_purpose_is_not_compared(rng: np.random.Generator) -> None:
    class Stopping(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = network()

        def forward(self, x: Any) -> Any:
            y = self.inner(x)
            return y + (y * y).detach()

    program = ttc.compile(Stopping(), (torch.zeros(4, 3, 6, 6),), loss="cross_entropy", optimizer="sgd", target="host")
    found = compare_gradients(program, fed(program, rng))
    assert (found.whole, found.within) == (None, True)
    assert found.reason.startswith("gradients stop at ")


def test_a_loss_that_jumps_is_not_known(rng: np.random.Generator) -> None:
    class Rounding(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = torch.nn.Parameter(torch.ones(1000))

        def forward(self, x: Any) -> Any:
            return torch.round(x * self.w * 1e9).sum(1, keepdim=True) * 1e-9

    program = ttc.compile(Rounding(), (torch.zeros(4, 1000),), loss="mse", optimizer="sgd", target="host")
    found = compare_gradients(program, {"x": rng.standard_normal((4, 1000)).astype(np.float32), "target": np.zeros((4, 1), np.float32)})
    assert found.within == (found.whole is not None and not found.whole.is_wrong)


def test_programs_that_take_gradients() -> None:
    program = ttc.compile(network(), (torch.zeros(4, 3, 6, 6),), loss="cross_entropy", optimizer="sgd", target="host")
    assert [has_gradients(program, name) for name in ("backward", "step", "forward", "evaluate")] == [True, True, False, False]
    plain = ttc.compile(network().eval(), (torch.zeros(4, 3, 6, 6),), target="host")
    assert not has_gradients(plain, "forward")

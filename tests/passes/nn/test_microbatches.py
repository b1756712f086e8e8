"""Tests of passes/nn/microbatches.py: steps of several microbatches on a device, beside those of a host, which unrolls them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ttc
from ttc.dialects.netlist.instructions import executed_graphs

torch = pytest.importorskip("torch", reason="the networks are PyTorch's")
ROWS, COUNT = 4, 3


def network(kind: str) -> Any:
    torch.manual_seed(0)
    first, last = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)
    middle = {"plain": torch.nn.Tanh(), "norm": torch.nn.BatchNorm1d(8), "dropout": torch.nn.Dropout(0.5)}[kind]
    return torch.nn.Sequential(first, middle, last)


def compiled(kind: str, target: str, **options: Any) -> Any:
    chosen = {"loss": "cross_entropy", "optimizer": "adamw:lr=0.05", "microbatches": COUNT, **options}
    return ttc.compile(network(kind), (torch.zeros(ROWS, 6),), target=target, **chosen)


def after_steps(program: Any, steps: int = 2) -> dict[str, Any]:
    """Return results of the last of several steps, and all parameters and states after them."""
    numbers = {name: np.array(value, np.float32) for name, value in program.description.training.hyper.items()}
    generator = np.random.default_rng(5)
    with ttc.Executor(program) as executor:
        found: dict[str, Any] = {}
        for _ in range(steps):
            rows = generator.standard_normal((ROWS * COUNT, 6)).astype(np.float32)
            found = executor.run({"input": rows, "target": generator.integers(3, size=ROWS * COUNT), **numbers}, "step")
        return {**found, **executor.parameters(), **executor.states()}


def counts(program: Any) -> list[int]:
    return [program.netlist.graphs[name].input_count for name in executed_graphs(program.netlist.programs["step"])]


@pytest.mark.parametrize(
    ("kind", "options"),
    [("plain", {}), ("norm", {"optimizer": "sgd:lr=0.1,momentum=0.9"}), ("plain", {"loss_scale": 1024.0, "clip_norm": 0.1})],
)
def test_streamed_steps_equal_unrolled_ones(kind: str, options: dict[str, Any]) -> None:
    program = compiled(kind, "n150", **options)
    assert set(counts(program)) == {1, COUNT}
    assert counts(program) == sorted(counts(program), reverse=True)  # the update comes after all microbatches
    found, wanted = after_steps(program), after_steps(compiled(kind, "host", **options))
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-6, err_msg=name)


def test_hosts_and_what_changes_and_is_read_elsewhere_are_unrolled() -> None:
    assert set(counts(compiled("plain", "host"))) == {1}
    program = compiled("dropout", "n150")
    assert set(counts(program)) == {1}
    found, wanted = after_steps(program), after_steps(compiled("dropout", "host"))
    np.testing.assert_allclose(found["0.weight"], wanted["0.weight"], rtol=1e-5, atol=1e-6)


def test_a_step_switches_no_more_epochs_for_many_microbatches_than_for_few() -> None:
    few, many = compiled("plain", "n150", microbatches=2), compiled("plain", "n150", microbatches=16)
    assert len(counts(many)) <= len(counts(few))


class Words(torch.nn.Module):
    """Scores of classes for each word, classes in the second dimension."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.head = torch.nn.Embedding(16, 8), torch.nn.Linear(8, 5)

    def forward(self, x: Any) -> Any:
        return self.head(self.words(x)).transpose(1, 2)


def test_losses_over_classes_in_the_second_dimension_store_sixteen_bits() -> None:
    losses: list[Any] = []
    for options in ({"target": "n150", "format": "Float16_b"}, {"target": "host"}):
        torch.manual_seed(0)
        words = Words(), (torch.zeros(2, 6, dtype=torch.long),)
        program = ttc.compile(*words, loss="cross_entropy", optimizer="sgd:lr=0.1", microbatches=2, **options)
        generator = np.random.default_rng(7)
        given = {"x": generator.integers(16, size=(4, 6)), "target": generator.integers(5, size=(4, 6)), "lr": np.array(0.1, np.float32)}
        with ttc.Executor(program) as executor:
            losses.append(executor.run(given, "step")["loss.sum"])
    np.testing.assert_allclose(losses[0], losses[1], rtol=2e-2)

"""Training of transformers whose attention has a gradient without the matrix of scores, against PyTorch, and its memory."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import ttc
from tests.draws import rng_of_test
from ttc.passes.nn import train_attention
from ttc.runtime.engines.native.execution.plan import NativePlan
from ttc.train.executor import TrainingExecutor

torch = pytest.importorskip("torch", reason="torch has a build for Python 3.11 alone")
WIDTH, HEADS, WORDS = 32, 4, 50


class Decoder(torch.nn.Module):
    """One layer of a transformer, whose heads may share keys and values.

    Args:    causal: whether words see those before them alone.  shared: how many heads share keys and values.
    """

    def __init__(self, causal: bool, shared: int) -> None:
        super().__init__()
        self.causal, self.shared = causal, shared
        size = WIDTH // HEADS
        self.words, self.out = torch.nn.Embedding(WORDS, WIDTH), torch.nn.Linear(WIDTH, WORDS)
        self.queries = torch.nn.Linear(WIDTH, WIDTH)
        self.others = torch.nn.Linear(WIDTH, 2 * size * HEADS // shared)

    def forward(self, words: Any, target: Any) -> Any:
        x = self.words(words)
        rows, length, _ = x.shape
        q = self.queries(x).view(rows, length, HEADS, -1).transpose(1, 2)
        k, v = self.others(x).view(rows, length, 2, HEADS // self.shared, -1).permute(2, 0, 3, 1, 4)
        mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal, enable_gqa=self.shared > 1)
        x = x + mixed.transpose(1, 2).reshape(rows, length, WIDTH)
        return torch.nn.functional.cross_entropy(self.out(x).flatten(0, 1), target.flatten())


def trained(causal: bool, length: int, shared: int = 1, **options: Any) -> tuple[TrainingExecutor, Any, tuple[Any, Any]]:
    """The executor of a decoder, a copy for PyTorch, and a batch."""
    torch.manual_seed(3)
    model = Decoder(causal, shared)
    expected, draws = copy.deepcopy(model), rng_of_test()
    batch = tuple(torch.from_numpy(draws.integers(0, WORDS, (2, length))) for _ in range(2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    options = {"target": "host", "threads": 2, **options}
    return ttc.training(model, loss="output", optimizer=optimizer, **options), expected, batch


def losses_of_torch(model: Any, batch: tuple[Any, Any], steps: int) -> list[float]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    found: list[float] = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(*batch)
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def plan_of(executor: TrainingExecutor) -> NativePlan:
    """The plan of the program that makes a step."""
    program = executor.session.program
    plans = (program.plans[graph] for graph in program.netlists.executed.graphs)
    return max((plan for plan in plans if isinstance(plan, NativePlan)), key=lambda plan: len(list(plan.jobs())))


def kernels(executor: TrainingExecutor) -> set[str]:
    return {type(job.kernel).__name__ for job in plan_of(executor).jobs()}


@pytest.mark.parametrize("recompute", ["none", "all"])
@pytest.mark.parametrize(("causal", "shared"), [(False, 1), (True, 1), (True, 2)])
def test_losses_are_those_of_pytorch(causal: bool, shared: int, recompute: str) -> None:
    executor, expected, batch = trained(causal, 70, shared, recompute=recompute)
    found = [float(executor(*batch)[1]) for _ in range(5)]
    assert {"AttentionGradient", "QuerySums"} <= kernels(executor)
    assert found == pytest.approx(losses_of_torch(expected, batch, 5), rel=2e-6)


def test_short_sequences_keep_the_matrix_of_scores() -> None:
    executor, expected, batch = trained(True, 20)
    assert float(executor(*batch)[1]) == pytest.approx(losses_of_torch(expected, batch, 1)[0], rel=2e-6)
    assert "AttentionGradient" not in kernels(executor)


def arena_bytes(executor: TrainingExecutor) -> int:
    return plan_of(executor).prepared.layout.arena.size_bytes


def test_memory_is_linear_in_the_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 2048 words less than one matrix of scores of all heads, and twice as much as at 1024."""
    sizes: dict[int, int] = {}
    for length in (1024, 2048):
        executor, _, batch = trained(False, length)
        executor(*batch)
        sizes[length] = arena_bytes(executor)
    scores = 4 * 2 * HEADS * 2048**2
    assert sizes[2048] < scores / 4
    assert sizes[2048] < 2.2 * sizes[1024]
    monkeypatch.setattr(train_attention, "LEAST_SCORES", 1 << 60)
    executor, _, batch = trained(False, 2048)
    executor(*batch)
    assert arena_bytes(executor) > scores

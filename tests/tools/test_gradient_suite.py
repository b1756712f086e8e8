"""`tools/gradient_suite.py`, on samples of a few operators; `make conformance-gradients` takes all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("expecttest", reason="PyTorch's operator database needs it")
torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

import gradient_suite  # noqa: E402
from gradient_suite import Gradients, counts, tables  # noqa: E402
from suite import Outcome, recorded  # noqa: E402
from torch_suite import Case, Suite, run_all  # noqa: E402

OPERATORS = "^(atan2|cumprod|fft.rfft|index_add|linalg.svd|logcumsumexp|max.binary|nn.functional.(conv2d|gelu|layer_norm|max_pool2d)|std)$"


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Children are forked: they have none of PyTorch's other threads."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def test_first_samples_are_right_in_float64() -> None:
    suite = Gradients("reference")
    ops = suite.operators(OPERATORS)
    outcomes = run_all(Suite(suite.samples, suite.run), ops, 1, 60, 1)
    assert len(outcomes) == len(ops) >= 10
    assert {o.status for o in outcomes} == {"pass"}
    assert counts(outcomes) == (len(ops), len(ops))
    assert "right: 100.0 %" in "\n".join(tables(outcomes, verbose=True))


def test_a_run_goes_on_from_its_record(tmp_path: Path) -> None:
    asked: list[str] = []

    def run(name: str) -> list[Outcome]:
        asked.append(name)
        return [Outcome(name, "reduce", name, ordinary=True, status="wrong", reason="by 2", host_ops=("nn.sort",), seconds=0.5)] * 2

    file = tmp_path / "outcomes.jsonl"
    first = recorded(file, ["sum", "std"], run)
    assert recorded(file, ["sum", "amax", "std"], run) == [*first[:2], *run("amax"), *first[2:]]
    assert asked == ["sum", "std", "amax", "amax"]
    assert recorded(None, ["sum"], run) == first[:2]


def test_the_native_engine_is_right_in_float32() -> None:
    suite = Gradients("native")
    (op,) = suite.operators("^nn.functional.silu$")
    assert suite.run(Case(op, 0), suite.samples(op, 1)[0]).status == "pass"


def test_ops_without_a_gradient_are_refused_by_name() -> None:
    suite = Gradients("reference")
    (op,) = suite.operators("^grid_sampler_2d$")
    outcome = suite.run(Case(op, 0), suite.samples(op, 1)[0])
    assert outcome.status == "refused"
    assert "nn.grid_sample has no gradient" in outcome.reason


def test_differences_are_seen() -> None:
    wanted = [torch.tensor([1.0, 2.0]), torch.tensor(4.0)]
    right = [np.array([1.0, 2.0]), np.array(4.0)]
    assert gradient_suite.difference(right, wanted, 1e-6) == ""
    assert "gradient 2 differs by 1" in gradient_suite.difference([right[0], right[1] + 1], wanted, 1e-6)
    assert "is [], not [2]" in gradient_suite.difference([right[1], right[1]], wanted, 1e-6)
    assert "no numbers differ" in gradient_suite.difference(right, [torch.tensor([1.0, torch.inf]), wanted[1]], 1e-6)
    assert counts([Outcome("a:0", "op_db", "a", ordinary=True, status="not taken")]) == (0, 0)

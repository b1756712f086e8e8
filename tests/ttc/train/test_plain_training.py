"""An executor's gradients and weights are those of a plain loop, for every loss, optimizer and way to divide the rows.

CONTRACT_EXAMPLES says how many cases are drawn; `make contract` draws many.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ttc
from ttc.dialects.core.records import record
from ttc.dialects.nn.training.losses import LOSSES as KNOWN_LOSSES
from ttc.dialects.nn.training.optimizers import OPTIMIZERS as KNOWN_OPTIMIZERS

torch = pytest.importorskip("torch", reason="torch has a build for Python 3.11 alone")
from tests.ttc.train.plain_training import LOSSES, OPTIMIZERS, TEXTS, network, samples, trained  # noqa: E402

EXAMPLES = int(os.environ.get("CONTRACT_EXAMPLES", "5"))
GRADIENTS, WEIGHTS = 2e-5, 2e-4
"""Bounds of differences, relative to 1 or to the value."""


@record(kw_only=True)
class Case:
    """What is trained on rows, and how these are divided.

    Args:
        batch, iterations, accumulate: factors of the rows of a call.
        recompute: which values backward passes compute again.
        loss, optimizer: by name.
        seed: of weights and rows.
    """

    batch: int
    iterations: int
    accumulate: int
    recompute: str
    loss: str
    optimizer: str
    seed: int


CASES = st.builds(
    Case,
    batch=st.integers(1, 4),
    iterations=st.integers(1, 4),
    accumulate=st.integers(1, 4),
    recompute=st.sampled_from(["none", "auto", "all"]),
    loss=st.sampled_from(sorted(LOSSES)),
    optimizer=st.sampled_from(sorted(OPTIMIZERS)),
    seed=st.integers(0, 1000),
)


def test_every_loss_and_optimizer_is_drawn() -> None:
    assert {name.split(",")[0] for name in LOSSES} | {"output"} == set(KNOWN_LOSSES)
    assert {name.split(",")[0] for name in OPTIMIZERS} == set(KNOWN_OPTIMIZERS)


@pytest.mark.usefixtures("decomposed_once")
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(CASES)
def test_updates_are_those_of_a_plain_loop(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_every_loss(loss: str) -> None:
    check(Case(batch=2, iterations=2, accumulate=3, recompute="none", loss=loss, optimizer="sgd, momentum", seed=1))


@pytest.mark.parametrize("optimizer", sorted(OPTIMIZERS))
def test_every_optimizer(optimizer: str) -> None:
    check(Case(batch=3, iterations=4, accumulate=2, recompute="auto", loss="cross_entropy, smoothing", optimizer=optimizer, seed=2))


def check(case: Case) -> None:
    """Assert that gradients and weights are those of the loop."""
    count = case.batch * case.iterations * case.accumulate
    x, y = samples(case.loss, count, case.iterations, case.seed)
    gradients, weights = trained(case.loss, case.optimizer, case.seed, x, y, case.iterations)
    model = network(case.loss, case.seed)
    optimizer = TEXTS.get(case.optimizer) or OPTIMIZERS[case.optimizer](model.parameters())
    factors = {"iterations": case.iterations, "accumulate": case.accumulate, "recompute": case.recompute}
    loss = LOSSES[case.loss]()
    with ttc.training(model, loss=loss, optimizer=optimizer, target="host", threads=1, **factors) as executor:
        for part, target in list(zip(x.split(case.batch), y.split(case.batch), strict=True))[: case.accumulate]:
            executor.forward(part)
            executor.backward(target)
        found = executor.grads()
        executor(x, y)
        executor.pull_weights()
    for (name, parameter), gradient, weight in zip(model.named_parameters(), gradients, weights, strict=True):
        torch.testing.assert_close(
            found[name].double(), gradient, rtol=GRADIENTS, atol=GRADIENTS, msg=lambda text, name=name: f"{name}: {text}"
        )
        torch.testing.assert_close(
            parameter.detach().double(), weight, rtol=WEIGHTS, atol=WEIGHTS, msg=lambda text, name=name: f"{name}: {text}"
        )

"""The contract of gradients: those of an update are those of the loss over all its rows, however these are divided.

CONTRACT_EXAMPLES says how many cases are drawn; `make contract` draws 500.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ttc
from ttc.dialects.core.records import record
from ttc.pipeline.compiled_stage import CompiledStage

pytest.importorskip("torch", reason="torch has a build for Python 3.11 alone")
import torch

EXAMPLES = int(os.environ.get("CONTRACT_EXAMPLES", "5"))
WIDTHS = (4, 5, 6, 5, 3)
TOLERANCE = 2e-5
OPTIMIZERS = {
    "sgd:lr=0.5": lambda p: torch.optim.SGD(p, lr=0.5),
    "sgd:lr=0.1,momentum=0.9": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "adamw:lr=0.02,eps=0.01": lambda p: torch.optim.AdamW(p, lr=0.02, eps=0.01),  # so large that rounding does not choose a sign
}


@record(kw_only=True)
class Case:
    """A way to divide rows, and what is trained on them.

    Args:
        batch, iterations, accumulate, replicas: factors of the rows of a call.
        stages: of the model; 1: it is whole.
        schedule: of the stages; four stages are interleaved on two devices.
        recompute: which values backward passes compute again.
        loss: its name; some targets of cross_entropy do not count.
        optimizer: its text.
        seed: of weights and rows.
    """

    batch: int
    iterations: int
    accumulate: int
    replicas: int
    stages: int
    schedule: str
    recompute: str
    loss: str
    optimizer: str
    seed: int

    @property
    def interleaves(self) -> bool:
        """Whether devices have several stages each."""
        return self.schedule == "interleaved" and self.stages == 4

    @property
    def microbatches(self) -> int:
        """How many microbatches an update has; an even number where two devices take turns."""
        return self.accumulate * self.replicas * (2 if self.interleaves else 1)


CASES = st.builds(
    Case,
    batch=st.integers(1, 3),
    iterations=st.integers(1, 2),
    accumulate=st.integers(1, 3),
    replicas=st.integers(1, 3),
    stages=st.integers(1, 4),
    schedule=st.sampled_from(["sequential", "gpipe", "1f1b", "interleaved"]),
    recompute=st.sampled_from(["none", "auto", "all"]),
    loss=st.sampled_from(["cross_entropy", "mse", "l1"]),
    optimizer=st.sampled_from(sorted(OPTIMIZERS)),
    seed=st.integers(0, 1000),
)


def layers(case: Case) -> list[Any]:
    """As many modules as there are stages: four linear layers, shared out."""
    torch.manual_seed(case.seed)
    every = [torch.nn.Sequential(torch.nn.Linear(a, b), torch.nn.Tanh()) for a, b in zip(WIDTHS, WIDTHS[1:], strict=False)]
    shares = np.array_split(np.arange(len(every)), case.stages)
    return [torch.nn.Sequential(*(every[i] for i in share)) for share in shares]


def rows(case: Case) -> tuple[Any, Any]:
    """Inputs and targets of all updates."""
    draws = np.random.default_rng(case.seed)
    count = case.batch * case.iterations * case.microbatches
    x = torch.from_numpy(draws.standard_normal((count, WIDTHS[0])).astype(np.float32))
    if case.loss != "cross_entropy":
        return x, torch.from_numpy(draws.standard_normal((count, WIDTHS[-1])).astype(np.float32))
    labels = draws.integers(0, WIDTHS[-1], count)
    labels[draws.random(count) < 0.3] = -100
    labels[:: count // case.iterations] = 1  # one of each update counts
    return x, torch.from_numpy(labels)


def expected(case: Case, x: Any, y: Any) -> tuple[list[Any], list[list[Any]]]:
    """Parameters after PyTorch's own updates, each of one loss over all its rows; then gradients of each, and of the first rows again."""
    model = torch.nn.Sequential(*layers(case))
    loss = {"cross_entropy": torch.nn.CrossEntropyLoss(), "mse": torch.nn.MSELoss(), "l1": torch.nn.L1Loss()}[case.loss]
    optimizer = OPTIMIZERS[case.optimizer](model.parameters())
    updates = list(zip(x.chunk(case.iterations), y.chunk(case.iterations), strict=True))
    gradients: list[list[Any]] = []
    for number, (a, b) in enumerate([*updates, updates[0]]):
        gradients.append(list(torch.autograd.grad(loss(model(a), b), list(model.parameters()))))
        for parameter, gradient in zip(model.parameters(), gradients[-1], strict=True):
            parameter.grad = gradient.clone()
        if number < case.iterations:
            optimizer.step()
    return [parameter.detach() for parameter in model.parameters()], gradients


def by_executor(case: Case, x: Any, y: Any) -> tuple[list[Any], list[list[Any]]]:
    """Parameters after one call of an executor, and then the gradients of the first update's rows, which microbatches accumulate."""
    model = torch.nn.Sequential(*layers(case))
    replicas = case.microbatches // case.accumulate  # one for each turn of two devices
    factors = {"iterations": case.iterations, "accumulate": case.accumulate, "replicas": replicas, "recompute": case.recompute}
    stages = {"devices": devices_of(case), "plan": {str(n): n for n in range(case.stages)}, "schedule": case.schedule}
    own = stages if case.stages > 1 else {"target": "host"}
    with ttc.training(model, loss=case.loss, optimizer=case.optimizer, threads=1, **factors, **own) as executor:
        executor(x, y)
        executor.pull_weights()
        for part, target in list(zip(x.split(case.batch), y.split(case.batch), strict=True))[: case.microbatches]:
            executor.forward(part)
            executor.backward(target)
        found = executor.grads()
    return [p.detach() for p in model.parameters()], [[found[name] for name, _ in model.named_parameters()]]


def devices_of(case: Case) -> list[Any]:
    """A device for each stage; two that take turns where stages are interleaved."""
    if not case.interleaves:
        return ["host"] * case.stages
    turns = [ttc.Device("host", name=f"d{number}", recompute=case.recompute) for number in range(2)]
    return turns * 2


def by_pipeline(case: Case, x: Any, y: Any) -> tuple[list[Any], list[list[Any]]]:
    """Parameters after the updates of a pipeline, which takes the microbatches of all replicas one after another; and gradients of each."""
    modules = layers(case)
    count = 2 if case.interleaves else case.stages
    devices = [ttc.Device("host", name=f"s{i}", recompute=case.recompute) for i in range(count)]
    stages = [(devices[i % count], module) for i, module in enumerate(modules)]
    with (
        recorded_gradients() as found,
        ttc.Pipeline(stages, loss=case.loss, optimizer=case.optimizer, schedule=case.schedule) as pipeline,
    ):
        for part, target in zip(x.split(case.batch), y.split(case.batch), strict=True):
            pipeline.push(part)
            pipeline.push_target(target)
        pipeline.run_training(steps=case.iterations, microbatches=case.microbatches)
        pipeline.pull_weights()
        names = [(stage, name) for stage, module in zip(pipeline.stages, modules, strict=True) for name, _ in module.named_parameters()]
    gradients = [[torch.from_numpy(found[stage][number][name]) for stage, name in names] for number in range(case.iterations)]
    return [parameter.detach() for module in modules for parameter in module.parameters()], gradients


@contextmanager
def recorded_gradients() -> Iterator[dict[str, list[Any]]]:
    """The gradients by stage of every update of pipelines meanwhile: divided, as the optimizers get them."""
    found: dict[str, list[Any]] = {}
    update = CompiledStage.update

    def recording(stage: CompiledStage, divisor: float) -> None:
        found.setdefault(stage.name, []).append(stage.gradients(divisor))
        update(stage, divisor)

    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(CompiledStage, "update", recording)
        yield found


@pytest.mark.usefixtures("decomposed_once", "stages_compiled_once")
@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(CASES)
def test_gradients_of_an_update_are_those_of_the_loss_over_all_its_rows(case: Case) -> None:
    x, y = rows(case)
    weights, gradients = expected(case, x, y)
    drivers = [(by_executor, gradients[-1:]), *([(by_pipeline, gradients[:-1])] if case.stages > 1 else [])]
    for driver, wanted in drivers:
        found, found_gradients = driver(case, x, y)
        check_alike(f"{driver.__name__}, {case}, weight", found, weights)
        for number, (own, theirs) in enumerate(zip(found_gradients, wanted, strict=True)):
            check_alike(f"{driver.__name__}, {case}, update {number}, gradient", own, theirs)


def check_alike(what: str, found: list[Any], wanted: list[Any]) -> None:
    """Assert that tensors are the same within the contract's tolerance."""
    for number, (value, reference) in enumerate(zip(found, wanted, strict=True)):
        message = f"{what} {number}"
        torch.testing.assert_close(value, reference, rtol=TOLERANCE, atol=TOLERANCE, msg=lambda text, message=message: f"{message}: {text}")

"""Schedules: the rates of torch's, at every update."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from ttc.dialects.core.errors import Error
from ttc.train import schedules

BASE, TOTAL = 0.1, 40


def rates(schedule: Any, total: int = TOTAL) -> list[float]:
    found = schedules.of(schedule)
    return [found.rate(update, BASE, total) for update in range(total)]


def of_torch(name: str, **keywords: Any) -> Any:
    torch = pytest.importorskip("torch", reason="torch has a build for Python 3.11 alone")
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=BASE)
    return getattr(torch.optim.lr_scheduler, name)(optimizer, **keywords)


@pytest.mark.parametrize(
    ("text", "name", "keywords"),
    [
        ("constant", "ConstantLR", {"factor": 1.0}),
        ("step:step_size=7,gamma=0.5", "StepLR", {"step_size": 7, "gamma": 0.5}),
        ("cosine", "CosineAnnealingLR", {"T_max": TOTAL}),
        ("cosine:t_max=15,eta_min=1e-3", "CosineAnnealingLR", {"T_max": 15, "eta_min": 1e-3}),
        ("linear:total_iters=10", "LinearLR", {"total_iters": 10}),
        ("linear:total_iters=9,start_factor=1,end_factor=0.2", "LinearLR", {"total_iters": 9, "start_factor": 1.0, "end_factor": 0.2}),
        ("onecycle", "OneCycleLR", {"max_lr": BASE, "total_steps": TOTAL, "cycle_momentum": False}),
        (
            "onecycle:max_lr=0.7,pct_start=0.2,anneal_strategy=linear,three_phase=true,div_factor=5,final_div_factor=100",
            "OneCycleLR",
            {
                **{"max_lr": 0.7, "total_steps": TOTAL, "pct_start": 0.2, "anneal_strategy": "linear", "three_phase": True},
                **{"div_factor": 5, "final_div_factor": 100, "cycle_momentum": False},
            },
        ),
    ],
)
def test_rates_are_those_of_torch(text: str, name: str, keywords: dict[str, Any]) -> None:
    scheduler = of_torch(name, **keywords)
    wanted: list[float] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of schedulers that are stepped without their optimizer
        for _ in range(TOTAL):
            wanted.append(scheduler.get_last_lr()[0])
            scheduler.step() if len(wanted) < TOTAL else None
    assert rates(text) == pytest.approx(wanted, rel=1e-9, abs=1e-12)


def test_a_scheduler_of_torch_itself() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = schedules.of(of_torch("StepLR", step_size=3))
        assert [found.rate(update, BASE, TOTAL) for update in (0, 0, 2, 3, 7)] == pytest.approx([0.1, 0.1, 0.1, 0.01, 0.001])
    with pytest.raises(Error, match="cannot go back"):
        found.rate(2, BASE, TOTAL)


def test_warm_up_then_cosine() -> None:
    found = rates("cosine:warmup=4")
    assert found[:5] == pytest.approx([0.02, 0.04, 0.06, 0.08, 0.1])
    assert found[4:] == pytest.approx([0.05 * (1 + schedules.math.cos(schedules.math.pi * i / 36)) for i in range(36)])


def test_a_function_of_the_update() -> None:
    assert rates(lambda update: 1 / (1 + update), 3) == pytest.approx([0.1, 0.05, 0.1 / 3])
    with pytest.raises(Error, match="no factor"):
        rates(lambda update: "x")


@pytest.mark.parametrize("text", ["constant", "step:step_size=7,gamma=0.5", "cosine:warmup=4", "onecycle:max_lr=0.7,three_phase=true"])
def test_texts(text: str) -> None:
    assert schedules.schedule_text(schedules.parse(text)) == text


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("cosin", "no schedule 'cosin'"),
        ("step", "below 1"),
        ("step:step_size=0", "below 1"),
        ("onecycle:pct_start=2", "from 0 to 1"),
        ("onecycle:anneal_strategy=up", "is 'up'"),
        (3, "is no schedule"),
    ],
)
def test_what_is_no_schedule(value: Any, message: str) -> None:
    with pytest.raises(Error, match=message) as caught:
        schedules.of(value)
    assert caught.value.code == "E0101"

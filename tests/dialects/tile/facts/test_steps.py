"""Steps of composites name what they take, and give what their numpy kernels do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ttc.dialects.core.plain.interpret import kernel
from ttc.dialects.tile.facts import facts
from ttc.dialects.tile.facts.steps import CompositeStep, steps, taken

COMPOSITES = sorted(name for name, fact in facts().items() if fact.steps)
STATISTICS: dict[str, Callable[..., Any]] = {"max": np.max, "mean": np.mean, "sum": np.sum}


def test_steps_are_stated_in_lines() -> None:
    found = steps("low = sub x top", "y = exp low")
    assert found == (CompositeStep("low", "sub", ("x", "top")), CompositeStep("y", "exp", ("low",)))
    assert [step.is_statistic for step in steps("top = max x", "y = maximum x top")] == [True, False]
    assert taken(found, ["top"]) == [found[1]]


@pytest.mark.parametrize("name", COMPOSITES)
def test_a_step_takes_earlier_results_operands_and_attributes(name: str) -> None:
    fact = facts()[name]
    known = {*fact.operands, *fact.attrs}
    for step in fact.steps:
        assert known.issuperset(step.values)
        known.add(step.result)


@pytest.mark.parametrize("name", COMPOSITES)
def test_steps_compute_what_the_kernel_does(name: str, rng: np.random.Generator) -> None:
    fact = facts()[name]
    operands = [rng.standard_normal((3, 8) if index == 0 else (8,)) for index, _ in enumerate(fact.operands)]
    attrs = {"axis": -1, "eps": 1e-3} if "eps" in fact.attrs else {"axis": -1}
    values: dict[str, Any] = dict(zip(fact.operands, operands, strict=True)) | attrs
    for step in fact.steps:
        taken_values = [np.asarray(values[value], np.float64) for value in step.values]
        if step.is_statistic:
            values[step.result] = STATISTICS[step.fn](taken_values[0], axis=-1, keepdims=True)
        else:
            values[step.result] = kernel(f"nn.{step.fn}")(*taken_values)
    np.testing.assert_allclose(values[fact.steps[-1].result], kernel(f"nn.{name}")(*operands, **attrs), rtol=1e-12, atol=1e-12)

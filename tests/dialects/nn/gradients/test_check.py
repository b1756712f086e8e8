"""The check of rules finds every rule that is planted wrong, by the operand whose cotangent is."""

from __future__ import annotations

import numpy as np
import pytest

from ttc.dialects.nn.base import ops
from ttc.dialects.nn.gradients.base import GRADIENTS, Cotangents, GradientSite, Rule
from ttc.dialects.nn.gradients.check import check_rule
from ttc.dialects.nn.kernels.host_call import FUNCTIONS
from ttc.dialects.nn.making import OpMaker, zeros

pytest.importorskip("torch", reason="cases stand beside PyTorch's functions")
from tests.dialects.nn.gradients.planted_cases import CASES, HOSTED
from tests.dialects.nn.gradients.test_against_torch import drawn


def wrong_by(rule: Rule, index: int, factor: float) -> Rule:
    """The rule, but the cotangent of one operand is multiplied by a number, and where it is 0 it is the number less 1."""

    def wrong(b: OpMaker, site: GradientSite) -> Cotangents:
        found = list(rule(b, site))
        value, operand = found[index], site.operand(index)
        if value is None:
            found[index] = b.nn("add", zeros(b, operand), b.scalar(factor - 1, operand))
        else:
            found[index] = b.nn("mul", value, b.scalar(factor, value))
        return found

    return wrong


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, function in HOSTED.items():
        monkeypatch.setitem(FUNCTIONS, name, function)


def test_every_rule_is_planted() -> None:
    assert set(CASES) == set(GRADIENTS.rules())


@pytest.mark.parametrize("factor", [1.01, -1.0])
@pytest.mark.parametrize("name", sorted(GRADIENTS.rules()))
def test_every_wrong_cotangent_is_found(name: str, factor: float, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    given, attrs = CASES[name]
    kind, arrays = ops()[name.removeprefix("nn.")], [drawn(value, rng) for value in given]
    rule = GRADIENTS.rules()[name]
    right = check_rule(kind, arrays, attrs)
    assert [finding.operand for finding in right] == [i for i, x in enumerate(arrays) if x is not None and x.dtype.kind == "f"]
    assert right
    assert not any(finding.is_wrong for finding in right)
    for finding in right:
        monkeypatch.setitem(GRADIENTS.rules(), name, wrong_by(rule, finding.operand, factor))
        found = check_rule(kind, arrays, attrs)
        assert [other.operand for other in found if other.is_wrong] == [finding.operand]

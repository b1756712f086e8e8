"""The check of rules finds every rule that is planted wrong, by the operand whose cotangent is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ttc.dialects.nn.base import ops
from ttc.dialects.nn.gradients.base import GRADIENTS, Cotangents, Rule, Site
from ttc.dialects.nn.gradients.check import check_rule
from ttc.dialects.nn.making import OpMaker

pytest.importorskip("torch", reason="cases stand beside PyTorch's functions")
from tests.dialects.nn.gradients.test_against_torch import BINARY, FLAT, IMAGES, INSIDE, KINKS, REDUCTIONS, SHAPES, TIED, UNARY, Case, drawn


def sizes(value: tuple[int, ...] | np.ndarray | None) -> tuple[int, ...]:
    """The shape of an operand that is an array, or to be drawn."""
    return value.shape if isinstance(value, np.ndarray) else value or ()


SQUARE = np.array([[4.0, 1.0, 0.5], [1.0, 5.0, -1.0], [0.5, -1.0, 6.0]])
SMOOTH: list[Case] = [
    *((f"nn.{name}", [SQUARE], attrs, tuple) for name, attrs in (("cholesky", {}), ("eigh", {}), ("svd", {"full": False}))),
    *((f"nn.{name}", [(3, 4), (4,)], {}, tuple) for name in ("maximum", "minimum")),
    ("nn.pow", [INSIDE + 2, INSIDE], {}, tuple),
]
EVERY = (*SMOOTH, *UNARY, *BINARY, *REDUCTIONS, *SHAPES, *IMAGES)
CASES = {case[0]: case for case in reversed(EVERY) if case[0] not in FLAT and all(0 not in sizes(x) for x in case[1])}
"""The first case of an op that has elements, and a gradient other than 0."""


def scaled(rule: Rule, index: int, factor: float) -> Rule:
    """The rule, but the cotangent of one operand is multiplied by a number."""

    def wrong(b: OpMaker, site: Site) -> Cotangents:
        found = list(rule(b, site))
        value = found[index]
        found[index] = None if value is None else b.nn("mul", value, b.scalar(factor, value))
        return found

    return wrong


@pytest.mark.parametrize("factor", [1.01, -1.0])
@pytest.mark.parametrize("name", sorted(CASES))
def test_every_wrong_cotangent_is_found(name: str, factor: float, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, arrays, attrs = prepared(CASES[name], rng)
    rule = GRADIENTS.rules()[name]
    right = check_rule(kind, arrays, attrs)
    assert right
    assert not any(finding.is_wrong for finding in right)
    for finding in right:
        monkeypatch.setitem(GRADIENTS.rules(), name, scaled(rule, finding.operand, factor))
        found = check_rule(kind, arrays, attrs)
        assert [other.operand for other in found if other.is_wrong] == [finding.operand]


def prepared(case: Case, rng: np.random.Generator) -> tuple[Any, list[np.ndarray | None], dict[str, Any]]:
    """An op, operands that are seldom at its kinks, and its attributes."""
    name, given, attrs, _ = case
    smooth = [sizes(value) if any(value is ties for ties in (KINKS, TIED)) else value for value in given]
    return ops()[name.removeprefix("nn.")], [drawn(value, rng) for value in smooth], attrs

"""The check of gradient rules: it passes what is right, and names the op whose rule is planted wrong."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.passes.conftest import parse
from ttc.dialects.core.errors import Error
from ttc.dialects.nn.gradients.base import GRADIENTS, Cotangents, GradientSite
from ttc.dialects.nn.making import OpMaker
from ttc.instruments.gradients import GradientCheck
from ttc.passes.base import Unit
from ttc.passes.manager import run_pass
from ttc.passes.nn.differentiate import Differentiate

NETWORK = """
    (%x: tensor<3x4xf32>)
    %w = ttc.param() {sym = "w", value = #ttc.weight<"w", tensor<4x5xf32>>} : () -> tensor<4x5xf32>
    %s = ttc.param() {sym = "s", value = #ttc.weight<"s", tensor<5xf32>>} : () -> tensor<5xf32>
    %1 = nn.matmul(%x, %w, _) {transpose_a = false, transpose_b = false} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
    %2 = nn.tanh(%1) : (tensor<3x5xf32>) -> tensor<3x5xf32>
    %3 = nn.mul(%2, %s) : (tensor<3x5xf32>, tensor<5xf32>) -> tensor<3x5xf32>
    %4 = nn.argmax(%3) {axis = 1, keepdims = false, select_last = false} : (tensor<3x5xf32>) -> tensor<3xi64>
    %5 = nn.softmax(%3) {axis = 1} : (tensor<3x5xf32>) -> tensor<3x5xf32>
    return %5, %4 : tensor<3x5xf32>, tensor<3xi64>
"""
OPS = ("nn.matmul", "nn.tanh", "nn.mul", "nn.softmax")


def unit() -> Unit:
    return parse(NETWORK)


def twice(rule: Callable[[OpMaker, GradientSite], Cotangents], index: int) -> Callable[[OpMaker, GradientSite], Cotangents]:
    """The rule, but for one operand it gives twice what it should."""

    def wrong(b: OpMaker, site: GradientSite) -> Cotangents:
        found = list(rule(b, site))
        value = found[index]
        found[index] = None if value is None else b.nn("add", value, value)
        return found

    return wrong


def test_right_rules_pass() -> None:
    check = GradientCheck()
    run_pass(Differentiate(entry="main"), unit(), [check])
    assert check.checked == len(OPS)


@pytest.mark.parametrize(("name", "index"), [(name, 0) for name in OPS] + [("nn.matmul", 1), ("nn.mul", 1)])
def test_a_wrong_rule_is_named(name: str, index: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(GRADIENTS.rules(), name, twice(GRADIENTS.rules()[name], index))
    with pytest.raises(Error) as caught:
        run_pass(Differentiate(entry="main"), unit(), [GradientCheck()])
    assert caught.value.code == "E0507"
    assert caught.value.message.startswith(f"the gradient rule of {name} is wrong: the cotangent of operand {index + 1} is off by 0.")
    assert caught.value.where == name.removeprefix("nn.")


def test_inputs_can_be_given(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that is wrong for large values alone is found by these."""
    right = GRADIENTS.rules()["nn.tanh"]

    def wrong(b: OpMaker, site: GradientSite) -> Cotangents:
        (value,) = right(b, site)
        far = b.nn("greater", b.nn("abs", site.operand(0)), b.scalar(40.0, site.operand(0)))
        return [None if value is None else b.nn("where", far, site.dy, value)]

    monkeypatch.setitem(GRADIENTS.rules(), "nn.tanh", wrong)
    np.savez(tmp_path / "x.npz", x=np.full((3, 4), 100, np.float32))
    assert run_pass(Differentiate(entry="main"), unit(), [GradientCheck()]).rewrites["differentiate"] == 1
    with pytest.raises(Error) as caught:
        run_pass(Differentiate(entry="main"), unit(), [GradientCheck(tmp_path / "x.npz")])
    assert caught.value.code == "E0507"


def test_other_passes_are_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    from ttc.passes.nn.canonicalize import Canonicalize

    check = GradientCheck()
    run_pass(Canonicalize(), unit(), [check])
    assert check.checked == 0

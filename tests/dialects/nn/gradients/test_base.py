"""Every nn op has a gradient rule, or a reason why it has none, in the file of its stem."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

import numpy as np
import pytest
from xdsl.ir import Block

from tests.ops.cases import one_op_module, spec
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.nn.activation import TanhOp
from ttc.dialects.nn.base import ops
from ttc.dialects.nn.gradients import base
from ttc.dialects.nn.gradients.base import Refused, refusals, rules
from ttc.dialects.nn.gradients.maker import GradientMaker
from ttc.dialects.nn.gradients.reverse import pull_back
from ttc.dialects.nn.reduce import ArgMaxOp

EVERY = [f"nn.{name}" for name in ops()]


def missing(found: Mapping[str, object], reasons: Mapping[str, str]) -> set[str]:
    """Ops with neither a rule nor a reason, and what is registered that is no op."""
    return set(EVERY) ^ (found.keys() | reasons.keys())


def test_every_op_has_a_rule_or_a_reason() -> None:
    assert missing(rules(), refusals()) == set()
    assert rules().keys() & refusals().keys() == set()
    assert len(rules()) >= 94


@pytest.mark.parametrize("name", EVERY)
def test_one_that_is_taken_out_is_missed(name: str) -> None:
    kept = {key: rule for key, rule in rules().items() if key != name}
    reasons = {key: reason for key, reason in refusals().items() if key != name}
    assert missing(kept, reasons) == {name}


@pytest.mark.parametrize("name", EVERY)
def test_it_stands_in_the_file_of_the_ops_stem(name: str) -> None:
    stem = ops()[name.removeprefix("nn.")].__module__.rpartition(".")[2]
    module = importlib.import_module(f"{base.package.__name__}.{stem}")
    text = open(module.__file__ or "").read()
    assert f'"{name}"' in text


def test_two_rules_of_an_op_are_refused() -> None:
    with pytest.raises(ValueError, match=r"nn\.tanh is defined twice"):
        base.gradient("nn.tanh")(rules()["nn.tanh"])
    with pytest.raises(ValueError, match=r"nn\.argmax is defined twice"):
        base.no_gradient("none", "nn.argmax")


def test_a_gradient_through_an_op_that_has_none_names_op_and_source() -> None:
    module = one_op_module(TanhOp, [spec(2, 3)], {})
    (function,) = entry_functions(module)
    x, (op, *_) = function.body.block.args[0], function.body.block.ops
    maker = GradientMaker(Block(), WeightStore())
    rule = rules().pop("nn.tanh")
    try:
        with pytest.raises(Refused) as caught:
            pull_back(maker, [op], {op.results[0]: x}, [x])
    finally:
        rules()["nn.tanh"] = rule
    assert (caught.value.code, caught.value.where) == ("E0506", "/node")
    assert "nn.tanh" in caught.value.message


def test_values_of_integers_have_no_cotangents() -> None:
    module = one_op_module(ArgMaxOp, [spec(2, 3)], {"axis": 1, "keepdims": False, "select_last": False})
    (function,) = entry_functions(module)
    x, (op, *_) = function.body.block.args[0], function.body.block.ops
    maker = GradientMaker(Block(), WeightStore())
    seed = maker.constant(np.zeros(2, np.int64))
    assert pull_back(maker, [op], {op.results[0]: seed}, [x]) == {}

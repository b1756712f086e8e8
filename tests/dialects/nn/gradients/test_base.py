"""Gradient rules, and the reasons why an op has none, stand in the file of the op's stem."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from xdsl.ir import Block

import ttc.dialects.nn.gradients as package
from tests.ops.cases import one_op_module, spec
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.ir.spec import Spec, tensor_type
from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.nn.activation import TanhOp
from ttc.dialects.nn.base import ops
from ttc.dialects.nn.gradients.base import GRADIENTS, NoGradient
from ttc.dialects.nn.gradients.maker import GradientMaker
from ttc.dialects.nn.gradients.reverse import pull_back
from ttc.dialects.nn.reduce import ArgMaxOp

EVERY = [f"nn.{name}" for name in ops()]


@pytest.mark.parametrize("name", EVERY)
def test_it_stands_in_the_file_of_the_ops_stem(name: str) -> None:
    stem = ops()[name.removeprefix("nn.")].__module__.rpartition(".")[2]
    module = importlib.import_module(f"{package.__name__}.{stem}")
    text = open(module.__file__ or "").read()
    assert f'"{name}"' in text


def test_a_gradient_through_an_op_that_has_none_names_op_and_source() -> None:
    module = one_op_module(TanhOp, [spec(2, 3)], {})
    (function,) = entry_functions(module)
    x, (op, *_) = function.body.block.args[0], function.body.block.ops
    maker = GradientMaker(Block(), WeightStore())
    rule = GRADIENTS.rules().pop("nn.tanh")
    GRADIENTS.refuse("it is a test", "nn.tanh")
    try:
        with pytest.raises(NoGradient, match="nn.tanh has no gradient: it is a test") as caught:
            pull_back(maker, [op], {op.results[0]: x}, [x])
    finally:
        del GRADIENTS.refusals()["nn.tanh"]
        GRADIENTS.rules()["nn.tanh"] = rule
    assert (caught.value.code, caught.value.where) == ("E0506", "/node")
    assert "nn.tanh" in caught.value.message


def test_values_of_integers_have_no_cotangents() -> None:
    module = one_op_module(ArgMaxOp, [spec(2, 3)], {"axis": 1, "keepdims": False, "select_last": False})
    (function,) = entry_functions(module)
    x, (op, *_) = function.body.block.args[0], function.body.block.ops
    maker = GradientMaker(Block(), WeightStore())
    seed = maker.constant(np.zeros(2, np.int64))
    assert pull_back(maker, [op], {op.results[0]: seed}, [x]) == {}


@pytest.mark.parametrize("source", [np.float32, np.float64])
def test_numbers_made_of_bits_are_no_constants(source: type[np.floating]) -> None:
    """What computes with the bits of numbers, as the next number after one does, is refused: its gradient is not 0."""
    block = Block(arg_types=[tensor_type(Spec((2,), np.dtype(source)))])
    maker, (x,) = GradientMaker(block, WeightStore()), block.args
    whole = np.dtype(f"int{8 * np.dtype(source).itemsize}")
    bits = maker.nn("bitcast", x, source=np.dtype(source), dtype=whole)
    moved = maker.nn("add", bits, maker.constant(np.array(1, whole)))
    beside = maker.nn("bitcast", moved, source=whole, dtype=np.dtype(source))
    y = maker.nn("mul", beside, x)
    with pytest.raises(NoGradient, match="nn.bitcast has no gradient"):
        pull_back(maker, list(block.ops), {y: x}, [x])


def test_truths_read_off_bits_are_constants() -> None:
    block = Block(arg_types=[tensor_type(Spec((2,), np.dtype(np.float32)))])
    maker, (x,) = GradientMaker(block, WeightStore()), block.args
    bits = maker.nn("bitcast", x, source=np.dtype(np.float32), dtype=np.dtype(np.int32))
    is_negative = maker.nn("less", bits, maker.constant(np.array(0, np.int32)))
    y = maker.nn("where", is_negative, maker.nn("neg", x), x)
    assert list(pull_back(maker, list(block.ops), {y: x}, [x])) == [x]

"""nn.stop_gradient is the operand itself, and a constant to gradients."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.ir import Block

from tests.ops.cases import check_op, one_op_module, spec
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.nn.gradients.maker import GradientMaker
from ttc.dialects.nn.gradients.reverse import pull_back
from ttc.dialects.nn.stop_gradient import StopGradientOp


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_it_changes_nothing(dtype: str, rng: np.random.Generator) -> None:
    x = rng.integers(0, 2, (3, 4)).astype(dtype)
    check_op(StopGradientOp, [x], {}, x, 0)


def test_no_gradient_comes_out_of_it() -> None:
    (function,) = entry_functions(one_op_module(StopGradientOp, [spec(2, 3)], {}))
    x, (op, *_) = function.body.block.args[0], function.body.block.ops
    maker = GradientMaker(Block(), WeightStore())
    assert pull_back(maker, [op], {op.results[0]: x}, [x]) == {}

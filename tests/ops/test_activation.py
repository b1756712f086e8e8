"""Activation functions: what each has of its own.  Formulas of all are in `test_elementwise.py`."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.ops.cases import check_error, check_op, max_abs, spec
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.nn import activation
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.kernels.erf import gelu


def test_activations_agree_with_torch() -> None:
    torch = pytest.importorskip("torch")
    x = np.linspace(-12, 12, 4001).astype(np.float32)
    functional = torch.nn.functional
    rows = [
        (activation.GeluOp, {"approximate": "tanh"}, functional.gelu(torch.tensor(x), approximate="tanh")),
        (activation.GeluTanhOp, {}, functional.gelu(torch.tensor(x), approximate="tanh")),
        (activation.SiluOp, {}, functional.silu(torch.tensor(x))),
        (activation.SoftplusOp, {}, functional.softplus(torch.tensor(x))),
        (activation.HardSwishOp, {}, functional.hardswish(torch.tensor(x))),
        (activation.EluOp, {"alpha": 0.7}, functional.elu(torch.tensor(x), alpha=0.7)),
        (activation.HardSigmoidOp, {"alpha": 1 / 6, "beta": 0.5}, functional.hardsigmoid(torch.tensor(x))),
    ]
    for op_class, attrs, expected in rows:
        check_op(op_class, [x], attrs, expected.numpy(), 2e-6)


def test_gelu_is_rounded_once() -> None:
    x = np.linspace(-6, 6, 40001).astype(np.float32)
    exact = np.array([0.5 * v * math.erfc(-v / math.sqrt(2)) for v in x.astype(np.float64)])
    assert max_abs(gelu(x), exact.astype(np.float32)) <= 2.4e-7 * 2
    assert max_abs(gelu(x[x < 1]), exact.astype(np.float32)[x < 1]) <= 6e-8


def test_clip_with_crossed_limits_gives_the_upper() -> None:
    x = np.linspace(-3, 3, 7, dtype=np.float32)
    check_op(activation.ClipOp, [x], {"min": 2.0, "max": 1.0}, np.ones_like(x))


def test_integers() -> None:
    x = np.array([-128, -3, 0, 5, 127], np.int8)
    check_op(activation.ReluOp, [x], {}, np.array([0, 0, 0, 5, 127], np.int8))
    check_op(activation.ClipOp, [x], {"min": -2.5, "max": 1e9}, np.array([-2, -2, 0, 5, 127], np.int8))
    check_op(activation.ClipOp, [x], {"min": float("-inf"), "max": 4.9}, np.array([-128, -3, 0, 4, 4], np.int8))
    check_op(activation.ClipOp, [x.astype(np.uint8)], {"min": -7}, x.astype(np.uint8))


@pytest.mark.parametrize(
    ("code", "op_class", "operand", "attrs"),
    [
        ("E0403", activation.ClipOp, spec(2, dtype="bool"), {}),
        ("E0402", activation.ClipOp, spec(2), {"min": float("nan")}),
        ("E0402", activation.GeluOp, spec(2), {"approximate": "sigmoid"}),
        ("E0403", activation.GeluOp, spec(2, dtype="int8"), {"approximate": "none"}),
    ],
)
def test_errors(code: str, op_class: type[NNOp], operand: Spec, attrs: dict) -> None:
    check_error(code, op_class, [operand], attrs)

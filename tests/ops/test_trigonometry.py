"""Hyperbolic functions and inverses against Python's math, inside their domains, at the borders and beyond."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from tests.ops.cases import check_batch, check_error, check_op, spec
from ttc.dialects.nn import trigonometry
from ttc.dialects.nn.base import NNOp

ANY = np.linspace(-4, 4, 35).reshape(5, 7)
UNIT = np.linspace(-0.99, 0.99, 33).reshape(3, 11)
CASES = [
    (trigonometry.SinhOp, math.sinh, ANY),
    (trigonometry.CoshOp, math.cosh, ANY),
    (trigonometry.AsinOp, math.asin, UNIT),
    (trigonometry.AcosOp, math.acos, UNIT),
    (trigonometry.AtanOp, math.atan, ANY),
    (trigonometry.AsinhOp, math.asinh, ANY),
    (trigonometry.AcoshOp, math.acosh, np.abs(ANY) + 1),
    (trigonometry.AtanhOp, math.atanh, UNIT),
]


@pytest.mark.parametrize(("op_class", "function", "x"), CASES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_formula(op_class: type[NNOp], function: Callable[[float], float], x: np.ndarray, dtype: type) -> None:
    x = x.astype(dtype)
    expected = np.array([function(float(v)) for v in x.ravel()]).reshape(x.shape).astype(dtype)
    check_op(op_class, [x], {}, expected, 8 * float(np.finfo(dtype).eps) * float(np.abs(expected).max()))


@pytest.mark.parametrize(
    ("op_class", "x", "y"),
    [
        (trigonometry.AsinOp, 1.5, math.nan),
        (trigonometry.AcosOp, -1.5, math.nan),
        (trigonometry.AcoshOp, 0.5, math.nan),
        (trigonometry.AtanhOp, 1.0, math.inf),
        (trigonometry.AtanhOp, -1.0, -math.inf),
        (trigonometry.AtanhOp, 2.0, math.nan),
        (trigonometry.SinhOp, -math.inf, -math.inf),
        (trigonometry.CoshOp, -math.inf, math.inf),
    ],
)
def test_borders_of_the_domain(op_class: type[NNOp], x: float, y: float) -> None:
    check_op(op_class, [np.array([x], np.float32)], {}, np.array([y], np.float32))


def test_integers_are_refused_and_samples_are_independent() -> None:
    check_error("E0403", trigonometry.AtanOp, [spec(2, dtype="int32")], {})
    check_batch(trigonometry.AtanOp, [ANY.astype(np.float32)], [True], {}, 5)

"""nn.softmax and nn.log_softmax against torch."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ops.cases import check_batch, check_error, check_no_batch, check_op, spec
from ttc.dialects.nn.softmax import LogSoftmaxOp, SoftmaxOp

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

OPS = {SoftmaxOp: torch.softmax, LogSoftmaxOp: torch.log_softmax}


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize(("dtype", "tol"), [("float32", 2e-6), ("float64", 1e-14)])
@pytest.mark.parametrize(("shape", "axis"), [((3, 7), -1), ((2, 5, 3), 1), ((4, 2), 0), ((6,), 0)])
def test_along_an_axis(op, shape: tuple[int, ...], axis: int, dtype: str, tol: float) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    check_op(op, [x], {"axis": axis}, OPS[op](torch.tensor(x), axis).numpy(), tol)


@pytest.mark.parametrize("op", OPS)
def test_large_and_infinite_inputs(op) -> None:
    inf = np.inf
    x = np.array([[1000, 1001, -1000], [-inf, 0, 1], [-inf, -inf, -inf], [0, inf, 1], [0, np.nan, 1]], np.float32)
    check_op(op, [x], {"axis": 1}, OPS[op](torch.tensor(x), 1).numpy(), 1e-6)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize(("shape", "axis"), [((3, 0), 1), ((0, 3), 0), ((0, 3), 1), ((2, 0, 3), -1)])
def test_of_nothing(op, shape: tuple[int, ...], axis: int) -> None:
    x = np.zeros(shape, np.float32)
    check_op(op, [x], {"axis": axis}, x)


@pytest.mark.parametrize("op", OPS)
def test_errors(op) -> None:
    check_error("E0412", op, [spec(2, 3)], {"axis": 2})
    check_error("E0403", op, [spec(2, 3, dtype="int32")], {"axis": 1})


@pytest.mark.parametrize("op", OPS)
def test_batch(op) -> None:
    x = np.random.default_rng(0).standard_normal((6, 4)).astype(np.float32)
    check_batch(op, [x], [True], {"axis": -1}, 3)
    check_no_batch(op, [spec(6, 4)], [True], {"axis": -2}, 3)

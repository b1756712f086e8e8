"""Ops that change shape, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ops.cases import check_batch, check_error, check_no_batch, check_op, spec
from ttc.dialects.core.batch_axis import BatchAxis
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.kernels.shape import reshape
from ttc.dialects.nn.shape import ExpandOp, RepeatOp, ReshapeOp, ShapeOfOp, TransposeOp

X = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
DTYPES = [np.float32, np.float64, np.float16, np.int64, np.uint8, np.bool_]


@pytest.mark.parametrize("shape", [(60,), (5, 12), (3, 1, 20, 1), (4, 3, 5)])
def test_reshape(shape: tuple[int, ...]) -> None:
    check_op(ReshapeOp, [X], {"shape": shape}, X.reshape(shape))


def test_reshape_of_scalars_and_of_nothing() -> None:
    check_op(ReshapeOp, [np.ones((1, 1), np.float32)], {"shape": ()}, np.array(1, np.float32))
    check_op(ReshapeOp, [np.array(1, np.int64)], {"shape": (1, 1)}, np.array([[1]]))
    check_op(ReshapeOp, [np.ones((0, 3), np.float32)], {"shape": (7, 0)}, np.ones((7, 0), np.float32))


def test_reshape_keeps_row_major_order_of_a_transposed_operand() -> None:
    assert reshape(X.T, shape=(60,)).tolist() == X.T.ravel().tolist()


def test_reshape_of_a_dynamic_tensor() -> None:
    assert ReshapeOp.infer(spec(-1, 4), shape=(-1, 2, 2)) == spec(-1, 2, 2)
    assert reshape(X, shape=(-1, 20)).shape == (3, 20)
    with pytest.raises(Error) as caught:
        reshape(X, shape=(-1, 7))
    assert caught.value.code == "E0802"


@pytest.mark.parametrize("perm", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (0, 2, 1)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_transpose(perm: tuple[int, ...], dtype: type) -> None:
    check_op(TransposeOp, [X.astype(dtype)], {"perm": perm}, X.astype(dtype).transpose(perm))


def test_transpose_of_a_scalar() -> None:
    check_op(TransposeOp, [np.array(2.0, np.float32)], {"perm": ()}, np.array(2.0, np.float32))


@pytest.mark.parametrize(
    ("x", "shape", "expected"),
    [((3, 1), (3, 4), (3, 4)), ((3, 1), (2, 1, 4), (2, 3, 4)), ((2, 3, 4), (3, 1), (2, 3, 4)), ((), (2, 2), (2, 2)), ((1,), (0,), (0,))],
)
def test_expand(x: tuple[int, ...], shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    values = np.arange(np.prod(x, dtype=int), dtype=np.int32).reshape(x)
    check_op(ExpandOp, [values], {"shape": shape}, np.broadcast_to(values, expected))


@pytest.mark.parametrize("repeats", [(1, 1, 1), (2, 1, 3), (0, 1, 1)])
def test_repeat(repeats: tuple[int, ...]) -> None:
    check_op(RepeatOp, [X], {"repeats": repeats}, np.tile(X, repeats))


def test_shape() -> None:
    check_op(ShapeOfOp, [X], {}, np.array([3, 4, 5]))
    check_op(ShapeOfOp, [np.array(1.0, np.float32)], {}, np.zeros(0, np.int64))


@pytest.mark.parametrize(
    ("code", "op_class", "operand", "attrs"),
    [
        ("E0401", ReshapeOp, spec(2, 3), {"shape": (7,)}),
        ("E0401", ReshapeOp, spec(-1, 3), {"shape": (2, 3)}),
        ("E0402", ReshapeOp, spec(2, 3), {"shape": (-1, 3)}),
        ("E0402", ReshapeOp, spec(-1, 3), {"shape": (-1, -1)}),
        ("E0402", ReshapeOp, spec(2, 3), {"shape": (-2, -3)}),
        ("E0402", TransposeOp, spec(2, 3), {"perm": (0,)}),
        ("E0402", TransposeOp, spec(2, 3), {"perm": (0, 0)}),
        ("E0402", TransposeOp, spec(2, 3), {"perm": (-1, 0)}),
        ("E0401", ExpandOp, spec(2, 3), {"shape": (2, 2)}),
        ("E0402", ExpandOp, spec(2, 3), {"shape": (-1, 3)}),
        ("E0402", RepeatOp, spec(2, 3), {"repeats": (1,)}),
        ("E0402", RepeatOp, spec(2, 3), {"repeats": (1, -1)}),
    ],
)
def test_errors(code: str, op_class: type[NNOp], operand: Spec, attrs: dict) -> None:
    check_error(code, op_class, [operand], attrs)


def test_dynamic_dimensions() -> None:
    assert TransposeOp.infer(spec(-1, 4), perm=(1, 0)) == spec(4, -1)
    assert ExpandOp.infer(spec(-1, 1), shape=(1, 4)) == spec(-1, 4)
    assert RepeatOp.infer(spec(-1, 2), repeats=(2, 2)) == spec(-1, 4)
    assert ShapeOfOp.infer(spec(-1, 4)) == spec(2, dtype="int64")


@pytest.mark.parametrize("shape", [(6, 20), (120,), (3, 40), (12, 2, 5), (24, 5), (1, 3, 40)])
def test_batch_of_reshape(shape: tuple[int, ...]) -> None:
    x = np.arange(120, dtype=np.float32).reshape(6, 4, 5)
    check_batch(ReshapeOp, [x], [True], {"shape": shape}, 3, gives=BatchAxis(shape.index(1) + 1 if 1 in shape else 0))


def test_batch_that_reshape_folds() -> None:
    """Heads before or behind the samples, one dimension or two: elements keep their order."""
    x = np.arange(120, dtype=np.float32).reshape(4, 6, 5)
    check_batch(ReshapeOp, [x], [BatchAxis(1)], {"shape": (24, 5)}, 3, gives=BatchAxis(0, 4))
    check_batch(ReshapeOp, [x], [BatchAxis(1)], {"shape": (2, 12, 5)}, 6, gives=BatchAxis(1, 2))
    check_batch(ReshapeOp, [x], [BatchAxis(0, 2)], {"shape": (2, 2, 30)}, 2, gives=BatchAxis(1))
    check_batch(ReshapeOp, [x], [BatchAxis(2)], {"shape": (120,)}, 5, gives=BatchAxis(0, 24))
    check_no_batch(ReshapeOp, [spec(4, 6, 5)], [BatchAxis(1)], {"shape": (8, 3, 5)}, 6)
    check_no_batch(ReshapeOp, [spec(4, 6, 5)], [BatchAxis(1, 2)], {"shape": (4, 3, 10)}, 3)


def test_batch() -> None:
    check_batch(TransposeOp, [X], [True], {"perm": (0, 2, 1)}, 3)
    check_batch(ExpandOp, [X[:, :1]], [True], {"shape": (3, 7, 5)}, 3)
    check_batch(ExpandOp, [X[:, :1]], [True], {"shape": (1, 7, 5)}, 3)
    check_batch(ExpandOp, [X[:, :1]], [True], {"shape": (7, 5)}, 3)
    check_batch(ExpandOp, [X], [True], {"shape": (2, *X.shape)}, 3, gives=BatchAxis(1))
    check_batch(TransposeOp, [X], [True], {"perm": (2, 0, 1)}, 3, gives=BatchAxis(1))
    check_batch(RepeatOp, [X], [True], {"repeats": (1, 2, 3)}, 3)
    check_batch(RepeatOp, [X], [True], {"repeats": (2, 1, 1)}, 3, gives=BatchAxis(0, 2))
    check_no_batch(ReshapeOp, [spec(6, 4)], [True], {"shape": (4, 6)}, 3)
    check_no_batch(ExpandOp, [spec(1, 4)], [True], {"shape": (6, 4)}, 2)
    check_no_batch(ShapeOfOp, [spec(6, 4)], [True], {}, 6)

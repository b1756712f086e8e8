"""Ops on the bits of integers against Python's."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ops.cases import check_batch, check_error, check_op, spec
from ttc.dialects.nn import bits
from ttc.dialects.nn.base import NNOp

A = np.array([[0, 1, -1, 127, -128, 85, 12]], np.int8)
B = np.array([[3], [-86], [64]], np.int8)


@pytest.mark.parametrize(
    ("op_class", "python"),
    [
        (bits.BitwiseAndOp, lambda a, b: a & b),
        (bits.BitwiseOrOp, lambda a, b: a | b),
        (bits.BitwiseXorOp, lambda a, b: a ^ b),
    ],
)
def test_bits(op_class: type[NNOp], python: object) -> None:
    expected = [[python(int(a), int(b)) for a in A[0]] for b in B[:, 0]]  # pyright: ignore[reportCallIssue]
    check_op(op_class, [A, B], {}, np.array(expected, np.int8))
    check_op(op_class, [A.astype(np.int64), B.astype(np.int64)], {}, np.array(expected, np.int64))


def test_shifts_keep_the_sign_and_drop_what_leaves() -> None:
    by = np.array([0, 1, 1, 1, 2, 7, 8], np.int8)
    check_op(bits.ShiftLeftOp, [A, by], {}, np.array([[0, 2, -2, -2, 0, -128, 0]], np.int8))
    check_op(bits.ShiftRightOp, [A, by], {}, np.array([[0, 0, -1, 63, -32, 0, 0]], np.int8))


def test_shifts_outside_the_width_leave_the_sign_alone() -> None:
    x = np.array([5, -5, 5, -5], np.int32)
    by = np.array([32, 32, -1, -1], np.int32)
    check_op(bits.ShiftLeftOp, [x, by], {}, np.zeros(4, np.int32))
    check_op(bits.ShiftRightOp, [x, by], {}, np.array([0, -1, 0, -1], np.int32))
    wide = np.array([1 << 63, 7], np.uint64)
    check_op(bits.ShiftRightOp, [wide, np.array([63, 64], np.uint64)], {}, np.array([1, 0], np.uint64))


def test_errors() -> None:
    check_error("E0403", bits.BitwiseAndOp, [spec(2), spec(2)], {})
    check_error("E0403", bits.ShiftLeftOp, [spec(2, dtype="int8"), spec(2, dtype="int16")], {})
    check_error("E0401", bits.BitwiseOrOp, [spec(2, dtype="int8"), spec(3, dtype="int8")], {})


def test_batch() -> None:
    check_batch(bits.BitwiseXorOp, [np.tile(B, (1, 2)), A[:, :2]], [True, False], {}, 3)


def test_bitcast() -> None:
    x = np.array([[1.0, -2.5], [0.0, 1e-3]], np.float32)
    check_op(bits.BitcastOp, [x], {"source": np.dtype(np.float32), "dtype": np.dtype(np.int32)}, x.view(np.int32))
    half = np.array([1.0, -2.0, 0.5], np.float16)
    check_op(bits.BitcastOp, [half], {"source": half.dtype, "dtype": np.dtype(np.uint16)}, half.view(np.uint16))
    codes = np.array([0x3C00, 0x8001], np.uint16)
    check_op(bits.BitcastOp, [codes], {"source": codes.dtype, "dtype": half.dtype}, codes.view(np.float16))
    for source, dtype in (("float32", "int64"), ("int32", "float32")):
        check_error("E0402", bits.BitcastOp, [spec(2)], {"source": np.dtype(source), "dtype": np.dtype(dtype)})

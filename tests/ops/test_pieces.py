"""Ops that cut and join, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ops.cases import check_batch, check_error, check_no_batch, check_op, spec
from ttc.dialects.core.batch_axis import BatchAxis
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.kernels.pieces import pad, slice_
from ttc.dialects.nn.pieces import ConcatOp, PadOp, SliceOp, SplitOp

X = np.arange(60, dtype=np.float32).reshape(3, 4, 5)


def part(starts: tuple[int, ...], sizes: tuple[int, ...], steps: tuple[int, ...]) -> dict:
    return {"starts": starts, "sizes": sizes, "steps": steps}


@pytest.mark.parametrize(
    ("attrs", "expected"),
    [
        (part((0, 0, 0), (3, 4, 5), (1, 1, 1)), X),
        (part((1, 0, 2), (2, 4, 2), (1, 1, 2)), X[1:, :, 2::2]),
        (part((2, 3, 4), (3, 4, 5), (-1, -1, -1)), X[::-1, ::-1, ::-1]),
        (part((2, 3, 4), (2, 1, 2), (-2, -3, -2)), X[::-2, 3:0:-3, 4:1:-2]),
        (part((0, 3, 0), (3, 0, 5), (1, 1, 1)), X[:, 3:3]),
        (part((0, 4, 0), (3, 0, 5), (1, -1, 1)), X[:, :0]),
        (part((2, 0, 4), (1, 1, 1), (100, -100, 7)), X[2:, :1, 4:]),
    ],
)
def test_slice(attrs: dict, expected: np.ndarray) -> None:
    check_op(SliceOp, [X], attrs, expected)


def test_slice_of_a_dynamic_tensor() -> None:
    attrs = part((0, 1), (-1, 2), (1, 1))
    assert SliceOp.infer(spec(-1, 4), **attrs) == spec(-1, 2)
    assert slice_(X[0], **attrs).tolist() == X[0, :, 1:3].tolist()


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_])
def test_concat(axis: int, dtype: type) -> None:
    xs = [X.astype(dtype), X.astype(dtype)[::-1].copy(), np.take(X, [0], axis).astype(dtype), np.take(X, [], axis).astype(dtype)]
    check_op(ConcatOp, xs, {"axis": axis}, np.concatenate(xs, axis))


def test_concat_of_one() -> None:
    check_op(ConcatOp, [X], {"axis": 1}, X)


@pytest.mark.parametrize(("axis", "sizes"), [(0, (1, 2)), (1, (4,)), (2, (2, 0, 3)), (-1, (1, 1, 1, 1, 1)), (-2, (0, 4))])
def test_split(axis: int, sizes: tuple[int, ...]) -> None:
    check_op(SplitOp, [X], {"axis": axis, "sizes": sizes}, np.split(X, np.cumsum(sizes[:-1], dtype=int), axis))


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
@pytest.mark.parametrize(("before", "after"), [((0, 0, 0), (0, 0, 0)), ((1, 0, 2), (2, 3, 0)), ((2, 3, 4), (2, 3, 4))])
def test_pad(mode: str, before: tuple[int, ...], after: tuple[int, ...]) -> None:
    attrs = {"before": before, "after": after, "value": -1.5, "mode": mode}
    margins = list(zip(before, after, strict=True))
    extra = {"constant_values": -1.5} if mode == "constant" else {}
    check_op(PadOp, [X], attrs, np.pad(X, margins, mode, **extra))  # pyright: ignore[reportCallIssue, reportArgumentType]


def test_pad_of_other_dtypes_and_of_nothing() -> None:
    attrs = {"before": (1,), "after": (0,), "value": 3.0, "mode": "constant"}
    check_op(PadOp, [np.array([1, 2], np.uint8)], attrs, np.array([3, 1, 2], np.uint8))
    check_op(PadOp, [np.array([False])], attrs, np.array([True, False]))
    check_op(PadOp, [np.zeros(0, np.float32)], {**attrs, "value": float("-inf")}, np.array([-np.inf], np.float32))
    with pytest.raises(Error) as caught:
        pad(np.zeros(0, np.float32), before=(1,), after=(0,), value=0.0, mode="edge")
    assert caught.value.code == "E0802"


def margin(width: int, mode: str, value: float = 0.0) -> dict:
    return {"before": (0, width), "after": (0, 0), "value": value, "mode": mode}


@pytest.mark.parametrize(
    ("code", "op_class", "specs", "attrs"),
    [
        ("E0402", SliceOp, [spec(4)], part((0, 0), (4,), (1,))),
        ("E0402", SliceOp, [spec(4)], part((1,), (4,), (1,))),
        ("E0402", SliceOp, [spec(4)], part((-1,), (1,), (1,))),
        ("E0402", SliceOp, [spec(4)], part((3,), (3,), (-2,))),
        ("E0402", SliceOp, [spec(4)], part((0,), (4,), (0,))),
        ("E0402", SliceOp, [spec(4)], part((0,), (-1,), (1,))),
        ("E0402", SliceOp, [spec(-1)], part((0,), (2,), (1,))),
        ("E0401", ConcatOp, [], {"axis": 0}),
        ("E0401", ConcatOp, [spec(2, 3), spec(2, 4)], {"axis": 0}),
        ("E0401", ConcatOp, [spec(2, 3), spec(2)], {"axis": 0}),
        ("E0403", ConcatOp, [spec(2), spec(2, dtype="int8")], {"axis": 0}),
        ("E0412", ConcatOp, [spec(2), spec(2)], {"axis": 1}),
        ("E0412", ConcatOp, [spec()], {"axis": 0}),
        ("E0412", SplitOp, [spec(4)], {"axis": 1, "sizes": (4,)}),
        ("E0401", SplitOp, [spec(-1)], {"axis": 0, "sizes": (4,)}),
        ("E0402", SplitOp, [spec(4)], {"axis": 0, "sizes": (1, 2)}),
        ("E0402", SplitOp, [spec(4)], {"axis": 0, "sizes": (5, -1)}),
        ("E0402", SplitOp, [spec(0)], {"axis": 0, "sizes": ()}),
        ("E0402", PadOp, [spec(4)], margin(1, "constant")),
        ("E0402", PadOp, [spec(4, 4)], margin(-1, "constant")),
        ("E0402", PadOp, [spec(4, 4)], margin(4, "reflect")),
        ("E0402", PadOp, [spec(4, 0)], margin(1, "edge")),
        ("E0402", PadOp, [spec(4, 4)], margin(1, "mirror")),
        ("E0402", PadOp, [spec(4, 4, dtype="int8")], margin(1, "constant", 128.0)),
        ("E0402", PadOp, [spec(4, 4, dtype="int64")], margin(1, "constant", float("inf"))),
    ],
)
def test_errors(code: str, op_class: type[NNOp], specs: list[Spec], attrs: dict) -> None:
    check_error(code, op_class, specs, attrs)


def test_dynamic_dimensions() -> None:
    assert ConcatOp.infer(spec(-1, 4), spec(3, 4), axis=1) == spec(3, 8)
    assert ConcatOp.infer(spec(-1, 4), spec(3, 4), axis=0) == spec(-1, 4)
    assert SplitOp.infer(spec(-1, 4), axis=1, sizes=(1, 3)) == (spec(-1, 1), spec(-1, 3))
    assert PadOp.infer(spec(-1, 4), **margin(2, "edge")) == spec(-1, 6)


def test_batch_of_runs() -> None:
    """Along the dimension of the batch, whole runs of samples are taken and joined: steps of sequences, folded before samples."""
    x = np.arange(72, dtype=np.float32).reshape(12, 6)
    four = BatchAxis(0, 4)
    check_batch(SliceOp, [x], [four], part((3, 0), (6, 6), (1, 1)), 3, gives=BatchAxis(0, 2))
    check_batch(SplitOp, [x], [four], {"axis": 0, "sizes": (6, 6)}, 3, gives=BatchAxis(0, 2))
    check_batch(ConcatOp, [x[:3], x], [True, four], {"axis": 0}, 3, gives=BatchAxis(0, 5))
    check_no_batch(SliceOp, [spec(12, 6)], [four], part((1, 0), (6, 6), (1, 1)), 3)
    check_no_batch(SplitOp, [spec(12, 6)], [four], {"axis": 0, "sizes": (4, 8)}, 3)
    check_no_batch(ConcatOp, [spec(12, 6), spec(12, 6)], [four, BatchAxis(0, 2)], {"axis": 0}, 3)


def test_batch() -> None:
    x = np.arange(60, dtype=np.float32).reshape(6, 10)
    check_batch(SliceOp, [x], [True], part((0, 9), (6, 5), (1, -2)), 3)
    check_batch(ConcatOp, [x, x[:, :3]], [True, True], {"axis": -1}, 3)
    check_batch(SplitOp, [x], [True], {"axis": 1, "sizes": (4, 6)}, 3)
    check_batch(PadOp, [x], [True], margin(3, "reflect"), 3)
    check_no_batch(SliceOp, [spec(6, 4)], [True], part((0, 0), (3, 4), (1, 1)), 3)
    check_no_batch(SliceOp, [spec(6, 4)], [True], part((5, 0), (6, 4), (-1, 1)), 3)
    check_no_batch(ConcatOp, [spec(6, 4), spec(6, 4)], [True, False], {"axis": 1}, 6)
    check_no_batch(ConcatOp, [spec(6, 4), spec(5, 4)], [True, BatchAxis(0)], {"axis": 0}, 6)
    check_no_batch(SplitOp, [spec(6, 4)], [True], {"axis": -2, "sizes": (3, 3)}, 3)
    check_no_batch(PadOp, [spec(6, 4)], [True], {"before": (1, 0), "after": (0, 0), "value": 0.0, "mode": "constant"}, 6)

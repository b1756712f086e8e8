"""Slices, margins, gathers and scatters against TensorFlow's interpreter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.ttc.importers.tflite.cases import FLOAT, INT32, INT64, Result, check_op, const, imported, ints, normal, op_model, quantized
from ttc.dialects.core.errors import Error

X = normal(4, 5, 6)
CODES = Result("INT8", (0.05,), (3,), (2, 5, 3))


def test_slice(tmp_path: Path) -> None:
    check_op(tmp_path, "SLICE", X, const(ints(1, 0, 2)), const(ints(2, -1, 3)), results=(Result(shape=(2, 5, 3)),))


@pytest.mark.parametrize(
    ("begin", "end", "strides", "masks"),
    [
        ((1, 0, 2), (3, 5, 6), (1, 2, 3), {}),
        ((-1, 4, 0), (-4, 0, 6), (-1, -2, 1), {}),
        ((0, 1), (2, 3), (1, 1), {"begin_mask": 1, "end_mask": 2}),
        ((1, 2), (2, 3), (1, 1), {"shrink_axis_mask": 1}),
        ((1, 0, 2), (2, 0, 4), (1, 1, 1), {"ellipsis_mask": 2, "shrink_axis_mask": 1}),
        ((0, 0, 1), (0, 0, 3), (1, 1, 1), {"new_axis_mask": 1, "ellipsis_mask": 2}),
        ((1, 1, 1), (2, 3, 2), (1, 1, 1), {"offset": True}),
    ],
)
def test_strided_slice(begin: Any, end: Any, strides: Any, masks: dict[str, Any], tmp_path: Path) -> None:
    check_op(tmp_path, "STRIDED_SLICE", X, const(ints(*begin)), const(ints(*end)), const(ints(*strides)), **masks)


def test_margins(tmp_path: Path) -> None:
    pads = const(ints((1, 0), (0, 2), (3, 1)))
    check_op(tmp_path, "PAD", X, pads)
    check_op(tmp_path, "PADV2", X, pads, const(np.array(7.5, np.float32)))


@pytest.mark.parametrize("mode", ["REFLECT", "SYMMETRIC"])
def test_mirrored_margins(mode: str, tmp_path: Path) -> None:
    check_op(tmp_path, "MIRROR_PAD", X, const(ints((1, 0), (0, 2), (3, 1))), mode=mode)


@pytest.mark.parametrize(
    ("axis", "batch", "indices"),
    [(1, 0, ints(4, 0, 1)), (2, 0, ints((1, 2), (3, 0))), (1, 1, ints(*[(1, 2)] * 4)), (2, 1, ints(*[(5, 2)] * 4))],
)
def test_gather(axis: int, batch: int, indices: NDArray, tmp_path: Path) -> None:
    check_op(tmp_path, "GATHER", X, indices, axis=axis, batch_dims=batch)


def test_gather_nd(tmp_path: Path) -> None:
    check_op(tmp_path, "GATHER_ND", X, ints((1, 2), (3, 0)))


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_one_hot(axis: int, tmp_path: Path) -> None:
    on, off = (const(np.array(v, np.float32)) for v in (2.0, -1.0))
    check_op(tmp_path, "ONE_HOT", ints((0, 2, -1), (3, 1, 9)), const(np.array(4, np.int32)), on, off, axis=axis)


def test_topk(tmp_path: Path) -> None:
    check_op(tmp_path, "TOPK_V2", X, const(np.array(3, np.int32)), results=(FLOAT, INT32))


def test_reverse_sequence(tmp_path: Path) -> None:
    check_op(tmp_path, "REVERSE_SEQUENCE", X, ints(5, 1, 3, 2), seq_dim=1, batch_dim=0)


def test_results_of_any_size(tmp_path: Path) -> None:
    check_op(tmp_path, "WHERE", np.array([[True, False], [True, True]]), results=(INT64,))
    check_op(tmp_path, "UNIQUE", ints(3, 1, 3, 2, 1), results=(INT32, INT32))


def test_dynamic_update_slice(tmp_path: Path) -> None:
    check_op(tmp_path, "DYNAMIC_UPDATE_SLICE", X, normal(2, 1, 3), ints(1, 9, -4))


def test_scatters(tmp_path: Path) -> None:
    check_op(tmp_path, "SCATTER_ND", ints((1,), (3,), (1,)), normal(3, 2), const(ints(5, 2)))
    check_op(tmp_path, "SPARSE_TO_DENSE", const(ints(1, 3)), const(ints(5)), normal(2), const(np.array(7, np.float32)))


def test_segments(tmp_path: Path) -> None:
    check_op(tmp_path, "SEGMENT_SUM", X, const(ints(0, 0, 1, 2)))


@pytest.mark.parametrize("op", ["UNSORTED_SEGMENT_SUM", "UNSORTED_SEGMENT_PROD", "UNSORTED_SEGMENT_MAX", "UNSORTED_SEGMENT_MIN"])
def test_unsorted_segments(op: str, tmp_path: Path) -> None:
    check_op(tmp_path, op, X, const(ints(2, 0, 2, 0)), const(np.array(4, np.int32)))


@pytest.mark.parametrize(
    ("op", "operands", "options"),
    [
        ("PAD", (const(ints((1, 0), (0, 2), (3, 1))),), {}),
        ("SLICE", (const(ints(1, 0, 2)), const(ints(2, -1, 3))), {}),
        ("GATHER", (ints(1, 0),), {"axis": 1}),
        ("MIRROR_PAD", (const(ints((1, 0), (0, 2), (3, 1))),), {"mode": "REFLECT"}),
    ],
)
def test_integers_are_moved_as_they_are(op: str, operands: tuple, options: dict, tmp_path: Path) -> None:
    check_op(tmp_path, op, quantized(4, 5, 6), *operands, results=(CODES,), steps=0, **options)


@pytest.mark.parametrize(
    ("op", "operands", "options", "code"),
    [
        ("SLICE", (const(ints(1, 0, 2)), const(ints(9, -1, 3))), {}, "E0402"),
        ("STRIDED_SLICE", (const(ints(0)), const(ints(2)), const(ints(0))), {}, "E0402"),
        ("STRIDED_SLICE", (const(ints(7)), const(ints(8)), const(ints(1))), {"shrink_axis_mask": 1}, "E0402"),
        ("PAD", (const(ints((1, -1), (0, 0), (0, 0))),), {}, "E0402"),
        ("GATHER", (ints(0),), {"axis": 3}, "E0412"),
        ("TRANSPOSE", (const(ints(0, 0, 1)),), {}, "E0402"),
        ("RESHAPE", (const(ints(7, -1)),), {}, "E0401"),
        ("SPLIT_V", (const(ints(2, 2)), const(ints(0))), {"num_splits": 2}, "E0401"),
        ("TOPK_V2", (const(np.array(9, np.int32)),), {}, "E0402"),
    ],
)
def test_parts_that_cannot_be(op: str, operands: tuple, options: dict, code: str, tmp_path: Path) -> None:
    data, feeds = op_model(op, (X, *operands), (FLOAT, INT32) if op == "TOPK_V2" else (FLOAT,), options)
    with pytest.raises(Error) as caught:
        imported(data, feeds, tmp_path)
    assert caught.value.code == code


@pytest.mark.parametrize("factors", [(1, 3, 2), (2, 1, 1), (1, 1, 1)])
def test_dilate(factors: tuple[int, ...], tmp_path: Path) -> None:
    check_op(tmp_path, "DILATE", normal(2, 3, 4), const(ints(*factors)), const(np.array(-1.5, np.float32)))


@pytest.mark.parametrize("factors", [(1, 0, 2), (2, 1), (1 << 30, 1, 1)])
def test_dilations_that_do_not_fit(factors: tuple[int, ...], tmp_path: Path) -> None:
    data, feeds = op_model("DILATE", [normal(2, 3, 4), const(ints(*factors)), const(np.array(0, np.float32))], [FLOAT], {})
    with pytest.raises(Error) as caught:
        imported(data, feeds, tmp_path)
    assert caught.value.code == "E0402"

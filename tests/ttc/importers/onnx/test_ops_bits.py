"""Ops on bits against onnx's reference evaluator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.ttc.importers.onnx.cases import check, check_node, imported, node_model
from ttc.dialects.core.errors import Error

A, B = np.array([[1, 2, 250], [7, 128, 255]], np.uint8), np.array([3, 1, 4], np.uint8)


@pytest.mark.parametrize("op", ["BitwiseAnd", "BitwiseOr", "BitwiseXor"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.int64])
def test_binary(op: str, dtype: type, tmp_path: Path) -> None:
    check_node(tmp_path, op, A.astype(dtype), B.astype(dtype))


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint64])
def test_not(dtype: type, tmp_path: Path) -> None:
    model, feeds = node_model("BitwiseNot", A.astype(dtype))
    check(model, feeds, tmp_path, wanted=[~A.astype(dtype)])


@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_shift(direction: str, tmp_path: Path) -> None:
    check_node(tmp_path, "BitShift", A, B, direction=direction)


def test_shift_in_no_direction(tmp_path: Path) -> None:
    model, feeds = node_model("BitShift", A, B, direction="UP")
    with pytest.raises(Error) as caught:
        imported(model, feeds, tmp_path)
    assert caught.value.code == "E0402"

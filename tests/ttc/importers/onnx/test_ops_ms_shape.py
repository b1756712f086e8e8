"""Moves and parts of tensors of onnxruntime's domain, against onnxruntime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.ttc.importers.onnx.ort_cases import Case, case, check_case, f, i32, i64, named, positive, real, whole

CASES = (
    case("Trilu", f(3, 4)),
    case("GatherND", f(3, 4), np.array([[0], [0]], np.int64)),
    case("GridSample", f(1, 2, 4, 4), positive(1, 3, 3, 2, factor=0.02)),
    case("Pad", f(2, 3), i64(0, 1, 0, 2), constant=[1]),
    case("Range", whole(1), whole(7), whole(2), constant=[0, 1, 2]),
    case("Unique", real([2.0, 1.0, 1.0, 3.0, 4.0, 3.0]), outputs=[1, 1, 1]),
    case("ExpandDims", f(2, 3), whole(-1), constant=[1]),
    case("UnfoldTensor", f(2, 10, 3), dim=1, size=4, step=2),
    case("SampleOp", f(2)),
    case("CropAndResize", f(2, 3, 8, 8), real([[0.0, 0.0, 0.5, 0.5], [0.1, 0.2, 0.9, 0.8]]), i32(0, 1), i32(3, 4), constant=[3]),
    case("CropAndResize", f(2, 3, 8, 8), real([[0.0, 0.0, 0.5, 0.5], [0.1, 0.2, 0.9, 0.8]]), i32(0, 1), i32(1, 4), constant=[3]),
    case(
        "CropAndResize",
        f(2, 3, 8, 8),
        real([[0.0, 0.0, 0.5, 0.5], [0.1, 0.2, 0.9, 0.8]]),
        i32(0, 1),
        i32(3, 4),
        mode="nearest",
        constant=[3],
    ),
)


@pytest.mark.parametrize(("name", "found"), named(CASES), ids=[name for name, _ in named(CASES)])
def test_agrees_with_onnxruntime(name: str, found: Case, tmp_path: Path) -> None:
    check_case(found, name, tmp_path)

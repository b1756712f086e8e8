"""Products and convolutions of onnxruntime's domain, against onnxruntime."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ttc.importers.onnx.ort_cases import Case, case, check_case, f, i64, named, u8

CASES = (
    case("FusedMatMul", f(2, 3, 4), f(2, 5, 4), transB=1, alpha=0.5),
    case("FusedMatMul", f(3, 2, 4), f(2, 4, 5), transBatchA=1),
    case("FusedMatMul", f(3, 2, 4), f(2, 3, 5), transBatchA=1, transA=1),
    case("TransposeMatMul", f(4, 3), f(4, 5), transA=1),
    case("FusedGemm", f(2, 3), f(3, 4), f(4), activation="LeakyRelu", activation_alpha=0.2),
    case("FusedGemm", f(2, 3), f(3, 4), activation="HardSigmoid", activation_alpha=0.2, activation_beta=0.3),
    case("FusedGemm", f(2, 3), f(3, 4), activation="Relu", alpha=2.0),
    case("FusedConv", f(1, 3, 8, 8), f(4, 3, 3, 3), f(4), activation="Relu", pads=[1, 1, 1, 1]),
    case(
        "FusedConv", f(1, 3, 8, 8), f(4, 3, 3, 3), f(4), f(1, 4, 8, 8), activation="Clip", activation_params=[0.0, 6.0], pads=[1, 1, 1, 1]
    ),
    case("FusedConv", f(1, 3, 8, 8), f(4, 3, 3, 3), f(4), activation="HardSigmoid", activation_params=[0.3, 0.4], pads=[1, 1, 1, 1]),
    case("NhwcMaxPool", u8(1, 6, 6, 3), kernel_shape=[2, 2], strides=[2, 2]),
    case("ConvTransposeWithDynamicPads", f(1, 2, 4, 4), f(2, 3, 3, 3), i64(1, 1, 1, 1), constant=[2], strides=[2, 2]),
    case("Inverse", f(2, 4, 4)),
    case("CDist", f(3, 4), f(5, 4)),
    case("CDist", f(3, 4), f(5, 4), metric="euclidean"),
)


@pytest.mark.parametrize(("name", "found"), named(CASES), ids=[name for name, _ in named(CASES)])
def test_agrees_with_onnxruntime(name: str, found: Case, tmp_path: Path) -> None:
    check_case(found, name, tmp_path)

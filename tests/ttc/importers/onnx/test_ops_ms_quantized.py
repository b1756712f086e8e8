"""Ops on quantized tensors of onnxruntime's domain, against onnxruntime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.ttc.importers.onnx.ort_cases import Case, Draw, byte, case, check_case, f, i8, i32, named, real, signed, u8

CASES = (
    case("QuantizeLinear", f(2, 3, factor=5), real(0.1), byte(100)),
    case("DequantizeLinear", u8(2, 3), real(0.1), byte(100)),
    case("QuantizeLinear", f(2, 3, factor=5), real(0.001), np.array(100, np.uint16)),
    case("QuantizeLinear", f(2, 3, factor=5), real([0.1, 0.2, 0.3]), byte(1, 2, 3), axis=1),
    case("MatMulInteger16", Draw("i16", (2, 3)), Draw("i16", (3, 4))),
    case("MatMulIntegerToFloat", u8(2, 8), i8(8, 4), real(0.1), real([0.1, 0.2, 0.3, 0.4]), byte(100), signed(1, 2, 3, 4), f(4)),
    case("MatMulIntegerToFloat", u8(2, 8), u8(8, 4), real(0.1), real(0.1), byte(100), byte(3)),
    case("MatMulIntegerToFloat", u8(2, 8), u8(8, 4), real(0.1), real(0.1)),
    case("DynamicQuantizeMatMul", f(2, 8), i8(8, 4), real([0.1, 0.2, 0.3, 0.4]), signed(1, 2, 3, 4), f(4)),
    case("DynamicQuantizeMatMul", f(2, 3, 8), u8(8, 4), real(0.1), byte(3)),
    case("QGemm", u8(2, 8), real(0.1), byte(3), i8(8, 4), real(0.1), signed(0), i32(1, 2, 3, 4), real(0.5), byte(128)),
    case("QGemm", u8(2, 8), real(0.1), byte(3), i8(4, 8), real([0.1, 0.2, 0.3, 0.4]), signed(0, 1, 2, 3), i32(1, 2, 3, 4), transB=1),
    case("QGemm", u8(2, 8), real(0.1), byte(3), i8(8, 4), real(0.1), signed(0), alpha=0.5),
    case("QGemm", u8(2, 8), real(0.1), byte(3), i8(8, 4), real(0.1), signed(0), i32(100, 200, 300, 400), alpha=0.5),
    case(
        "QLinearConv",
        u8(1, 8, 8, 3),
        real(0.1),
        byte(3),
        i8(4, 3, 3, 3),
        real(0.1),
        signed(0),
        real(0.9),
        byte(128),
        i32(1, 2, 3, 4),
        channels_last=1,
        pads=[1, 1, 1, 1],
    ),
    case("QLinearAdd", u8(2, 3), real(0.1), byte(3), u8(2, 3), real(0.2), byte(7), real(0.3), byte(100)),
    case("QLinearAdd", i8(2, 3), real(0.1), signed(3), i8(3), real(0.2), signed(-7), real(0.3), signed(9)),
    case("QLinearMul", u8(2, 3), real(0.1), byte(3), u8(2, 3), real(0.2), byte(7), real(0.3), byte(100)),
    case("QLinearMul", i8(2, 3), real(0.1), signed(3), i8(3), real(0.2), signed(-7), real(0.3), signed(9)),
    case("QLinearSigmoid", u8(2, 3), real(0.1), byte(100), real(0.004), byte(0), constant=[1, 2, 3, 4]),
    case("QLinearLeakyRelu", u8(2, 3), real(0.1), byte(100), real(0.04), byte(10), alpha=0.2, constant=[1, 2, 3, 4]),
    case("QLinearSoftmax", u8(2, 8), real(0.1), byte(100), real(0.004), byte(0), opset=13, axis=-1),
    case("QLinearSoftmax", u8(2, 3, 8), real(0.1), byte(100), real(0.004), byte(0), opset=11, axis=1),
    case("QLinearConcat", real(0.1), byte(3), u8(2, 3), real(0.1), byte(4), u8(2, 2), real(0.2), byte(7), axis=1),
    case("QLinearGlobalAveragePool", u8(1, 3, 5, 5), real(0.1), byte(4), real(0.05), byte(8)),
    case("QLinearGlobalAveragePool", u8(1, 5, 5, 3), real(0.1), byte(4), real(0.05), byte(8), channels_last=1),
    case("QLinearAveragePool", u8(1, 3, 6, 6), real(0.1), byte(4), real(0.05), byte(8), kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
    case(
        "QLinearAveragePool", u8(1, 6, 6, 3), real(0.1), byte(4), real(0.05), byte(8), kernel_shape=[2, 2], strides=[2, 2], channels_last=1
    ),
    case("QLinearWhere", np.array([True, False, True]), u8(2, 3), real(0.1), byte(4), u8(2, 3), real(0.2), byte(7), real(0.15), byte(9)),
)


@pytest.mark.parametrize(("name", "found"), named(CASES), ids=[name for name, _ in named(CASES)])
def test_agrees_with_onnxruntime(name: str, found: Case, tmp_path: Path) -> None:
    check_case(found, name, tmp_path)

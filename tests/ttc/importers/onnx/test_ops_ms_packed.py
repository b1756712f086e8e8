"""Weights of few bits of onnxruntime's domain, against onnxruntime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.ttc.importers.onnx.ort_cases import Case, Draw, case, check_case, f, named, positive, u8

CASES = (
    case("MatMulNBits", f(2, 64), u8(8, 2, 16), f(16), K=64, N=8, block_size=32, bits=4),
    case("MatMulNBits", f(2, 64), u8(8, 2, 16), f(16), u8(8), K=64, N=8, block_size=32, bits=4),
    case("MatMulNBits", f(2, 3, 50), u8(8, 4, 8), f(8, 4), u8(8, 2), None, f(8), K=50, N=8, block_size=16, bits=4),
    case("MatMulNBits", f(2, 64), u8(8, 2, 32), f(16), K=64, N=8, block_size=32, bits=8),
    case("MatMulNBits", f(2, 64), u8(8, 2, 16), f(16), f(8, 2), K=64, N=8, block_size=32, bits=4),
    case("MatMulNBits", f(2, 64), u8(8, 2, 8), f(16), K=64, N=8, block_size=32, bits=2),
    case("MatMulNBits", f(2, 64), u8(8, 2, 16), f(16), None, Draw("bit", (64,)), K=64, N=8, block_size=32, bits=4, constant=[1, 2, 4]),
    case("MatMulBnb4", f(2, 64), u8(256), positive(8), K=64, N=8, block_size=64, quant_type=0, constant=[1, 2]),
    case("MatMulBnb4", f(2, 64), u8(256), positive(8), K=64, N=8, block_size=64, quant_type=1, constant=[1, 2]),
    case(
        "GatherBlockQuantized",
        u8(10, 16),
        np.array([[7, 8, 0], [9, 5, 3]], np.int64),
        f(10, 2),
        block_size=16,
        bits=4,
        quantize_axis=1,
        gather_axis=0,
    ),
    case(
        "GatherBlockQuantized",
        u8(10, 16),
        np.array([[6, 5, 2], [3, 7, 5]], np.int64),
        f(10, 2),
        u8(10, 1),
        block_size=16,
        bits=4,
        quantize_axis=1,
        gather_axis=0,
    ),
    case(
        "GatherBlockQuantized",
        u8(10, 32),
        np.array([[5, 3, 7], [3, 3, 8]], np.int64),
        f(10, 2),
        u8(10, 2),
        block_size=16,
        bits=8,
        quantize_axis=1,
        gather_axis=0,
    ),
)


@pytest.mark.parametrize(("name", "found"), named(CASES), ids=[name for name, _ in named(CASES)])
def test_agrees_with_onnxruntime(name: str, found: Case, tmp_path: Path) -> None:
    check_case(found, name, tmp_path)

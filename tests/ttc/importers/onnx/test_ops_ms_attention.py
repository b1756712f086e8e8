"""Attention of onnxruntime's domain, against onnxruntime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.ttc.importers.onnx.ort_cases import Case, Draw, byte, case, check_case, f, i8, i32, i64, named, real, signed, u8

CASES = (
    case("Attention", f(2, 3, 8), f(8, 24), f(24), num_heads=2),
    case("Attention", f(2, 3, 8), f(8, 24), f(24), i32(2, 3), num_heads=2),
    case("Attention", f(2, 3, 8), f(8, 24), f(24), np.array([[1, 1, 0], [1, 1, 1]], np.int32), num_heads=2, unidirectional=1),
    case("Attention", f(2, 3, 8), f(8, 24), f(24), i32(2, 3, 0, 1), num_heads=2, scale=0.3),
    case("Attention", f(2, 3, 8), f(8, 24), f(24), None, f(2, 2, 2, 4, 4), num_heads=2, unidirectional=1, outputs=[1, 1]),
    case("Attention", f(2, 3, 8), f(8, 20), f(20), qkv_hidden_sizes=[8, 8, 4], num_heads=2),
    case("Attention", f(2, 3, 8), f(8, 24), f(24), Draw("bit", (2, 3, 3)), None, f(2, 2, 3, 3), num_heads=2),
    case("Attention", f(2, 3, 8), f(8, 24), f(24), np.array([[0, 0, 0], [1, 1, 1]], np.int32), num_heads=2, mask_filter_value=-5.0),
    case("QAttention", u8(2, 3, 8), i8(8, 24), f(24), real(0.01), real(0.01), i32(2, 3), byte(128), signed(0), num_heads=2),
    case(
        "QAttention",
        u8(2, 3, 8),
        i8(8, 24),
        f(24),
        real(0.01),
        real(0.01),
        None,
        byte(128),
        signed(0),
        f(2, 2, 2, 4, 4),
        num_heads=2,
        unidirectional=1,
        outputs=[1, 1],
    ),
    case("MultiHeadAttention", f(2, 3, 8), f(2, 5, 8), f(2, 5, 8), num_heads=2),
    case("MultiHeadAttention", f(2, 3, 8), f(2, 5, 8), f(2, 5, 12), f(28), num_heads=2, outputs=[1, 1, 1]),
    case("MultiHeadAttention", f(2, 3, 8), f(2, 5, 8), f(2, 5, 8), None, Draw("bit", (2, 5)), f(1, 2, 3, 5), num_heads=2),
    case("MultiHeadAttention", f(2, 3, 8), f(2, 2, 5, 4), f(2, 2, 5, 4), num_heads=2),
    case(
        "MultiHeadAttention",
        f(2, 3, 8),
        f(2, 3, 8),
        f(2, 3, 8),
        f(24),
        None,
        None,
        f(2, 2, 4, 4),
        f(2, 2, 4, 4),
        num_heads=2,
        outputs=[1, 1, 1],
        unidirectional=1,
    ),
    case("MultiHeadAttention", f(2, 3, 8), f(2, 2, 5, 4), f(2, 2, 5, 4), f(24), num_heads=2),
    case("MultiHeadAttention", f(2, 3, 8), f(2, 5, 8), f(2, 5, 8), None, i32(3, 5), num_heads=2),
    case("RotaryEmbedding", f(2, 3, 8), np.array([[0, 1, 2], [3, 4, 5]], np.int64), f(10, 2), f(10, 2), num_heads=2),
    case("RotaryEmbedding", f(2, 2, 3, 4), np.array([[0, 1, 2], [3, 4, 5]], np.int64), f(10, 2), f(10, 2), interleaved=1),
    case("RotaryEmbedding", f(2, 3, 8), i64(4), f(10, 2), f(10, 2)),
    case(
        "RotaryEmbedding", f(2, 3, 16), np.array([[0, 1, 2], [3, 4, 5]], np.int64), f(10, 2), f(10, 2), num_heads=2, rotary_embedding_dim=4
    ),
)


@pytest.mark.parametrize(("name", "found"), named(CASES), ids=[name for name, _ in named(CASES)])
def test_agrees_with_onnxruntime(name: str, found: Case, tmp_path: Path) -> None:
    check_case(found, name, tmp_path)

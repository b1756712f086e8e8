"""Rotary position embedding against onnx's reference evaluator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.ttc.importers.onnx.cases import check_node, imported, node_model, normal, save
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import entry_functions
from ttc.importers.onnx import import_onnx

FOUR = normal(2, 3, 5, 8)
THREE = normal(2, 5, 24)
POSITIONS = np.array([[0, 3, 1, 2, 6], [4, 4, 5, 0, 1]])


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("width", [0, 4])
@pytest.mark.parametrize(("x", "attrs"), [(FOUR, {}), (THREE, {"num_heads": 3})])
def test_rotary_embedding(x: np.ndarray, attrs: dict[str, int], width: int, interleaved: int, tmp_path: Path) -> None:
    options = {"opset": 23, "interleaved": interleaved, "rotary_embedding_dim": width, **attrs}
    pairs = (width or 8) // 2
    check_node(tmp_path, "RotaryEmbedding", x, normal(2, 5, pairs), normal(2, 5, pairs), **options)
    check_node(tmp_path, "RotaryEmbedding", x, normal(7, pairs), normal(7, pairs), POSITIONS, **options)


def test_it_is_one_op(tmp_path: Path) -> None:
    model, _ = node_model("RotaryEmbedding", FOUR, normal(2, 5, 4), normal(2, 5, 4), opset=23)
    (function,) = entry_functions(import_onnx(save(model, tmp_path))[0])
    assert [op.name for op in function.body.block.ops].count("nn.rotary_embedding") == 1


@pytest.mark.parametrize(
    ("code", "x", "cache", "attrs"),
    [
        ("E0402", THREE, (2, 5, 4), {"num_heads": 5}),
        ("E0402", THREE, (2, 5, 4), {}),
        ("E0402", FOUR, (2, 5, 4), {"rotary_embedding_dim": 10}),
        ("E0402", FOUR, (2, 5, 4), {"rotary_embedding_dim": 3}),
        ("E0401", FOUR, (5, 4), {}),
        ("E0401", FOUR, (2, 5, 3), {}),
        ("E0401", normal(2, 8), (2, 5, 4), {}),
    ],
)
def test_errors(code: str, x: np.ndarray, cache: tuple[int, ...], attrs: dict[str, Any], tmp_path: Path) -> None:
    model, feeds = node_model("RotaryEmbedding", x, normal(*cache), normal(*cache), opset=23, **attrs)
    with pytest.raises(Error) as caught:
        imported(model, feeds, tmp_path)
    assert caught.value.code == code

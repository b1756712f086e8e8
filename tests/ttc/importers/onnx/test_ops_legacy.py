"""Forms of ops before opset 7, by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.ttc.importers.onnx.cases import check, ints, node_model, normal
from tests.ttc.importers.onnx.test_walk import failure, save

X = normal(2, 3, 4, 5)


def same(folder: Path, wanted: np.ndarray | list[np.ndarray], op: str, *operands: np.ndarray | None, **options: Any) -> None:
    model, feeds = node_model(op, *operands, **options)
    check(model, feeds, folder, wanted=wanted if isinstance(wanted, list) else [wanted])


@pytest.mark.parametrize(
    ("shape", "attrs", "column"),
    [((5,), {}, (5,)), ((4, 5), {}, (4, 5)), ((3, 4), {"axis": 1}, (3, 4, 1)), ((1,), {}, (1,)), ((2,), {"axis": 0}, (2, 1, 1, 1))],
)
@pytest.mark.parametrize(("op", "function"), [("Add", np.add), ("Mul", np.multiply), ("Div", np.divide), ("Sub", np.subtract)])
def test_broadcasts_along_an_axis(op: str, function: Any, shape: tuple[int, ...], attrs: dict, column: tuple, tmp_path: Path) -> None:
    y = normal(*shape)
    same(tmp_path, function(X, y.reshape(column)), op, X, y, opset=6, broadcast=1, **attrs)


def test_broadcasts_have_to_be_possible(tmp_path: Path) -> None:
    bad = node_model("Add", X, normal(3, 4), opset=6, broadcast=1, axis=3)[0]
    assert failure(save(bad, tmp_path)).code == "E0401"


def test_hints_about_memory_are_dropped(tmp_path: Path) -> None:
    same(tmp_path, np.maximum(X, 0), "Relu", X, opset=1, consumed_inputs=[0])


def test_prelu_by_channel(tmp_path: Path) -> None:
    slope = normal(3)
    same(tmp_path, np.where(X < 0, X * slope.reshape(3, 1, 1), X), "PRelu", X, slope, opset=6)


def test_gemm(tmp_path: Path) -> None:
    a, b, c = normal(2, 3), normal(3, 4), normal(4)
    same(tmp_path, a @ b + c, "Gemm", a, b, c, opset=6, broadcast=1)


def test_batch_normalization(tmp_path: Path) -> None:
    scale, bias, mean, var = normal(3), normal(3), normal(3), np.abs(normal(3)) + 1
    columns = [v.reshape(3, 1, 1) for v in (scale, bias, mean, var)]
    wanted = (X - columns[2]) / np.sqrt(columns[3] + np.float32(1e-5)) * columns[0] + columns[1]
    same(tmp_path, wanted, "BatchNormalization", X, scale, bias, mean, var, opset=6, is_test=1)


def test_dropout_at_random_is_refused(tmp_path: Path) -> None:
    same(tmp_path, X, "Dropout", X, opset=6, is_test=1)
    assert failure(save(node_model("Dropout", X, opset=6)[0], tmp_path)).code == "E0202"


@pytest.mark.parametrize(
    ("op", "opset", "attrs", "wanted"),
    [
        ("Cast", 1, {"to": "INT32"}, X.astype(np.int32)),
        ("Pad", 1, {"paddings": [0, 1, 0, 0, 0, 0, 0, 2]}, np.pad(X, [(0, 0), (1, 0), (0, 0), (0, 2)])),
        ("Reshape", 1, {"shape": [0, -1]}, X.reshape(2, 60)),
        ("Upsample", 1, {"height_scale": 2.0, "width_scale": 1.0}, X.repeat(2, axis=2)),
        ("Selu", 1, {}, np.where(X > 0, X, 1.6732 * (np.exp(X) - 1)).astype(np.float32) * np.float32(1.0507)),
    ],
)
def test_attributes_that_became_operands(op: str, opset: int, attrs: dict, wanted: np.ndarray, tmp_path: Path) -> None:
    same(tmp_path, wanted, op, X, opset=opset, **attrs)


def test_unknown_types_are_refused(tmp_path: Path) -> None:
    assert failure(save(node_model("Cast", X, opset=1, to="COLOUR")[0], tmp_path)).code == "E0202"


def test_concat_split_tile(tmp_path: Path) -> None:
    same(tmp_path, np.concatenate([X, X], axis=1), "Concat", X, X, opset=1)
    same(tmp_path, [X[:, :1], X[:, 1:]], "Split", X, opset=1, axis=1, split=[1, 2], outputs=2)
    same(tmp_path, [X[:, :1], X[:, 1:]], "Split", X, ints(1, 2), opset=1, axis=1, outputs=2, constant=(1,))
    one = np.array([3.0], np.float32)
    same(tmp_path, np.tile(X, (1, 1, 1, 3)), "Tile", X, one, one, opset=1, constant=(1, 2))

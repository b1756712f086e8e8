"""Constants, and ops whose operands must be known at import."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper

from tests.ttc.importers.onnx.cases import check, check_node, imported, ints, model_of, node_model, normal, save
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import LiteralAttr
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.ir.leaves import ConstantOp
from ttc.importers.onnx import import_onnx

TABLE = normal(5, 7)


@pytest.mark.parametrize(
    ("attrs", "wanted"),
    [
        ({"value": numpy_helper.from_array(TABLE)}, TABLE),
        ({"value_float": 0.5}, np.array(0.5, np.float32)),
        ({"value_floats": [0.5, 2.0]}, np.array([0.5, 2], np.float32)),
        ({"value_int": 3}, np.array(3)),
        ({"value_ints": [3, -4]}, ints(3, -4)),
    ],
)
def test_constant(attrs: dict[str, Any], wanted: np.ndarray, tmp_path: Path) -> None:
    model = model_of([helper.make_node("Constant", [], ["y"], **attrs)], {}, ["y"])
    check(model, {}, tmp_path, wanted=[wanted])


def test_small_constants_are_written_out_and_large_ones_are_weights(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Constant", [], ["small"], name="s", value_floats=[1.0]),
        helper.make_node("Constant", [], ["large"], name="l", value=numpy_helper.from_array(TABLE)),
    ]
    module, weights = import_onnx(save(model_of(nodes, {}, ["small", "large"]), tmp_path))
    (function,) = entry_functions(module)
    leaves = [op for op in function.body.block.ops if isinstance(op, ConstantOp)]
    assert [isinstance(leaf.value, LiteralAttr) for leaf in leaves] == [True, False]
    assert list(weights) == ["l"]
    np.testing.assert_array_equal(weights["l"].value(), TABLE)


@pytest.mark.parametrize("attrs", [{}, {"value_int": 1, "value_float": 1.0}])
def test_constant_of_not_exactly_one_value(attrs: dict[str, Any], tmp_path: Path) -> None:
    model = model_of([helper.make_node("Constant", [], ["y"], **attrs)], {}, ["y"])
    with pytest.raises(Error) as caught:
        imported(model, {}, tmp_path)
    assert caught.value.code == "E0203"


@pytest.mark.parametrize("value", [None, np.array([3], np.int64)])
def test_constant_of_shape(value: np.ndarray | None, tmp_path: Path) -> None:
    attrs = {} if value is None else {"value": numpy_helper.from_array(value)}
    model, feeds = node_model("ConstantOfShape", ints(2, 3), constant=(0,), **attrs)
    check(model, feeds, tmp_path, wanted=[np.full((2, 3), 0 if value is None else 3, np.float32 if value is None else np.int64)])


@pytest.mark.parametrize("x", [[0.0, 1.0, 2.0], [0.0, 0.0, 0.0]])
def test_constant_of_a_shape_that_data_decides(x: list[float], tmp_path: Path) -> None:
    nodes = [
        helper.make_node("NonZero", ["x"], ["places"]),
        helper.make_node("Shape", ["places"], ["shape"]),
        helper.make_node("ConstantOfShape", ["shape"], ["y"], value=numpy_helper.from_array(np.array([7], np.int64))),
    ]
    feeds = {"x": np.array(x, np.float32)}
    check(model_of(nodes, feeds, ["y"]), feeds, tmp_path)


@pytest.mark.parametrize(
    ("operands", "wanted"),
    [
        ((1, 10, 3), [1, 4, 7]),
        ((10, 1, -4), [10, 6, 2]),
        ((1, 1, 1), []),
        ((0.0, 1.0, 0.25), [0.0, 0.25, 0.5, 0.75]),
    ],
)
def test_range(operands: tuple[float, ...], wanted: list[float], tmp_path: Path) -> None:
    dtype = np.float32 if isinstance(operands[0], float) else np.int64
    model, feeds = node_model("Range", *[np.array(v, dtype) for v in operands], constant=(0, 1, 2))
    check(model, feeds, tmp_path, wanted=[np.array(wanted, dtype)])


@pytest.mark.parametrize("operands", [(0, 2**62, 1), (-(2**62), 2**62, 1)])
def test_range_is_bounded(operands: tuple[int, ...], tmp_path: Path) -> None:
    model, feeds = node_model("Range", *[np.array(v) for v in operands], constant=(0, 1, 2))
    with pytest.raises(Error, match="more than") as caught:
        imported(model, feeds, tmp_path)
    assert caught.value.code == "E0202"


def test_non_zero(tmp_path: Path) -> None:
    x = np.array([[1, 0], [0, 3]])
    model, feeds = node_model("NonZero", x, constant=(0,))
    check(model, feeds, tmp_path, wanted=[np.array(np.nonzero(x))])


def test_non_zero_of_an_input_is_computed_when_it_runs(tmp_path: Path) -> None:
    model, feeds = node_model("NonZero", normal(3, 4) > 0)
    check(model, feeds, tmp_path)


@pytest.mark.parametrize(("start", "limit", "delta"), [(2, 11, 3), (9, -2, -4), (4, 4, 1)])
@pytest.mark.parametrize("dtype", [np.int64, np.float32])
def test_range_of_inputs_is_computed_when_it_runs(start: int, limit: int, delta: int, dtype: type, tmp_path: Path) -> None:
    check_node(tmp_path, "Range", *(np.array(v, dtype) for v in (start, limit, delta)))


def test_eye_like(tmp_path: Path) -> None:
    model, feeds = node_model("EyeLike", normal(3, 4), k=1)
    check(model, feeds, tmp_path, wanted=[np.eye(3, 4, 1, np.float32)])

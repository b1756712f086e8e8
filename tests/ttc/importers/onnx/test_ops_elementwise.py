"""Elementwise ops against onnx's reference evaluator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper

from tests.ttc.importers.onnx.cases import check, check_node, imported, model_of, node_model, normal
from ttc.dialects.core.errors import Error
from ttc.importers.onnx.tensors import DTYPES

X = normal(2, 3, 4)
POSITIVE = np.abs(X) + np.float32(0.5)
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0, -1.5], np.float32)
BOOLS = X > 0


@pytest.mark.parametrize("op", ["Abs", "Neg", "Exp", "Floor", "Ceil", "Round", "Sign", "Sin", "Cos", "Tan", "Erf", "Identity"])
def test_unary(op: str, tmp_path: Path) -> None:
    check_node(tmp_path, op, X)


@pytest.mark.parametrize("op", ["Log", "Sqrt", "Reciprocal"])
def test_unary_of_positive(op: str, tmp_path: Path) -> None:
    check_node(tmp_path, op, POSITIVE)


def test_not(tmp_path: Path) -> None:
    check_node(tmp_path, "Not", BOOLS)


@pytest.mark.parametrize("options", [{}, {"detect_negative": 0}, {"detect_positive": 0}])
def test_is_inf(options: dict[str, int], tmp_path: Path) -> None:
    check_node(tmp_path, "IsInf", SPECIAL, **options)


def test_is_nan(tmp_path: Path) -> None:
    check_node(tmp_path, "IsNaN", SPECIAL)


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"])
@pytest.mark.parametrize("other", [normal(4), normal(3, 1), X])
def test_binary_broadcasts(op: str, other: NDArray, tmp_path: Path) -> None:
    check_node(tmp_path, op, X, other)


@pytest.mark.parametrize("op", ["And", "Or", "Xor"])
def test_logic(op: str, tmp_path: Path) -> None:
    check_node(tmp_path, op, BOOLS, BOOLS[:, :1])


@pytest.mark.parametrize("exponent", [np.array(2, np.float32), np.array(3, np.int64), normal(4)])
def test_pow(exponent: NDArray, tmp_path: Path) -> None:
    check_node(tmp_path, "Pow", POSITIVE, exponent)


def test_integer_division_truncates(tmp_path: Path) -> None:
    model, feeds = node_model("Div", np.array([7, -7, 7, -7], np.int64), np.array([2, 2, -2, -2], np.int64))
    check(model, feeds, tmp_path, wanted=[np.array([3, -3, -3, 3])])


@pytest.mark.parametrize("fmod", [0, 1])
def test_mod(fmod: int, tmp_path: Path) -> None:
    check_node(tmp_path, "Mod", np.array([-4, 7, 5], np.int64), np.array([2, -3, 8], np.int64), fmod=fmod)


def test_where(tmp_path: Path) -> None:
    check_node(tmp_path, "Where", BOOLS, X, normal(4))


@pytest.mark.parametrize("op", ["Sum", "Mean", "Max", "Min"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_variadic(op: str, count: int, tmp_path: Path) -> None:
    check_node(tmp_path, op, *[X, normal(4), normal(3, 1)][:count])


@pytest.mark.parametrize("target", [TensorProto.INT64, TensorProto.BOOL, TensorProto.DOUBLE, TensorProto.FLOAT])
def test_cast(target: int, tmp_path: Path) -> None:
    check_node(tmp_path, "Cast", X, to=target)


def test_cast_like(tmp_path: Path) -> None:
    check_node(tmp_path, "CastLike", X, np.zeros(1, np.int32))


def test_clip_6(tmp_path: Path) -> None:
    check_node(tmp_path, "Clip", X, opset=10, min=-0.5, max=0.25)


@pytest.mark.parametrize("constant", [(1, 2), ()])
@pytest.mark.parametrize("bounds", [(-0.5, 0.25), (None, 0.25), (-0.5, None)])
def test_clip_11(bounds: tuple[float | None, ...], constant: tuple[int, ...], tmp_path: Path) -> None:
    arrays = [None if v is None else np.array(v, np.float32) for v in bounds]
    present = [i for i in constant if arrays[i - 1] is not None]
    check_node(tmp_path, "Clip", X, *arrays, constant=present)


def test_clip_of_integers_keeps_large_bounds(tmp_path: Path) -> None:
    x = np.array([2**60 + 1, -5], np.int64)
    check_node(tmp_path, "Clip", x, np.array(0, np.int64), np.array(2**60 + 3, np.int64), constant=(1, 2))


NARROW_FLOATS = {"FLOAT8E4M3FN": 448.0, "FLOAT8E5M2": 57344.0, "FLOAT8E4M3FNUZ": 240.0, "FLOAT4E2M1": 6.0}


@pytest.mark.parametrize("name", NARROW_FLOATS)
def test_casts_to_narrow_floats_saturate(name: str, tmp_path: Path) -> None:
    x = np.array([1.0, -0.5, 1e9, -np.inf, 1.25], np.float32)
    code = TensorProto.DataType.Value(name)
    (found,) = imported(*node_model("Cast", x, opset=23, to=code), tmp_path)
    largest = NARROW_FLOATS[name]
    wanted = np.array([1.0, -0.5, largest, -largest, 1.25], np.float32).astype(DTYPES[code]).astype(np.float32)
    np.testing.assert_array_equal(found, wanted)


def test_casts_without_saturation(tmp_path: Path) -> None:
    x = np.array([1.0, 1e9], np.float32)
    model, feeds = node_model("Cast", x, opset=23, to=TensorProto.FLOAT8E4M3FN, saturate=0)
    (found,) = imported(model, feeds, tmp_path)
    assert found[0] == 1
    assert np.isnan(found[1])


@pytest.mark.parametrize(("mode", "wanted"), [("up", [1, 2, 4, 4]), ("down", [1, 1, 2, 4]), ("nearest", [1, 2, 4, 4])])
def test_casts_to_powers_of_two(mode: str, wanted: list[float], tmp_path: Path) -> None:
    x = np.array([1.0, 1.5, 3.0, 4.0], np.float32)
    model, feeds = node_model("Cast", x, opset=24, to=TensorProto.DataType.Value("FLOAT8E8M0"), round_mode=mode)
    (found,) = imported(model, feeds, tmp_path)
    np.testing.assert_array_equal(found, np.array(wanted, np.float32))


def test_narrow_integers_are_cast_and_no_more(tmp_path: Path) -> None:
    x = np.array([-8, 7, 3], np.int8)
    codes = {"i4": TensorProto.INT4, "f": TensorProto.FLOAT}
    nodes = [helper.make_node("Cast", [a], [b], to=codes[b]) for a, b in (("x", "i4"), ("i4", "f"))]
    check(model_of(nodes, {"x": x}, ["f"], opset=23), {"x": x}, tmp_path, wanted=[x.astype(np.float32)])
    with pytest.raises(Error) as caught:
        imported(model_of([nodes[0], helper.make_node("Neg", ["i4"], ["y"])], {"x": x}, ["y"], opset=23), {"x": x}, tmp_path)
    assert caught.value.code == "E0403"

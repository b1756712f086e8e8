"""Elementwise ops against onnx's reference evaluator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import TensorProto

from tests.ttc.importers.onnx.cases import check, check_node, node_model, normal

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

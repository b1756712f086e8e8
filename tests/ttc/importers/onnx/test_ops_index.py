"""Slices, pads and gathers against onnx's reference evaluator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.ttc.importers.onnx.cases import check, check_node, imported, ints, node_model, normal
from ttc.dialects.core.errors import Error

X = normal(4, 5, 6)
LARGE = 2**63 - 1


@pytest.mark.parametrize(
    ("starts", "ends", "axes", "steps"),
    [
        ((1,), (3,), (0,), (1,)),
        ((0, 1), (LARGE, -1), (0, 2), (2, 1)),
        ((-1,), (-LARGE,), (1,), (-1,)),
        ((5, -2), (-100, 0), (-1, 1), (-2, -1)),
        ((3,), (1,), (1,), (1,)),
        ((9,), (12,), (0,), (1,)),
    ],
)
def test_slice(starts: tuple[int, ...], ends: tuple[int, ...], axes: tuple[int, ...], steps: tuple[int, ...], tmp_path: Path) -> None:
    operands = [ints(*v) for v in (starts, ends, axes, steps)]
    check_node(tmp_path, "Slice", X, *operands, constant=(1, 2, 3, 4))


@pytest.mark.parametrize(
    ("start", "end", "step", "places"),
    [
        (-10, -20, -1, [0]),
        (-5, -20, -2, [0]),
        (-(2**63), -LARGE, -1, [0]),
        (-10, 3, -1, []),
        (-10, -20, 1, []),
        (-4, -20, -1, [0]),
        (9, -4, -3, [3]),
    ],
)
def test_a_slice_that_starts_before_the_first_element(start: int, end: int, step: int, places: list[int], tmp_path: Path) -> None:
    """onnx's evaluator slices as Python does; its text, onnxruntime and we clamp the start to the first element."""
    model, feeds = node_model("Slice", X, *[ints(v) for v in (start, end, 0, step)], constant=(1, 2, 3, 4))
    check(model, feeds, tmp_path, wanted=[X[places]])


def test_slice_without_axes(tmp_path: Path) -> None:
    check_node(tmp_path, "Slice", X, ints(1, 2), ints(3, 4), constant=(1, 2))


def test_slice_1(tmp_path: Path) -> None:
    model, feeds = node_model("Slice", X, opset=9, axes=[1], starts=[1], ends=[100])
    check(model, feeds, tmp_path, wanted=[X[:, 1:]])


@pytest.mark.parametrize("operands", [((1,), (2, 3), (0,), (1,)), ((1,), (2,), (0,), (0,)), ((1, 1), (2, 2), (0, 0), (1, 1))])
def test_slice_that_does_not_fit(operands: tuple[tuple[int, ...], ...], tmp_path: Path) -> None:
    model, feeds = node_model("Slice", X, *[ints(*v) for v in operands], constant=(1, 2, 3, 4))
    with pytest.raises(Error) as caught:
        imported(model, feeds, tmp_path)
    assert caught.value.code == "E0402"


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge"])
def test_pad(mode: str, tmp_path: Path) -> None:
    check_node(tmp_path, "Pad", X, ints(1, 0, 2, 0, 3, 1), np.array(0.5, np.float32), constant=(1, 2), mode=mode)


def test_pad_of_axes(tmp_path: Path) -> None:
    check_node(tmp_path, "Pad", X, ints(1, 2, 0, 3), None, ints(2, -3), constant=(1, 3))


def test_pad_2(tmp_path: Path) -> None:
    model, feeds = node_model("Pad", X, opset=10, pads=[0, 1, 0, 0, 0, 2], value=1.5)
    check(model, feeds, tmp_path, wanted=[np.pad(X, ((0, 0), (1, 0), (0, 2)), constant_values=1.5)])


def test_negative_pads_crop(tmp_path: Path) -> None:
    model, feeds = node_model("Pad", X, ints(-1, 0, 1, 0, -2, -1), constant=(1,))
    check(model, feeds, tmp_path, wanted=[np.pad(X, ((0, 0), (0, 0), (1, 0)))[1:, :-2, :-1]])


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("indices", [np.array(2), ints(-1, 0), np.array([[1, 2], [-4, 3]])])
def test_gather(indices: np.ndarray, axis: int, tmp_path: Path) -> None:
    check_node(tmp_path, "Gather", X, indices, axis=axis)


def test_gather_elements(tmp_path: Path) -> None:
    indices = np.random.default_rng(0).integers(-5, 5, (4, 3, 6))
    model, feeds = node_model("GatherElements", X, indices, axis=1)
    check(model, feeds, tmp_path, wanted=[np.take_along_axis(X, indices, 1)])


@pytest.mark.parametrize(("indices", "batch_dims"), [(np.array([[0, 1], [3, -1]]), 0), (np.array([[[0]], [[1]], [[2]], [[4]]]), 1)])
def test_gather_nd(indices: np.ndarray, batch_dims: int, tmp_path: Path) -> None:
    check_node(tmp_path, "GatherND", X, indices, batch_dims=batch_dims)


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_one_hot(axis: int, tmp_path: Path) -> None:
    values = np.array([0.25, 2], np.float32)
    check_node(tmp_path, "OneHot", np.array([[0, -1], [2, 1]]), np.array(3), values, constant=(1, 2), axis=axis)


def test_one_hot_outside_the_depth_is_off(tmp_path: Path) -> None:
    model, feeds = node_model("OneHot", ints(7, -9), ints(3), np.array([0, 1], np.float32), constant=(1, 2))
    check(model, feeds, tmp_path, wanted=[np.zeros((2, 3), np.float32)])


@pytest.mark.parametrize("attrs", [{"upper": 1}, {"upper": 0}])
@pytest.mark.parametrize("k", [0, 1, -2, 2**40])
def test_trilu(attrs: dict[str, Any], k: int, tmp_path: Path) -> None:
    model, feeds = node_model("Trilu", X, np.array(k), constant=(1,), **attrs)
    wanted = np.triu(X, min(k, 100)) if attrs["upper"] else np.tril(X, min(k, 100))
    check(model, feeds, tmp_path, wanted=[wanted])


def test_pad_with_a_value_that_is_computed(tmp_path: Path) -> None:
    x, value = normal(2, 3), np.array(1.5, np.float32)
    model, feeds = node_model("Pad", x, ints(0, 1, 2, -1), value, constant=(1,))
    wanted = np.full((4, 3), 1.5, np.float32)
    wanted[:2, 1:] = x[:, :2]
    check(model, feeds, tmp_path, wanted=[wanted])


@pytest.mark.parametrize("axis", [-1, 0])
def test_one_hot_with_a_depth_that_is_computed(axis: int, tmp_path: Path) -> None:
    indices, depth, values = ints(0, -1, 7), np.array(4, np.float32), np.array([1.0, 3.0], np.float32)
    check_node(tmp_path, "OneHot", indices, depth, values, axis=axis)

"""Resize and Upsample against onnx's reference evaluator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from tests.ttc.importers.onnx.cases import check, check_node, imported, ints, node_model, normal
from ttc.dialects.core.errors import Error

X = normal(1, 2, 4, 6)
MODES = [
    {"mode": "nearest"},
    {"mode": "linear"},
    {"mode": "cubic", "cubic_coeff_a": -0.5, "exclude_outside": 1},
    {"mode": "linear", "antialias": 1},
    {"mode": "cubic", "antialias": 1},
]


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


@pytest.mark.parametrize("coordinates", ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"])
@pytest.mark.parametrize("attrs", MODES)
def test_scales(attrs: dict[str, Any], coordinates: str, tmp_path: Path) -> None:
    for factors in ((1.0, 1.0, 1.6, 2.0), (1.0, 1.0, 0.6, 0.8)):
        options = {"constant": (2,), "opset": 19, "coordinate_transformation_mode": coordinates, **attrs}
        check_node(tmp_path, "Resize", X, None, floats(*factors), atol=1e-4, **options)


@pytest.mark.parametrize("nearest", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
def test_sizes(nearest: str, tmp_path: Path) -> None:
    check_node(tmp_path, "Resize", X, None, None, ints(1, 2, 7, 3), constant=(3,), opset=19, nearest_mode=nearest)


@pytest.mark.parametrize("axes", [[2, 3], [3, 2]])
@pytest.mark.parametrize("policy", ["stretch", "not_larger", "not_smaller"])
def test_sizes_of_axes(policy: str, axes: list[int], tmp_path: Path) -> None:
    options = {"constant": (3,), "opset": 19, "axes": axes, "keep_aspect_ratio_policy": policy}
    check_node(tmp_path, "Resize", X, None, None, ints(7, 9), **options)


@pytest.mark.parametrize("axes", [None, [3, 2]])
def test_crop_and_resize(axes: list[int] | None, tmp_path: Path) -> None:
    roi = floats(0.1, 0.4, 0.7, 1.2) if axes else floats(0, 0, 0.4, 0.6, 1, 1, 1.2, 1.7)
    sizes = ints(3, 5) if axes else ints(1, 2, 3, 5)
    options: dict[str, Any] = {"constant": (1, 3), "opset": 19, "mode": "linear", "extrapolation_value": 10.0}
    options |= {"axes": axes} if axes else {}
    check_node(tmp_path, "Resize", X, roi, None, sizes, atol=1e-4, coordinate_transformation_mode="tf_crop_and_resize", **options)


@pytest.mark.parametrize(("op", "opset"), [("Upsample", 9), ("Resize", 10)])
def test_of_old_positions_are_asymmetric(op: str, opset: int, tmp_path: Path) -> None:
    model, feeds = node_model(op, X, floats(1, 1, 2, 3), constant=(1,), opset=opset)
    check(model, feeds, tmp_path, wanted=[X.repeat(2, axis=2).repeat(3, axis=3)])


def test_upsample_whose_scales_are_attributes(tmp_path: Path) -> None:
    model, feeds = node_model("Upsample", X, opset=7, scales=[1.0, 1.0, 2.0, 1.0])
    check(model, feeds, tmp_path, wanted=[X.repeat(2, axis=2)])


@pytest.mark.parametrize(
    ("code", "operands", "attrs"),
    [
        ("E0402", (None, floats(1, 1, 2)), {}),
        ("E0402", (None, floats(1, 1, -2, 1)), {}),
        ("E0402", (None, None, ints(1, 2, 0, 3)), {}),
        ("E0402", (None, None, ints(1, 2, 3, 3)), {"keep_aspect_ratio_policy": "loose"}),
        ("E0402", (None, None, ints(3, 3)), {"axes": [2, 2]}),
        ("E0412", (None, None, ints(3, 3)), {"axes": [2, 4]}),
        ("E0402", (floats(0, 1), None, ints(1, 2, 3, 3)), {"coordinate_transformation_mode": "tf_crop_and_resize"}),
        ("E0402", (None, floats(1, 1, 2, 2)), {"coordinate_transformation_mode": "corner"}),
        ("E0202", (None, floats(1, 1, 2, 2)), {"mode": "area"}),
    ],
)
def test_errors(code: str, operands: tuple[Any, ...], attrs: dict[str, Any], tmp_path: Path) -> None:
    constant = tuple(i for i, x in enumerate(operands, 1) if x is not None)
    model, feeds = node_model("Resize", X, *operands, constant=constant, opset=19, **attrs)
    with pytest.raises(Error) as caught:
        imported(model, feeds, tmp_path)
    assert caught.value.code == code


@pytest.mark.parametrize("attrs", [{}, {"mode": "linear"}, {"mode": "cubic", "coordinate_transformation_mode": "asymmetric"}])
def test_scales_that_are_computed(attrs: dict[str, Any], tmp_path: Path) -> None:
    check_node(tmp_path, "Resize", X, None, floats(1, 1, 2, 0.5), opset=19, **attrs)


def test_sizes_with_a_region_that_is_computed(tmp_path: Path) -> None:
    roi, attrs = floats(0.2, 0.1, 0.8, 0.9), {"coordinate_transformation_mode": "tf_crop_and_resize", "mode": "linear", "axes": [2, 3]}
    sizes = np.array([3, 4], np.int64)
    constant, feeds = node_model("Resize", X, roi, None, sizes, opset=19, constant=(1, 3), **attrs)
    (wanted,) = imported(constant, feeds, tmp_path)
    model, feeds = node_model("Resize", X, roi, None, sizes, opset=19, constant=(3,), **attrs)
    check(model, feeds, tmp_path, wanted=[wanted])


@pytest.mark.parametrize(("op", "opset"), [("Resize", 10), ("Upsample", 9)])
@pytest.mark.parametrize("factors", [(2.0, 3.0), (0.5, 2.0)])
def test_old_versions_by_scales_that_are_computed(op: str, opset: int, factors: tuple[float, float], tmp_path: Path) -> None:
    scales = floats(1, 1, *factors)
    constant, feeds = node_model(op, X, scales, constant=(1,), opset=opset)
    (wanted,) = imported(constant, feeds, tmp_path)
    model, feeds = node_model(op, X, scales, opset=opset)
    check(model, feeds, tmp_path, wanted=[wanted])


@pytest.mark.parametrize(("factors", "wanted"), [((0.6, 0.6), [[1, 3]]), ((2.0, 0.5), [[1, 3], [1, 3], [5, 7], [5, 7]])])
def test_version_10_shrinks_to_the_sample_above(factors: tuple[float, float], wanted: list[list[float]], tmp_path: Path) -> None:
    x = np.arange(1, 9, dtype=np.float32).reshape(1, 1, 2, 4)
    model, feeds = node_model("Resize", x, floats(1, 1, *factors), constant=(1,), opset=10, mode="nearest")
    check(model, feeds, tmp_path, wanted=[np.array(wanted, np.float32)[None, None]])


@pytest.mark.parametrize(("axes", "factors"), [(None, (1, 1, 2, 2)), ([3, 2], (2, 2))])
def test_sizes_that_the_model_declares(axes: list[int] | None, factors: tuple[int, ...], tmp_path: Path) -> None:
    attrs = {} if axes is None else {"axes": axes}
    model, feeds = node_model("Resize", X, None, floats(*factors), opset=19, **attrs)
    shape = [X.shape[0], X.shape[1], 2 * X.shape[2], 2 * X.shape[3]]
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info(model.graph.output[0].name, TensorProto.FLOAT, shape))
    check(model, feeds, tmp_path, wanted=[X.repeat(2, axis=2).repeat(2, axis=3)])
    (name,) = [name for name in feeds if feeds[name].ndim == 1]
    with pytest.raises(Error) as caught:
        imported(model, feeds | {name: feeds[name] * 2}, tmp_path)
    assert caught.value.code == "E0802"

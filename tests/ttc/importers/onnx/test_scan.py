"""Scans whose iterations do not depend on each other are computed at once; the same as others give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests.ttc.importers.onnx.cases import check, ints, model_of, normal
from tests.ttc.importers.onnx.ort_cases import ort_results
from tests.ttc.importers.onnx.test_control import body, node, ops_of

ROWS, SAMPLES, FEATURES = 5, 3, 4


def distances(opset: int = 18) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """Squared distances between each row of one matrix and all of another, as converters of scikit-learn write them."""
    nodes = [
        node("Identity", ["all"], ["all_out"]),
        node("Sub", ["all", "row"], ["differences"]),
        node("ReduceSumSquare", ["differences", "axes"], ["sums"], keepdims=0),
    ]
    feeds, constants = {"x": normal(SAMPLES, FEATURES)}, {"rows": normal(ROWS, FEATURES), "axes": ints(1)}
    scan = node("Scan", ["x", "rows"], ["kept", "y"], body=body(nodes, ["all", "row"], ["all_out", "sums"]), num_scan_inputs=1)
    return model_of([scan], feeds, ["y"], constants, opset), feeds


def test_distances(tmp_path: Path) -> None:
    model, feeds = distances()
    check(model, feeds, tmp_path)
    assert [op for op in ops_of(model, tmp_path) if op.startswith("nn.")] == ["nn.reshape", "nn.sub", "nn.mul", "nn.reduce_sum"]


@pytest.mark.parametrize(
    "attrs",
    [
        {},
        {"scan_input_axes": [1], "scan_output_axes": [2]},
        {"scan_input_directions": [1]},
        {"scan_input_axes": [-1], "scan_input_directions": [1], "scan_output_axes": [-1], "scan_output_directions": [1]},
    ],
)
def test_places_of_elements(attrs: dict[str, Any], tmp_path: Path) -> None:
    nodes = [
        node("Exp", ["w"], ["same"]),
        node("Neg", ["same"], ["also"]),
        node("Mul", ["row", "also"], ["product"]),
        node("Transpose", ["product"], ["turned"], perm=[1, 0]),
        node("ReduceMax", ["turned", "axes"], ["most"], keepdims=1),
        node("Where", ["which", "turned", "most"], ["out"]),
    ]
    feeds, constants = {"x": normal(2, 3, 2), "w": normal(1, 2)}, {"axes": ints(-1), "which": np.array([[True], [False]])}
    if attrs.get("scan_input_axes") == [-1]:
        feeds["x"] = normal(3, 2, 4)
    scan = node("Scan", ["x"], ["y"], body=body(nodes, ["row"], ["out"]), num_scan_inputs=1, **attrs)
    model = model_of([scan], feeds, ["y"], constants)
    check(model, feeds, tmp_path, wanted=ort_results(model, feeds))
    assert sum(op == "nn.mul" for op in ops_of(model, tmp_path)) == 1


def test_what_is_the_same_in_all_iterations_is_repeated(tmp_path: Path) -> None:
    nodes = [node("Exp", ["w"], ["same"]), node("Neg", ["row"], ["out"])]
    feeds = {"x": normal(4, 2), "w": normal(3)}
    scan = node("Scan", ["x"], ["y", "z"], body=body(nodes, ["row"], ["same", "out"]), num_scan_inputs=1)
    model = model_of([scan], feeds, ["y", "z"])
    check(model, feeds, tmp_path)
    assert sum(op == "nn.exp" for op in ops_of(model, tmp_path)) == 1


@pytest.mark.parametrize("op", ["Softmax", "Add"])
def test_other_bodies_run_one_after_the_other(op: str, tmp_path: Path) -> None:
    """One op has no form for many iterations; the other makes what the next iteration takes."""
    nodes = [node("Softmax", ["row"], ["out"]), node("Identity", ["total"], ["next"])]
    if op == "Add":
        nodes = [node("Add", ["row", "total"], ["next"]), node("Neg", ["next"], ["out"])]
    feeds = {"start": normal(2), "x": normal(4, 2)}
    scan = node("Scan", ["start", "x"], ["end", "y"], body=body(nodes, ["total", "row"], ["next", "out"]), num_scan_inputs=1)
    model = model_of([scan], feeds, ["end", "y"])
    check(model, feeds, tmp_path)
    assert sum(name == f"nn.{op.lower()}" for name in ops_of(model, tmp_path)) == 4

"""Ops that order elements against onnx's reference evaluator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.ttc.importers.onnx.cases import check, check_node, imported, ints, node_model, normal
from ttc.dialects.core.errors import Error

X = normal(3, 5, 7)


@pytest.mark.parametrize("attrs", [{}, {"axis": 1}, {"axis": 0, "largest": 0}, {"axis": -2, "sorted": 0}])
def test_top_k(attrs: dict[str, int], tmp_path: Path) -> None:
    check_node(tmp_path, "TopK", X, ints(3), constant=(1,), outputs=2, **attrs)


def test_top_k_of_old(tmp_path: Path) -> None:
    model, feeds = node_model("TopK", X, opset=9, outputs=2, k=2, axis=1)
    places = np.argsort(-X, axis=1)[:, :2]
    check(model, feeds, tmp_path, wanted=[np.take_along_axis(X, places, 1), places])


def test_top_k_of_a_computed_number_is_refused(tmp_path: Path) -> None:
    model, feeds = node_model("TopK", X, ints(3), outputs=2)
    with pytest.raises(Error, match="needs a constant k") as caught:
        imported(model, feeds, tmp_path)
    assert caught.value.code == "E0202"


@pytest.mark.parametrize(("opset", "axis"), [(13, 0), (13, -2), (13, 2)])
def test_hardmax(opset: int, axis: int, tmp_path: Path) -> None:
    check_node(tmp_path, "Hardmax", np.round(X), opset=opset, axis=axis)


def test_hardmax_of_old_is_over_all_dimensions_from_the_axis_on(tmp_path: Path) -> None:
    model, feeds = node_model("Hardmax", X, opset=11, axis=1)
    flat = X.reshape(3, 35)
    check(model, feeds, tmp_path, wanted=[(flat == flat.max(1, keepdims=True)).astype(np.float32).reshape(X.shape)])


def test_hardmax_along_a_very_long_axis_is_refused(tmp_path: Path) -> None:
    model, feeds = node_model("Hardmax", np.zeros((1, 1), np.float32))
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 1 << 22
    with pytest.raises(Error) as caught:
        imported(model, feeds, tmp_path)
    assert caught.value.code == "E0202"


@pytest.mark.parametrize(("time", "batch"), [(0, 1), (1, 0)])
def test_reverse_sequence(time: int, batch: int, tmp_path: Path) -> None:
    lengths = ints(*(1 + i % X.shape[time] for i in range(X.shape[batch])))
    check_node(tmp_path, "ReverseSequence", X, lengths, time_axis=time, batch_axis=batch)


def test_reverse_sequence_along_other_axes(tmp_path: Path) -> None:
    model, feeds = node_model("ReverseSequence", X, ints(1, 2, 3), time_axis=2, batch_axis=0)
    with pytest.raises(Error) as caught:
        imported(model, feeds, tmp_path)
    assert caught.value.code == "E0402"

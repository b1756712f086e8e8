"""Ops that change shape or order, against onnx's reference evaluator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from tests.ttc.importers.onnx.cases import check, check_node, imported, ints, model_of, node_model, normal
from ttc.dialects.core.errors import Error
from ttc.importers.onnx import import_onnx

X = normal(2, 3, 4)
ONES = normal(2, 1, 3, 1)


@pytest.mark.parametrize("shape", [(6, 4), (0, -1), (-1,), (2, 0, 2, 2), (2, 1, 3, -1)])
def test_reshape(shape: tuple[int, ...], tmp_path: Path) -> None:
    check_node(tmp_path, "Reshape", X, ints(*shape), constant=(1,))


def test_reshape_may_take_zero_literally(tmp_path: Path) -> None:
    check_node(tmp_path, "Reshape", normal(2, 0), ints(3, 0), constant=(1,), allowzero=1)


@pytest.mark.parametrize("shape", [(5, -1), (-1, -1), (7,), (-2, 12)])
def test_reshape_that_cannot_be(shape: tuple[int, ...], tmp_path: Path) -> None:
    model, feeds = node_model("Reshape", X, ints(*shape), constant=(1,))
    with pytest.raises(Error) as caught:
        imported(model, feeds, tmp_path)
    assert caught.value.code == "E0401"


def test_reshape_by_an_input_is_refused(tmp_path: Path) -> None:
    model, feeds = node_model("Reshape", X, ints(6, 4))
    with pytest.raises(Error, match="needs a constant shape") as caught:
        imported(model, feeds, tmp_path)
    assert caught.value.code == "E0202"


@pytest.mark.parametrize("axis", [0, 1, 2, 3, -1])
def test_flatten(axis: int, tmp_path: Path) -> None:
    check_node(tmp_path, "Flatten", X, axis=axis)


@pytest.mark.parametrize("axes", [None, (1,), (-1, 1)])
def test_squeeze(axes: tuple[int, ...] | None, tmp_path: Path) -> None:
    check_node(tmp_path, "Squeeze", ONES, *([] if axes is None else [ints(*axes)]), constant=[] if axes is None else [1])


def test_squeeze_11(tmp_path: Path) -> None:
    check_node(tmp_path, "Squeeze", ONES, opset=11, axes=[1, -1])


def test_squeeze_of_more_than_one_element(tmp_path: Path) -> None:
    model, feeds = node_model("Squeeze", ONES, ints(2), constant=(1,))
    with pytest.raises(Error) as caught:
        imported(model, feeds, tmp_path)
    assert caught.value.code == "E0401"


def test_unsqueeze(tmp_path: Path) -> None:
    check_node(tmp_path, "Unsqueeze", X, ints(0, -1), constant=(1,))
    check_node(tmp_path, "Unsqueeze", X, opset=11, axes=[1, 3])


@pytest.mark.parametrize("attrs", [{}, {"perm": [1, 2, 0]}])
def test_transpose(attrs: dict[str, list[int]], tmp_path: Path) -> None:
    check_node(tmp_path, "Transpose", X, **attrs)


@pytest.mark.parametrize("attrs", [{}, {"start": 1}, {"start": -1}, {"end": 2}, {"start": 2, "end": 1}, {"start": -9, "end": 9}])
def test_shape(attrs: dict[str, int], tmp_path: Path) -> None:
    check_node(tmp_path, "Shape", X, **attrs)


def test_size(tmp_path: Path) -> None:
    model, feeds = node_model("Size", X)
    check(model, feeds, tmp_path, wanted=[np.array(24)])


@pytest.mark.parametrize("shape", [(2, 3, 4), (5, 1, 1, 4), (1,)])
def test_expand(shape: tuple[int, ...], tmp_path: Path) -> None:
    check_node(tmp_path, "Expand", normal(3, 1), ints(*shape), constant=(1,))


def test_tile(tmp_path: Path) -> None:
    check_node(tmp_path, "Tile", X, ints(2, 1, 3), constant=(1,))


@pytest.mark.parametrize("axis", [1, -1])
def test_concat(axis: int, tmp_path: Path) -> None:
    check_node(tmp_path, "Concat", X, X + 1, X + 2, axis=axis)


def test_split(tmp_path: Path) -> None:
    check_node(tmp_path, "Split", X, ints(1, 3), constant=(1,), axis=2, outputs=2)
    check_node(tmp_path, "Split", X, opset=11, axis=2, split=[3, 1], outputs=2)
    check_node(tmp_path, "Split", X, opset=18, axis=-1, num_outputs=3, outputs=3)


def test_split_into_another_number_of_parts(tmp_path: Path) -> None:
    model, feeds = node_model("Split", X, num_outputs=1 << 40, outputs=2)
    with pytest.raises(Error) as caught:
        imported(model, feeds, tmp_path)
    assert caught.value.code == "E0203"


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_depth_to_space(mode: str, tmp_path: Path) -> None:
    check_node(tmp_path, "DepthToSpace", normal(1, 8, 2, 3), blocksize=2, mode=mode)


def test_space_to_depth(tmp_path: Path) -> None:
    check_node(tmp_path, "SpaceToDepth", normal(1, 2, 4, 6), blocksize=2)


def test_space_to_depth_undoes_depth_to_space_of_its_mode(tmp_path: Path) -> None:
    x = normal(1, 8, 3, 2)
    for mode in ("DCR", "CRD"):
        wide = imported(*node_model("DepthToSpace", x, blocksize=2, mode=mode), tmp_path)[0]
        model, feeds = node_model("SpaceToDepth", wide, blocksize=2, mode=mode, opset=28)
        check(model, feeds, tmp_path, wanted=[x])


@pytest.mark.parametrize("axis", [0, 1])
def test_tile_by_sizes_beside_those_that_data_decides(axis: int, tmp_path: Path) -> None:
    """places[2, n]: the first size is known though the second is not; copies by the second one are counted when the model runs."""
    nodes = [
        helper.make_node("NonZero", ["x"], ["places"]),
        helper.make_node("Shape", ["places"], ["sizes"]),
        helper.make_node("Slice", ["sizes", "start", "end"], ["size"]),
        helper.make_node("Concat", ["one", "size"], ["repeats"], axis=0),
        helper.make_node("Tile", ["places", "repeats"], ["y"]),
    ]
    constants = {"start": ints(axis), "end": ints(axis + 1), "one": ints(1)}
    model, feeds = model_of(nodes, {"x": normal(3, 4)}, ["y"], constants), {"x": (normal(3, 4) > 0).astype(np.float32)}
    check(model, feeds, tmp_path)
    module, _ = import_onnx(tmp_path / "model.onnx")
    assert ("nn.repeat" in str(module)) == (axis == 0)


def test_tile_by_as_many_sizes_as_dimensions(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("NonZero", ["x"], ["places"]),
        helper.make_node("Shape", ["places"], ["sizes"]),
        helper.make_node("Tile", ["x", "sizes"], ["y"]),
    ]
    feeds = {"x": normal(3)}
    with pytest.raises(Error) as caught:
        imported(model_of(nodes, feeds, ["y"]), feeds, tmp_path)
    assert caught.value.code == "E0402"

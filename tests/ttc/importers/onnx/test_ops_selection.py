"""Ops of data-dependent size against onnx's reference evaluator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser
from onnxruntime import InferenceSession

import ttc
from tests.ttc.importers.onnx.cases import check, check_node, ints, node_model, normal

X = normal(3, 4)


@pytest.mark.parametrize("attrs", [{"axis": 0}, {"axis": -2}, {}])
def test_compress(attrs: dict[str, int], tmp_path: Path) -> None:
    check_node(tmp_path, "Compress", X, np.array([False, True, True]), **attrs)


@pytest.mark.parametrize("attrs", [{"axis": 0}, {"axis": -2}, {}])
@pytest.mark.parametrize("condition", [[False, True, True], [False] * 3, [True, False]])
def test_compress_by_a_constant_has_a_static_shape(attrs: dict[str, int], condition: list[bool], tmp_path: Path) -> None:
    model, feeds = node_model("Compress", X, np.array(condition), constant=(1,), **attrs)
    wanted = np.compress(condition, X, axis=attrs.get("axis"))
    check(model, feeds, tmp_path, wanted=[wanted])
    path = tmp_path / "compress.onnx"
    onnx.save(model, path)
    assert ttc.compile(path).netlist.programs["forward"].results[0].shape == wanted.shape


REPEATED = np.array([[2, 1, 1, 2], [0, 3, 3, 0], [2, 1, 1, 2]], np.float32)


@pytest.mark.parametrize("attrs", [{}, {"axis": 0}, {"axis": -1}])
def test_unique(attrs: dict[str, int], tmp_path: Path) -> None:
    check_node(tmp_path, "Unique", REPEATED, outputs=4, **attrs)


def test_unique_in_order_of_appearance(tmp_path: Path) -> None:
    model, feeds = node_model("Unique", REPEATED, outputs=4, axis=-1, sorted=0)
    check(model, feeds, tmp_path, wanted=[REPEATED[:, :2], ints(0, 1), ints(0, 1, 1, 0), ints(2, 2)])


def boxes_and_scores() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    corner = rng.random((2, 12, 2))
    boxes = np.concatenate([corner, corner + 0.2 + rng.random((2, 12, 2)) / 3], axis=-1).astype(np.float32)
    return boxes, rng.random((2, 3, 12)).astype(np.float32)


@pytest.mark.parametrize("center", [0, 1])
@pytest.mark.parametrize("score", [None, 0.4])
def test_non_max_suppression(score: float | None, center: int, tmp_path: Path) -> None:
    boxes, scores = boxes_and_scores()
    limits = [ints(4), np.array([0.2], np.float32), *([] if score is None else [np.array([score], np.float32)])]
    constant = tuple(range(2, 2 + len(limits)))
    check_node(tmp_path, "NonMaxSuppression", boxes, scores, *limits, constant=constant, center_point_box=center)


def test_non_max_suppression_without_a_limit_gives_nothing(tmp_path: Path) -> None:
    model, feeds = node_model("NonMaxSuppression", *boxes_and_scores())
    check(model, feeds, tmp_path, wanted=[np.zeros((0, 3), np.int64)])


def test_limits_that_are_computed(tmp_path: Path) -> None:
    limits = [ints(4), np.array([0.2], np.float32), np.array([0.3], np.float32)]
    check_node(tmp_path, "NonMaxSuppression", *boxes_and_scores(), *limits)


def test_boxes_that_are_chosen_are_worked_on(tmp_path: Path) -> None:
    """What detectors do behind NonMaxSuppression: data decide how many rows there are; limits are constants of one element."""
    text = """
    <ir_version: 8, opset_import: ["" : 20]> g (float[1,12,4] boxes, float[1,1,12] scores) => (float[n,4] y, float[n,2] norm)
    <int64[1] most = {5}, float[1] overlap = {0.5}, float[1] least = {0.1}, int64[1] two = {2}, int64[1] one = {1}, int64[1] zero = {0},
     float half = {0.5}, float[2] ones = {1, 1}> {
       chosen = NonMaxSuppression(boxes, scores, most, overlap, least)
       index = Gather<axis: int = 1>(chosen, two)
       flat = Squeeze(index, one)
       all = Squeeze(boxes, zero)
       rows = Gather<axis: int = 0>(all, flat)
       low, high = Split<axis: int = 1, num_outputs: int = 2>(rows)
       sum = Add(low, high)
       center = Mul(sum, half)
       size = Sub(high, low)
       y = Concat<axis: int = 1>(center, size)
       norm = LayerNormalization<axis: int = -1>(size, ones)
    }
    """
    onnx.save(parser.parse_model(text), tmp_path / "g.onnx")
    boxes, scores = boxes_and_scores()
    session = InferenceSession(tmp_path / "g.onnx")
    ttc.compile(tmp_path / "g.onnx", target="host").save(tmp_path / "g.tti")
    for engine in ("native", "reference"):
        executor = ttc.load(tmp_path / "g.tti", engine=engine)
        for factor in (1, 0):
            given = {"boxes": boxes[:1], "scores": scores[:1, :1] * np.float32(factor)}
            for found, wanted in zip(executor.run(given).values(), session.run(None, given), strict=True):
                np.testing.assert_allclose(found, np.asarray(wanted), atol=1e-5)

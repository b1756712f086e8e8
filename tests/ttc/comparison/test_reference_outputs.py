"""What an archive's outputs are compared with."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import onnx
import pytest

from ttc.accuracy.distances import Exactness
from ttc.comparison.reference_outputs import compare_outputs, exactness_of, probes_of, reference_outputs
from ttc.dialects.core.errors import Error

X = np.random.default_rng(0).standard_normal((3, 8)).astype(np.float32)


def test_both_ways_agree(small_onnx: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime")
    theirs, by = reference_outputs(small_onnx, {"x": X})
    assert by == "onnxruntime"
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    ours, by = reference_outputs(small_onnx, {"x": X})
    assert by == "evaluate"
    assert list(ours) == list(theirs) == ["probabilities"]
    np.testing.assert_allclose(ours["probabilities"], theirs["probabilities"], rtol=1e-5)


@pytest.mark.parametrize("wanted", ["onnxruntime", "evaluate"])
def test_values_of_nodes(small_onnx: Path, monkeypatch: pytest.MonkeyPatch, wanted: str) -> None:
    if wanted == "evaluate":
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    else:
        pytest.importorskip("onnxruntime")
    found, by = reference_outputs(small_onnx, {"x": X}, probes=probes_of({"probe": ("/fc/Add",)}))
    assert (by, list(found)) == (wanted, ["probabilities", "/fc/Add"])
    positive = np.exp(np.maximum(found["/fc/Add"], 0))
    np.testing.assert_allclose(found["probabilities"], positive / positive.sum(-1, keepdims=True), rtol=1e-6)
    assert probes_of({"probe": 3}) == ()


def test_values_of_nodes_with_several_outputs_are_evaluated(tmp_path: Path) -> None:
    """What onnxruntime cannot be asked for by a node's name alone comes from the reference semantics, the others from onnxruntime."""
    pytest.importorskip("onnxruntime")
    halves = onnx.helper.make_node("Split", ["x"], ["a", "b"], name="halves", axis=1, num_outputs=2)
    total = onnx.helper.make_node("Add", ["a", "b"], ["y"], name="total")
    shapes = [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [3, s]) for n, s in (("x", 8), ("y", 4))]
    graph = onnx.helper.make_graph([halves, total], "split", shapes[:1], shapes[1:])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=10), tmp_path / "split.onnx")
    found, by = reference_outputs(tmp_path / "split.onnx", {"x": X}, probes=("halves", "total"))
    assert by == "onnxruntime and evaluate"
    np.testing.assert_allclose(found["halves"], X[:, :4], rtol=1e-6)
    np.testing.assert_allclose(found["total"], X[:, :4] + X[:, 4:], rtol=1e-6)


def test_inputs_that_the_run_has_not(small_onnx: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(Error) as caught:
        reference_outputs(small_onnx, {"y": X})
    assert caught.value.code in ("E0206", "E0801")


def test_outputs_are_matched_by_name() -> None:
    a = np.ones(3)
    assert compare_outputs({"y": a}, {"x": a * 2, "y": a})["y"].within
    with pytest.raises(Error) as caught:
        compare_outputs({"y": a}, {"yy": a})
    assert (caught.value.code, caught.value.hint) == ("E0206", "did you mean 'yy'?")


@pytest.mark.parametrize(
    ("options", "dtypes", "exactness"),
    [
        ({"format": "source", "precision": "float32"}, ["float32"], Exactness.FLOAT32),
        ({"format": "source", "precision": "high"}, ["float32"], Exactness.HIGH),
        ({"format": "Float16_b", "precision": "high"}, ["float32"], Exactness.BITS16),
        ({"format": "Float32", "precision": "bfloat16"}, ["float32"], Exactness.BITS16),
        ({"format": "Tf32"}, ["float32"], Exactness.BITS16),
        ({"format": "source"}, ["float32", "bfloat16"], Exactness.BITS16),
        ({"format": "Bfp8_b", "precision": "bfloat16"}, ["float32"], Exactness.BITS8),
        ({"format": "Lf8"}, [], Exactness.BITS8),
        ({}, ["int8"], Exactness.FLOAT32),
    ],
)
def test_how_exact_an_archive_is(options: dict[str, object], dtypes: list[str], exactness: Exactness) -> None:
    assert exactness_of(options, dtypes) == exactness

"""What an archive's outputs are compared with."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from ttc.compare import Exactness
from ttc.dialects.core.errors import Error
from ttc.reference import compare_outputs, exactness_of, probes_of, reference_outputs

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


def test_values_of_nodes(small_onnx: Path) -> None:
    found, by = reference_outputs(small_onnx, {"x": X}, probes=probes_of({"probe": ("/fc/Add",)}))
    assert (by, list(found)) == ("evaluate", ["probabilities", "/fc/Add"])
    positive = np.exp(np.maximum(found["/fc/Add"], 0))
    np.testing.assert_allclose(found["probabilities"], positive / positive.sum(-1, keepdims=True), rtol=1e-6)
    assert probes_of({"probe": 3}) == ()


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

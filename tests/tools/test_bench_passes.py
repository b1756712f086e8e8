"""The bench of passes: its model, and what it flags."""

from __future__ import annotations

from pathlib import Path

import onnx

from tools.bench_passes import encoder, flags, measure


def test_the_model_is_of_the_size_asked_for() -> None:
    model = encoder(200)
    onnx.checker.check_model(model)
    assert 200 <= len(model.graph.node) < 260


def test_slow_and_steep_passes_are_flagged() -> None:
    assert flags([10.0, 10.0, 11.0]) == []
    assert flags([0.2, 0.5, 1.9]) == []
    assert flags([10.0, 12.0, 17.0]) == ["grows faster than linear"]
    assert flags([41.0, 41.0, 41.0]) == ["over 40 us/op"]


def test_training_programs_are_measured(tmp_path: Path) -> None:
    onnx.save(encoder(40), tmp_path / "m.onnx")
    plain, training = (measure(tmp_path / "m.onnx", training=wanted) for wanted in (False, True))
    assert {"nn:differentiate@1", "nn:apply-optimizer@1"} <= training.keys() - plain.keys()
    assert all(cost > 0 for cost in training.values())

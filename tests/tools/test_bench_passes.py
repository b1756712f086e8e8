"""The bench of passes: its model, and what it flags."""

from __future__ import annotations

import onnx

from tools.bench_passes import encoder, flags


def test_the_model_is_of_the_size_asked_for() -> None:
    model = encoder(200)
    onnx.checker.check_model(model)
    assert 200 <= len(model.graph.node) < 260


def test_slow_and_steep_passes_are_flagged() -> None:
    assert flags([10.0, 10.0, 11.0]) == []
    assert flags([0.2, 0.5, 1.9]) == []
    assert flags([10.0, 12.0, 17.0]) == ["grows faster than linear"]
    assert flags([41.0, 41.0, 41.0]) == ["over 40 us/op"]

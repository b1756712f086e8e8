"""The recurrent layer of onnxruntime's domain, against onnxruntime, and as onnxruntime's quantizer writes it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper
from onnxruntime.quantization import quantize_dynamic

import ttc
from tests.ttc.importers.onnx.cases import imported, model_of, save
from tests.ttc.importers.onnx.ort_cases import ms_model, ort_results

NEAR = 2e-2
"""Onnxruntime rounds the state to 8 bits at every step; here it stays as it is."""


@pytest.mark.parametrize(("direction", "count"), [("forward", 1), ("bidirectional", 2)])
@pytest.mark.parametrize("by_column", [False, True])
def test_layer(direction: str, count: int, by_column: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(list(f"layer-{direction}-{by_column}".encode()))
    scales = [(0.005 + 0.01 * rng.random((count, 16) if by_column else (count,))).astype(np.float32) for _ in range(2)]
    zeros = [np.zeros(scales[0].shape, np.int8)] * 2
    codes = [rng.integers(-64, 65, (count, size, 16)).astype(np.int8) for size in (8, 4)]
    real = [rng.standard_normal(shape).astype(np.float32) for shape in ((6, 2, 8), (count, 32), (count, 2, 4), (count, 2, 4))]
    x, bias, h, c = real
    operands = [x, *codes, bias, None, h, c, None, scales[0], zeros[0], scales[1], zeros[1]]
    outputs = (True, True, True)
    model, feeds = ms_model(
        "DynamicQuantizeLSTM", operands, constant=(1, 2, 8, 9, 10, 11), outputs=outputs, hidden_size=4, direction=direction
    )
    for y, z in zip(imported(model, feeds, tmp_path), ort_results(model, feeds), strict=True):
        assert y.shape == z.shape
        assert np.abs(y - z).max() < NEAR


@pytest.mark.parametrize("target", ["host", "n150"])
def test_what_the_quantizer_writes(target: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(list(f"quantizer-{target}".encode()))
    weights = {name: (0.2 * rng.standard_normal((1, 32, size))).astype(np.float32) for name, size in (("w", 6), ("r", 8))}
    x = rng.standard_normal((5, 1, 6)).astype(np.float32)
    layer = helper.make_node("LSTM", ["x", "w", "r"], ["y"], hidden_size=8)
    original = model_of([layer], {"x": x}, ["y"], weights, 17)
    original.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    quantize_dynamic(save(original, tmp_path), tmp_path / "quantized.onnx")
    quantized = onnx.load(tmp_path / "quantized.onnx")
    assert [node.op_type for node in quantized.graph.node] == ["DynamicQuantizeLSTM"]
    program = ttc.compile(tmp_path / "quantized.onnx", target=target)
    program.save(tmp_path / "m.tti")
    with ttc.load(tmp_path / "m.tti") as executor:
        (y,) = executor.run({"x": x}).values()
    assert np.abs(y - ort_results(quantized, {"x": x})[0]).max() < NEAR

"""Compile a quantized ONNX model: weights and activations of 8 bits, in the form that quantizers write (QuantizeLinear, DequantizeLinear).

    python examples/quantized_model.py

ttc computes a product of two dequantized operands on integers.  The script prints how far the quantized model is from the one that it
was made from, and that ttc and the definition of ONNX agree on it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import ttc

ROWS, INNER, COLUMNS = 16, 64, 32


def quantized(weights: NDArray, largest_input: float) -> onnx.ModelProto:
    """The model y = x @ weights with 8-bit operands: x[ROWS, INNER] -> y[ROWS, COLUMNS]; weights have a scale for each column."""
    scales = np.abs(weights).max(axis=0) / 127
    constants = {
        "x_scale": np.float32(largest_input / 127),
        "zero": np.int8(0),
        "w_int8": np.round(weights / scales).astype(np.int8),
        "w_scale": scales.astype(np.float32),
        "w_zero": np.zeros(COLUMNS, np.int8),
    }
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "x_scale", "zero"], ["x_int8"], name="quantize"),
        helper.make_node("DequantizeLinear", ["x_int8", "x_scale", "zero"], ["x_real"], name="dequantize_x"),
        helper.make_node("DequantizeLinear", ["w_int8", "w_scale", "w_zero"], ["w_real"], name="dequantize_w", axis=1),
        helper.make_node("MatMul", ["x_real", "w_real"], ["y"], name="product"),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [ROWS, INNER])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [ROWS, COLUMNS])
    graph = helper.make_graph(nodes, "quantized", [x], [y], [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def main() -> None:
    """Quantize a product, compile it, and compare."""
    random = np.random.default_rng(0)
    weights, x = random.standard_normal((INNER, COLUMNS)), random.standard_normal((ROWS, INNER)).astype(np.float32)
    model = quantized(weights, float(np.abs(x).max()))
    path = Path("quantized.onnx")
    onnx.save(model, path)

    ttc.compile(path, target="host").save("quantized.tti")
    with ttc.load("quantized.tti") as executor:
        found = executor.run({"x": x})["y"]
    (defined,) = map(np.asarray, ReferenceEvaluator(model).run(None, {"x": x}))
    real = x @ weights
    print(f"against ONNX's definition: largest difference {np.abs(found - defined).max():.1e}")
    print(f"against the model in float32: relative L2 error {np.linalg.norm(found - real) / np.linalg.norm(real):.1e}")


if __name__ == "__main__":
    main()

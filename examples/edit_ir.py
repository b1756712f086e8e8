"""Change a compiled model by hand: write its IR as text, edit the text, compile the text.

    python examples/edit_ir.py

The model is y = relu(x @ w).  The IR at the end of stage nn holds it as one op, `nn.matmul` with activation "relu"; the edit makes that
a "tanh".  Weights are no part of the text: --weights names the file that has them.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import ttc


def run(*command: str) -> None:
    """Run one command of ttc, shown as one would type it."""
    print(f"$ ttc {' '.join(command)}", flush=True)
    subprocess.run([sys.executable, "-m", "ttc", *command, "-q"], check=True)


def main() -> None:
    """Write the model, print its IR, edit it, compile and run what was edited."""
    random = np.random.default_rng(0)
    w = random.standard_normal((8, 4)).astype(np.float32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"], name="product"), helper.make_node("Relu", ["p"], ["y"], name="activation")]
    x_info = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 8])
    y_info = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4])
    graph = helper.make_graph(nodes, "model", [x_info], [y_info], [numpy_helper.from_array(w, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), "model.onnx")

    run("compile", "model.onnx", "--target", "host", "--to", "nn", "-o", "model.mlir")
    text = Path("model.mlir").read_text()
    print(next(line.strip() for line in text.splitlines() if "nn.matmul" in line))
    Path("edited.mlir").write_text(text.replace('activation = "relu"', 'activation = "tanh"'))
    run("compile", "edited.mlir", "--weights", "model.onnx", "-o", "edited.tti")

    x = random.standard_normal((2, 8)).astype(np.float32)
    with ttc.load("edited.tti") as executor:
        found = executor.run({"x": x})["y"]
    print(f"tanh(x @ w), largest difference {np.abs(found - np.tanh(x @ w)).max():.1e}")


if __name__ == "__main__":
    main()

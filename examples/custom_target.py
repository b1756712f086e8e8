"""Compile for chips that do not exist: how much faster is a model on more cores?

    python examples/custom_target.py

A target is a file that names an architecture and what differs from it.  `ttc perf` estimates what an archive costs there; no device is
needed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import ttc

GRIDS = ((1, 1), (2, 2), (4, 4), (8, 8))
"""Rows and columns of cores."""
SIZE, LAYERS = 256, 24
"""Rows and columns of each matrix, and how many products follow each other."""


def main() -> None:
    """Compile a chain of products for each grid, and print the estimated time of a run."""
    random = np.random.default_rng(0)
    weights = [numpy_helper.from_array(random.standard_normal((SIZE, SIZE)).astype(np.float32), f"w{i}") for i in range(LAYERS)]
    nodes = [helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"x{i + 1}"], name=f"product{i}") for i in range(LAYERS)]
    x = helper.make_tensor_value_info("x0", TensorProto.FLOAT, [SIZE, SIZE])
    y = helper.make_tensor_value_info(f"x{LAYERS}", TensorProto.FLOAT, [SIZE, SIZE])
    graph = helper.make_graph(nodes, "products", [x], [y], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), "products.onnx")

    for rows, columns in GRIDS:
        target = Path(f"chip_{rows}x{columns}.yaml")
        target.write_text(f"arch: wormhole_b0\ngrid: [{rows}, {columns}]\n")
        archive = target.with_suffix(".tti")
        ttc.compile("products.onnx", target=str(target), format="Bfp8_b").save(archive)
        report = subprocess.run([sys.executable, "-m", "ttc", "perf", str(archive), "--json"], check=True, capture_output=True)
        microseconds = json.loads(report.stdout)["seconds"] * 1e6
        print(f"{rows * columns:3} cores: {microseconds:7.1f} us a run")


if __name__ == "__main__":
    main()

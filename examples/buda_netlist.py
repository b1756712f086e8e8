"""Write a model as a netlist in the Buda format, check it, run it, and compare it with the archive.

    python examples/buda_netlist.py

The netlist runs with golden semantics, in which a Wormhole takes Float32 operands as Tf32, of 10 mantissa bits: both results agree to
about 1e-3.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def run(*command: str) -> None:
    """Run one command of ttc, shown as one would type it."""
    print(f"$ ttc {' '.join(command)}", flush=True)
    subprocess.run([sys.executable, "-m", "ttc", *command, "-q"], check=True)


def write_model(path: Path) -> None:
    """A product and a softmax: x[32, 64] -> y[32, 32]."""
    w = np.random.default_rng(0).standard_normal((64, 32)).astype(np.float32) / 8
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"], name="product"), helper.make_node("Softmax", ["p"], ["y"], name="softmax")]
    x_info = helper.make_tensor_value_info("x", TensorProto.FLOAT, [32, 64])
    y_info = helper.make_tensor_value_info("y", TensorProto.FLOAT, [32, 32])
    graph = helper.make_graph(nodes, "model", [x_info], [y_info], [numpy_helper.from_array(w, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), path)


def main() -> None:
    """Compile with the kernels of Buda, emit the netlist, and run it on the same input as the archive."""
    write_model(Path("model.onnx"))
    emit = ("--emit-netlist", "model.yaml", "--emit-values", "constants.npz")
    run("compile", "model.onnx", "-o", "model.tti", "--kernels", "buda", *emit)
    run("netlist", "check", "model.yaml")

    x = np.random.default_rng(1).standard_normal((32, 64)).astype(np.float32)
    np.save("x.npy", x)
    np.savez("x.npz", x=x.reshape(1, 1, 32, 64))  # queues hold entries of [t, rows, columns]
    run("run", "model.tti", "--input", "x=x.npy", "--output-dir", "archive")
    values = ("--inputs", "constants.npz", "--inputs", "x.npz")
    run("netlist", "run", "model.yaml", *values, "--rounding", "formats", "--output-dir", "netlist")

    ours, theirs = np.load("archive/y.npy"), np.load("netlist/y.npy").reshape(32, 32)
    print(f"netlist against archive: largest difference {np.abs(ours - theirs).max():.1e}")


if __name__ == "__main__":
    main()

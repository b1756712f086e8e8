"""A training archive of a small network, and samples for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper, save

import ttc
from tests.draws import generator

FEATURES, CLASSES, BATCH, ROWS = 6, 3, 4, 24


def write_model(path: Path) -> None:
    """x[BATCH, FEATURES] -> scores[BATCH, CLASSES], by two layers with random weights."""
    draws = generator("network")
    sizes = {"w1": (8, FEATURES), "b1": (8,), "w2": (CLASSES, 8), "b2": (CLASSES,)}
    weights = {name: draws.standard_normal(shape).astype(np.float32) * np.float32(0.5) for name, shape in sizes.items()}
    nodes = [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["h"], name="first", transB=1),
        helper.make_node("Tanh", ["h"], ["a"], name="tanh"),
        helper.make_node("Gemm", ["a", "w2", "b2"], ["scores"], name="second", transB=1),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [BATCH, FEATURES])
    y = helper.make_tensor_value_info("scores", TensorProto.FLOAT, [BATCH, CLASSES])
    graph = helper.make_graph(nodes, "digits", [x], [y], [numpy_helper.from_array(v, k) for k, v in weights.items()])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)


def write_archive(folder: Path, **options: object) -> Path:
    """The model compiled for training with cross-entropy and Adam."""
    model, archive = folder / "digits.onnx", folder / "digits.tti"
    write_model(model)
    chosen = {"target": "host", "loss": "cross_entropy", "optimizer": "adam:lr=0.01", **options}
    ttc.compile(model, **chosen).save(archive)  # pyright: ignore[reportArgumentType]
    return archive


def samples(rows: int = ROWS) -> dict[str, NDArray]:
    """Rows of features, and the classes that a linear rule gives them."""
    draws = generator("samples")
    x, rule = draws.standard_normal((rows, FEATURES)).astype(np.float32), draws.standard_normal((FEATURES, CLASSES))
    return {"x": x, "target": (x @ rule).argmax(axis=1)}


def write_samples(path: Path, rows: int = ROWS, **changes: NDArray) -> Path:
    """Samples in an .npz file."""
    np.savez(path, **{**samples(rows), **changes})  # pyright: ignore[reportArgumentType]
    return path

"""Classify an image with a network from an ONNX file.

    python examples/classify_image.py                          # a small network with random weights, and a random image
    python examples/classify_image.py model.onnx image.npy     # your own

An image of your own is a float32 array [height, width, 3] of numbers from 0 to 1, of the size that the network takes.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

import ttc

MEAN, DEVIATION = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
"""Mean and standard deviation of red, green and blue in ImageNet, which most networks for images are trained on."""


def small_network(path: Path, classes: int = 10) -> None:
    """Write a network of two convolutions: image[1, 3, 32, 32] -> logits[1, classes]."""
    random = np.random.default_rng(0)
    shapes = {"w1": (16, 3, 3, 3), "w2": (32, 16, 3, 3), "w3": (32, classes)}
    weights = [numpy_helper.from_array((random.standard_normal(s) / 4).astype(np.float32), name) for name, s in shapes.items()]
    nodes = [
        helper.make_node("Conv", ["image", "w1"], ["c1"], name="conv1", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c1"], ["r1"], name="relu1"),
        helper.make_node("MaxPool", ["r1"], ["p1"], name="pool1", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["p1", "w2"], ["c2"], name="conv2", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c2"], ["r2"], name="relu2"),
        helper.make_node("GlobalAveragePool", ["r2"], ["p2"], name="pool2"),
        helper.make_node("Flatten", ["p2"], ["f"], name="flatten"),
        helper.make_node("MatMul", ["f", "w3"], ["logits"], name="classify"),
    ]
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 32, 32])
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, classes])
    graph = helper.make_graph(nodes, "small", [image], [logits], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), path)


def prepared(image: NDArray) -> NDArray:
    """image[height, width, 3] from 0 to 1 as a network takes it: float32[1, 3, height, width], normalized."""
    normalized = (image - MEAN) / DEVIATION
    return np.ascontiguousarray(normalized.transpose(2, 0, 1)[None].astype(np.float32))


def main(model: Path | None = None, picture: Path | None = None) -> None:
    """Compile the network, run it on the image, and print the five likeliest classes."""
    if model is None:
        model = Path("small.onnx")
        small_network(model)
    image = np.random.default_rng(1).random((32, 32, 3)) if picture is None else np.load(picture)

    ttc.compile(model, target="host").save(model.with_suffix(".tti"))
    with ttc.load(model.with_suffix(".tti")) as executor:
        (logits,) = executor(prepared(image))
    powers = np.exp(logits[0] - logits.max())
    probabilities = powers / powers.sum()
    for label in np.argsort(-probabilities)[:5]:
        print(f"class {label}: {probabilities[label]:.3f}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))

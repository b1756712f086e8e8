"""Train a small convolutional network on scikit-learn's handwritten digits: an ONNX file, two commands, no framework.

    python examples/train_digits.py

The first command compiles the model with a loss and an optimizer; the second trains it on samples in files of numpy, with a schedule of
learning rates, checkpoints, and a curve of the losses.  `ttc train ... --resume auto` goes on from the newest checkpoint.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper
from sklearn.datasets import load_digits

import ttc

ROWS, CLASSES, CHANNELS = 32, 10, (16, 32)
"""Rows of an update, classes, and channels of the two convolutions."""


def network(random: np.random.Generator) -> onnx.ModelProto:
    """Two convolutions and a linear layer with random weights: image[rows, 1, 8, 8] -> scores[rows, CLASSES]."""

    def drawn(*shape: int) -> NDArray[np.float32]:
        return (random.standard_normal(shape) * np.sqrt(2 / np.prod(shape[1:]))).astype(np.float32)

    first, second = CHANNELS
    weights = {
        "conv1.weight": drawn(first, 1, 3, 3),
        "conv1.bias": np.zeros(first, np.float32),
        "conv2.weight": drawn(second, first, 3, 3),
        "conv2.bias": np.zeros(second, np.float32),
        "linear.weight": drawn(CLASSES, second * 16),
        "linear.bias": np.zeros(CLASSES, np.float32),
    }
    nodes = [
        helper.make_node("Conv", ["image", "conv1.weight", "conv1.bias"], ["a"], name="conv1", pads=[1] * 4),
        helper.make_node("Relu", ["a"], ["b"], name="relu1"),
        helper.make_node("Conv", ["b", "conv2.weight", "conv2.bias"], ["c"], name="conv2", pads=[1] * 4),
        helper.make_node("Relu", ["c"], ["d"], name="relu2"),
        helper.make_node("MaxPool", ["d"], ["e"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["e"], ["f"], name="flatten"),
        helper.make_node("Gemm", ["f", "linear.weight", "linear.bias"], ["scores"], name="linear", transB=1),
    ]
    image = helper.make_tensor_value_info("image", onnx.TensorProto.FLOAT, ["rows", 1, 8, 8])
    scores = helper.make_tensor_value_info("scores", onnx.TensorProto.FLOAT, ["rows", CLASSES])
    graph = helper.make_graph(nodes, "digits", [image], [scores], [numpy_helper.from_array(v, k) for k, v in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def command(line: str) -> None:
    """Run a command of ttc."""
    subprocess.run([sys.executable, "-m", "ttc", *line.split()], check=True)


def main() -> None:
    """Write the model and the samples, compile, train, and count what is right."""
    random = np.random.default_rng(0)
    onnx.save(network(random), "digits.onnx")
    pixels, labels = load_digits(return_X_y=True)
    images = (pixels.reshape(-1, 1, 8, 8) / 16).astype(np.float32)
    order = random.permutation(len(images))[: 56 * ROWS]
    training, validation = order[: 44 * ROWS], order[44 * ROWS :]
    np.savez("training.npz", image=images[training], target=labels[training])
    np.savez("validation.npz", image=images[validation], target=labels[validation])

    command(
        f"compile digits.onnx --target host --batch {ROWS} --loss cross_entropy --optimizer adamw:lr=0.01,weight_decay=0.01 -o digits.tti"
    )
    files = "--checkpoint checkpoints --log digits.csv --curve digits.svg -o trained.tti"
    command(f"train digits.tti --data training.npz --val validation.npz --epochs 8 --shuffle --schedule onecycle {files}")

    right = 0
    with ttc.load(Path("trained.tti")) as executor:
        for first in range(0, len(validation), ROWS):
            rows = validation[first : first + ROWS]
            found = executor.run({"image": images[rows], "target": labels[rows]}, "evaluate")
            right += int((found["scores"].argmax(axis=1) == labels[rows]).sum())
    print(f"right: {right} of {len(validation)}")


if __name__ == "__main__":
    main()

"""`make demo`: write a ResNet-50 with seeded random weights, compile it, run it, and compare it with onnxruntime.

Nothing is downloaded: the model is made with onnx's own helpers.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from ttc.cli import main as ttc

STAGES = ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2))
"""(blocks, width of their 3 x 3 convolutions, stride of the first) for each stage of ResNet-50."""
EXPANSION = 4
"""The channels that a block gives, by its width."""


@dataclass
class Builder:
    """Nodes and weights of a model under construction; values are named after the node that gives them."""

    random: np.random.Generator
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    weights: list[onnx.TensorProto] = field(default_factory=list)

    def weight(self, name: str, value: NDArray) -> str:
        self.weights.append(numpy_helper.from_array(value.astype(np.float32), name))
        return name

    def node(self, kind: str, name: str, *inputs: str, **attrs: Any) -> str:
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=f"/{name}", **attrs))
        return name

    def conv_norm(self, name: str, x: str, channels: tuple[int, int], size: int, stride: int = 1, gain: float = 1.0) -> str:
        """Return a convolution of channels (in, out) without bias, and its batch normalisation with scales around `gain`."""
        fan_in = channels[0] * size * size
        kernel = self.random.standard_normal((channels[1], channels[0], size, size)) * np.sqrt(2 / fan_in)
        pads = [size // 2] * 4
        conv = self.node(
            "Conv", f"{name}.conv", x, self.weight(f"{name}.w", kernel), strides=[stride] * 2, pads=pads, kernel_shape=[size] * 2
        )
        spread = 0.1 * self.random.standard_normal((3, channels[1]))
        statistics = {
            "scale": gain * (1 + spread[0]),
            "shift": spread[1],
            "mean": spread[2],
            "var": self.random.uniform(0.8, 1.2, channels[1]),
        }
        return self.node(
            "BatchNormalization", f"{name}.norm", conv, *[self.weight(f"{name}.{k}", v) for k, v in statistics.items()], epsilon=1e-5
        )

    def block(self, name: str, x: str, channels: int, width: int, stride: int) -> str:
        """Return a bottleneck: 1 x 1, 3 x 3, 1 x 1 convolutions beside a shortcut."""
        out = width * EXPANSION
        y = self.node("Relu", f"{name}.relu1", self.conv_norm(f"{name}.1", x, (channels, width), 1))
        y = self.node("Relu", f"{name}.relu2", self.conv_norm(f"{name}.2", y, (width, width), 3, stride))
        y = self.conv_norm(f"{name}.3", y, (width, out), 1, gain=0.25)
        shortcut = x if channels == out and stride == 1 else self.conv_norm(f"{name}.down", x, (channels, out), 1, stride)
        return self.node("Relu", f"{name}.relu3", self.node("Add", f"{name}.add", y, shortcut))


def resnet50(seed: int = 0, image: int = 224, classes: int = 1000) -> onnx.ModelProto:
    """Return a ResNet-50: x[1, 3, image, image] -> logits[1, classes]."""
    b = Builder(np.random.default_rng(seed))
    y = b.node("Relu", "stem.relu", b.conv_norm("stem", "x", (3, 64), 7, 2))
    y = b.node("MaxPool", "stem.pool", y, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = 64
    for stage, (blocks, width, stride) in enumerate(STAGES, 1):
        for block in range(blocks):
            y = b.block(f"layer{stage}.{block}", y, channels, width, stride if block == 0 else 1)
            channels = width * EXPANSION
    y = b.node("Flatten", "flat", b.node("GlobalAveragePool", "pool", y), axis=1)
    head = b.random.standard_normal((classes, channels)) / np.sqrt(channels)
    b.node("Gemm", "logits", y, b.weight("head.w", head), b.weight("head.b", np.zeros(classes)), transB=1)
    graph = helper.make_graph(
        b.nodes,
        "resnet50",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, image, image])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, classes])],
        b.weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def run(*command: str) -> None:
    """Run one command of ttc, shown as one would type it.  Ends the demo with its status if it fails."""
    print(f"\n$ ttc {' '.join(command)}", flush=True)
    status = ttc(command)
    if status:
        sys.exit(status)


def main(folder: Path = Path("demo")) -> None:
    """Run the whole demo; files go to `folder`."""
    folder.mkdir(exist_ok=True)
    model, archive = folder / "resnet50.onnx", folder / "resnet50.tti"
    print(f"writing {model}: ResNet-50, random weights of seed 0")
    onnx.save(resnet50(), model)
    run("compile", str(model), "-o", str(archive))
    run("info", str(archive))
    run("run", str(archive), "--repeat", "3", "--check", str(model))


if __name__ == "__main__":
    main()

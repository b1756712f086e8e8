"""Microseconds an op of every pass of stages nn and tile, on encoders of about 1,000, 4,000 and 10,000 nodes.

    python tools/bench_passes.py [--training] [--json] [--sizes 1000,4000]

With --training the encoders are training programs, with a loss and AdamW; an op counts where it is before the pass, so that `differentiate`
and what follows it pay for all that they make.

A pass is flagged where it takes more than 40 us/op at the largest size, or where its time grows faster than the ops do: more than 1.6 times
the time an op of the smallest size, and over 2 us/op.  Exits with 1 if a pass is flagged.  Each figure is the least of three runs.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, helper, numpy_helper, save

import checkout  # noqa: F401  the packages of this checkout
from ttc.compiler.driver import compile_path
from ttc.options import CompileOptions
from ttc.settings.train_options import TrainOptions

SIZES = (1000, 4000, 10000)
WIDTH, LENGTH, HEADS = 32, 16, 2
MOST_MICROSECONDS, GROWTH, NEGLIGIBLE = 40.0, 1.6, 2.0
RUNS = 3


class Encoder:
    """Encoder layers as exporters write them: normalizations, GELUs and attention in pieces."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: dict[str, np.ndarray] = {}
        self._draw = np.random.default_rng(0)

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        name = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=name, **attributes))
        return name

    def weight(self, *shape: int) -> str:
        return self.constant((self._draw.standard_normal(shape) / 8).astype(np.float32))

    def constant(self, value: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(value)
        return name

    def linear(self, x: str, inner: int, outer: int) -> str:
        return self.node("Add", self.node("MatMul", x, self.weight(inner, outer)), self.weight(outer))

    def norm(self, x: str) -> str:
        axes = self.constant([-1])
        centred = self.node("Sub", x, self.node("ReduceMean", x, axes))
        variance = self.node("ReduceMean", self.node("Mul", centred, centred), axes)
        scale = self.node("Sqrt", self.node("Add", variance, self.constant(np.float32(1e-5))))
        return self.node("Add", self.node("Mul", self.node("Div", centred, scale), self.weight(WIDTH)), self.weight(WIDTH))

    def heads(self, x: str, perm: list[int]) -> str:
        parted = self.node("Reshape", self.linear(x, WIDTH, WIDTH), self.constant([1, LENGTH, HEADS, WIDTH // HEADS]))
        return self.node("Transpose", parted, perm=perm)

    def layer(self, x: str) -> str:
        query, key, value = (self.heads(x, perm) for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        scores = self.node("Mul", self.node("MatMul", query, key), self.constant(np.float32(0.25)))
        mixed = self.node("Transpose", self.node("MatMul", self.node("Softmax", scores, axis=-1), value), perm=[0, 2, 1, 3])
        x = self.norm(self.node("Add", x, self.linear(self.node("Reshape", mixed, self.constant([1, LENGTH, WIDTH])), WIDTH, WIDTH)))
        y = self.linear(x, WIDTH, 2 * WIDTH)
        error = self.node("Add", self.node("Erf", self.node("Div", y, self.constant(np.float32(2**0.5)))), self.constant(np.float32(1)))
        y = self.node("Mul", self.node("Mul", y, error), self.constant(np.float32(0.5)))
        return self.norm(self.node("Add", x, self.linear(y, 2 * WIDTH, WIDTH)))

    def model(self, result: str) -> ModelProto:
        borders = [helper.make_tensor_value_info(name, 1, [1, LENGTH, WIDTH]) for name in ("x", result)]
        values = [numpy_helper.from_array(value, name) for name, value in self.constants.items()]
        graph = helper.make_graph(self.nodes, "encoder", borders[:1], borders[1:], values)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def encoder(size: int) -> ModelProto:
    """Return an encoder of at least that many nodes."""
    made, x = Encoder(), "x"
    while len(made.nodes) < size:
        x = made.layer(x)
    return made.model(x)


def measure(path: Path, *, training: bool = False) -> dict[str, float]:
    """Return microseconds an op of each run of a pass, by `stage:pass@run`; the least of several compilations."""
    options = CompileOptions(to="tile", training=TrainOptions(loss="mse", optimizer="adamw") if training else None)
    best: dict[str, float] = {}
    for _ in range(RUNS):
        counts: dict[str, int] = {}
        gc.collect()
        for stage in compile_path(path, options, count_ops=True).times:
            for run in stage.passes:
                counts[run.name] = counts.get(run.name, 0) + 1
                name = f"{stage.stage}:{run.name}@{counts[run.name]}"
                cost = run.seconds * 1e6 / max(run.ops_before, 1)
                best[name] = min(best.get(name, cost), cost)
    return best


def flags(costs: list[float]) -> list[str]:
    """Return what is wrong with a pass that takes these microseconds an op, by size."""
    found = []
    if costs[-1] > MOST_MICROSECONDS:
        found.append(f"over {MOST_MICROSECONDS:.0f} us/op")
    if costs[-1] > GROWTH * costs[0] and costs[-1] > NEGLIGIBLE:
        found.append("grows faster than linear")
    return found


def main() -> int:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--training", action="store_true", help="measure training programs")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    arguments = parser.parse_args()
    sizes = [int(size) for size in arguments.sizes.split(",")]
    tables = []
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            path = Path(folder) / "encoder.onnx"
            save(encoder(size), path)
            tables.append(measure(path, training=arguments.training))
    rows = {name: [table[name] for table in tables] for name in tables[0]}
    wrong = {name: found for name, costs in rows.items() if (found := flags(costs))}
    if arguments.json:
        print(json.dumps({"sizes": sizes, "microseconds_per_op": rows, "flags": wrong}, indent=1))
    else:
        print("pass".ljust(34), *(f"{size:>9}" for size in sizes))
        for name, costs in rows.items():
            print(name.ljust(34), *(f"{cost:9.2f}" for cost in costs), "  ".join(wrong.get(name, [])))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

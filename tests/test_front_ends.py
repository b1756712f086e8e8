"""One residual network written in PyTorch, ONNX and TensorFlow is one netlist, but for weights and source names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, helper, numpy_helper, save

from ttc.compiler.driver import compile_source
from ttc.compiler.source import Source, open_source
from ttc.dialects.core.plain.functions import Function, Work
from ttc.dialects.netlist.model import Netlist, Queue
from ttc.options import CompileOptions
from ttc.runtime.executor import Executor
from ttc.runtime.program import Program

torch = pytest.importorskip("torch", reason="torch has a build for Python 3.11 alone")
keras = pytest.importorskip("keras", reason="keras comes with TensorFlow, which is optional")

CHANNELS, EPSILON = 8, 1e-3
SHAPES = {"stem": (CHANNELS, 3, 3), "a": (CHANNELS, CHANNELS, 3), "b": (CHANNELS, CHANNELS, 3)}
SHAPES |= {"down": (2 * CHANNELS, CHANNELS, 3), "skip": (2 * CHANNELS, CHANNELS, 1)}
"""Output channels, input channels and kernel of each convolution."""


@dataclass(frozen=True)
class Weights:
    """convs: [o, i, h, w] by name; norms: scale, offset, mean, variance; dense: [o, i]; bias: [o]."""

    convs: dict[str, NDArray]
    norms: dict[str, tuple[NDArray, ...]]
    dense: NDArray
    bias: NDArray


@pytest.fixture(scope="module")
def weights() -> Weights:
    draw = np.random.default_rng(0)

    def normal(*shape: int) -> NDArray:
        return (draw.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)

    def norm(size: int) -> tuple[NDArray, ...]:
        scale, variance = draw.random(size) + 0.5, draw.random(size) + 0.5
        offset, mean = draw.standard_normal(size), draw.standard_normal(size)
        return tuple(x.astype(np.float32) for x in (scale, offset, mean, variance))

    convs = {name: normal(o, i, k, k) for name, (o, i, k) in SHAPES.items()}
    norms = {name: norm(SHAPES[name][0]) for name in ("stem", "a", "b", "down")}
    return Weights(convs, norms, normal(10, 2 * CHANNELS), normal(10))


# ---- the network, three times ---------------------------------------------------------------------------------------------------


class Network(torch.nn.Module):
    """x[n, h, w, c] as TensorFlow has it."""

    def __init__(self, weights: Weights) -> None:
        super().__init__()
        self.convs, self.norms = torch.nn.ModuleDict(), torch.nn.ModuleDict()
        for name, value in weights.convs.items():
            out, inner, kernel, _ = value.shape
            self.convs[name] = torch.nn.Conv2d(inner, out, kernel, padding=kernel // 2, bias=False)
            self.convs[name].weight = torch.nn.Parameter(torch.tensor(value))
        for name, values in weights.norms.items():
            norm: Any = torch.nn.BatchNorm2d(len(values[0]), eps=EPSILON)
            norm.weight, norm.bias = (torch.nn.Parameter(torch.tensor(x)) for x in values[:2])
            norm.running_mean, norm.running_var = (torch.tensor(x) for x in values[2:])
            self.norms[name] = norm
        self.dense = torch.nn.Linear(2 * CHANNELS, 10)
        self.dense.weight, self.dense.bias = (torch.nn.Parameter(torch.tensor(x)) for x in (weights.dense, weights.bias))

    def layer(self, name: str, x: Any) -> Any:
        return self.norms[name](self.convs[name](x))

    def forward(self, x: Any) -> Any:
        x = torch.relu(self.layer("stem", x.permute(0, 3, 1, 2)))
        x = torch.nn.functional.max_pool2d(x, 2)
        x = torch.relu(x + self.layer("b", torch.relu(self.layer("a", x))))
        x = torch.relu(self.layer("down", x) + self.convs["skip"](x))
        return torch.softmax(self.dense(x.mean((2, 3))), -1)


def save_torch(weights: Weights, path: Path) -> None:
    network = Network(weights).eval()
    torch.export.save(torch.export.export(network, (torch.zeros(1, 16, 16, 3),)), path)


def onnx_model(weights: Weights) -> ModelProto:
    nodes: list[NodeProto] = []
    constants = {f"{name}.w": value for name, value in weights.convs.items()}
    constants |= {f"{name}.{i}": value for name, values in weights.norms.items() for i, value in enumerate(values)}
    constants |= {"dense": weights.dense, "bias": weights.bias, "axes": np.array([2, 3])}

    def node(op: str, inputs: list[str], output: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def conv(name: str, x: str) -> str:
        return node("Conv", [x, f"{name}.w"], f"{name}.conv", pads=[SHAPES[name][2] // 2] * 4)

    def layer(name: str, x: str) -> str:
        return node("BatchNormalization", [conv(name, x), *(f"{name}.{i}" for i in range(4))], f"{name}.norm", epsilon=EPSILON)

    x = node("Relu", [layer("stem", node("Transpose", ["x"], "nchw", perm=[0, 3, 1, 2]))], "relu0")
    x = node("MaxPool", [x], "pool", kernel_shape=[2, 2], strides=[2, 2])
    inner = layer("b", node("Relu", [layer("a", x)], "relu1"))
    x = node("Relu", [node("Add", [x, inner], "add1")], "relu2")
    x = node("Relu", [node("Add", [layer("down", x), conv("skip", x)], "add2")], "relu3")
    x = node("Gemm", [node("ReduceMean", [x, "axes"], "mean", keepdims=0), "dense", "bias"], "gemm", transB=1)
    node("Softmax", [x], "y")
    borders = [helper.make_tensor_value_info(name, 1, shape) for name, shape in (("x", [1, 16, 16, 3]), ("y", [1, 10]))]
    values = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "network", borders[:1], borders[1:], values)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def save_keras(weights: Weights, path: Path) -> None:
    layers: Any = keras.layers
    made: list[tuple[Any, list[NDArray]]] = []

    def conv(name: str, x: Any) -> Any:
        out, _, kernel, _ = weights.convs[name].shape
        made.append((layers.Conv2D(out, kernel, padding="same", use_bias=False, name=name), [weights.convs[name].transpose(2, 3, 1, 0)]))
        return made[-1][0](x)

    def layer(name: str, x: Any) -> Any:
        norm = layers.BatchNormalization(epsilon=EPSILON, name=f"{name}_norm")
        x = norm(conv(name, x))
        made.append((norm, list(weights.norms[name])))
        return x

    start = keras.Input((16, 16, 3), batch_size=1, name="x")
    x = layers.MaxPool2D(2)(layers.ReLU()(layer("stem", start)))
    x = layers.ReLU()(layers.Add()([x, layer("b", layers.ReLU()(layer("a", x)))]))
    x = layers.ReLU()(layers.Add()([layer("down", x), conv("skip", x)]))
    made.append((layers.Dense(10, activation="softmax", name="dense"), [weights.dense.T, weights.bias]))
    model = keras.Model(start, made[-1][0](layers.GlobalAveragePooling2D()(x)))
    for item, values in made:
        item.set_weights(values)
    model.save(path)


@pytest.fixture(scope="module")
def models(weights: Weights, tmp_path_factory: pytest.TempPathFactory) -> list[Source]:
    """Imported once each: from ONNX, PyTorch and TensorFlow."""
    folder = tmp_path_factory.mktemp("models")
    save_torch(weights, folder / "network.pt2")
    save(onnx_model(weights), folder / "network.onnx")
    save_keras(weights, folder / "network.keras")
    return [open_source(folder / f"network.{kind}", CompileOptions()) for kind in ("onnx", "pt2", "keras")]


# ---- comparison -----------------------------------------------------------------------------------------------------------------


def described(netlist: Netlist) -> list[object]:
    """All that a netlist says, names replaced by numbers.  Weights are left out: their addresses, and which way round they are stored."""
    numbers = {name: str(i) for i, name in enumerate([*netlist.queues, *(op.name for g in netlist.graphs.values() for op in g.ops)])}
    queues = [_queue(queue, numbers) for queue in netlist.queues.values()]
    ops = [
        replace(op, name=numbers[op.name], inputs=tuple(numbers[x] for x in op.inputs), work=_function(op.work), location=())
        for graph in netlist.graphs.values()
        for op in graph.ops
    ]
    writes = [(numbers[op], numbers[queue]) for graph in netlist.graphs.values() for op, queue in graph.writes]
    return [*queues, *ops, writes, netlist.chip]


def _queue(queue: Queue, numbers: dict[str, str]) -> object:
    if queue.kind in ("parameter", "constant"):
        return numbers[queue.name], sorted(queue.tensor.shape), queue.tensor.format, queue.location
    return replace(queue, name=numbers[queue.name], source=numbers.get(queue.source, queue.source), buffers=(), key=None)


def _function(function: Function) -> Function:
    return Function(tuple(map(_sorted, function.inputs)), tuple(map(_work, function.works)), function.outputs)


def _work(work: Work) -> Work:
    kept = {name: value for name, value in work.attrs.items() if name != "transpose_b"}
    return replace(work, attrs=kept, location=(), body=None if work.body is None else _function(work.body))


def _sorted(type_: Any) -> Any:
    return replace(type_, shape=tuple(sorted(type_.shape)))


def _program(source: Source, target: str) -> Program:
    copy = Source(source.module.clone(), source.weights.copy(), source.stage)
    return compile_source(copy, CompileOptions(target=target)).program()


@pytest.mark.parametrize("target", ["host", "n150"])
def test_the_netlist_is_the_same(models: list[Source], target: str) -> None:
    first, *others = [described(_program(model, target).netlist) for model in models]
    for other in others:
        assert other == first


def test_no_transpose_is_left_inside(models: list[Source]) -> None:
    for model in models:
        netlist = _program(model, "n150").netlist
        kinds = [work.op for graph in netlist.graphs.values() for op in graph.ops for work in op.work.works]
        assert "tile.transpose" not in kinds
        assert kinds.count("tile.conv2d") == len(SHAPES)


def test_the_numbers_are_the_same(models: list[Source], weights: Weights) -> None:
    x = np.random.default_rng(1).standard_normal((1, 16, 16, 3)).astype(np.float32)
    expected = Network(weights).eval()(torch.tensor(x)).detach().numpy()
    for model in models:
        with Executor(_program(model, "host")) as executor:
            (found,) = executor.run({"x": x}).values()
        np.testing.assert_allclose(found, expected, atol=1e-5)

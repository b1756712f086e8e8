"""Random ONNX models: valid and broken ones, with odd shapes, dynamic dimensions, wide fan-in and ops that nobody supports.

The same seed gives the same models.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper, shape_inference

SIZES = (1, 1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 33, 48, 64, 100)
"""The sizes that dimensions take: small and odd ones."""
ODD = 0.02
"""How often a choice is made that hardly any model makes: an empty dimension, a mode or type that an op does not have."""
MOST = 1 << 20
"""The most elements of an input."""
UNARY = (
    *("Relu", "Sigmoid", "Tanh", "Erf", "Exp", "Log", "Sqrt", "Neg", "Abs", "Sign", "Floor", "Ceil", "Round", "Softplus", "Softsign"),
    *("Reciprocal", "HardSigmoid", "Elu", "Selu", "LeakyRelu", "Sin", "Cos", "Atan", "Identity", "HardSwish", "Mish", "Gelu", "Dropout"),
)
BINARY = ("Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Less", "Equal", "Greater", "PRelu")
REDUCED = ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL2", "ReduceLogSumExp")
ALONG = ("Softmax", "LogSoftmax", "Hardmax", "ArgMax", "ArgMin")
DTYPES = (
    TensorProto.FLOAT,
    TensorProto.FLOAT,
    TensorProto.FLOAT,
    TensorProto.FLOAT16,
    TensorProto.INT64,
    TensorProto.INT32,
    TensorProto.DOUBLE,
)
CASTS = (*DTYPES, TensorProto.BOOL, TensorProto.UINT8, TensorProto.INT8, TensorProto.BFLOAT16, TensorProto.STRING, TensorProto.COMPLEX64)
UNSUPPORTED = (("Mystery", "nobody"), ("Unheard", ""), ("Gradient", "ai.onnx.preview.training"), ("QGemm", "com.microsoft"))


@dataclass
class Value:
    """A value of the graph, its shape as far as it is known."""

    name: str
    shape: tuple[int, ...]
    dtype: int


@dataclass
class Draft:
    """A graph in the making."""

    random: Random
    inputs: list[Value] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    nodes: list[NodeProto] = field(default_factory=list)
    weights: dict[str, np.ndarray] = field(default_factory=dict)
    broken: bool = False  # a node has no legal result: from here on nothing is inferred, which not every version of ONNX survives

    def odd(self, often: float = ODD) -> bool:
        """Return whether to do something unusual."""
        return self.random.random() < often

    def pick(self, usual: Sequence[Any], *odd: Any) -> Any:
        """Return one of the usual choices, or seldom one of the odd ones."""
        return self.random.choice(odd if odd and self.odd() else usual)

    def size(self) -> int:
        return self.pick(SIZES, 0)

    def value(self) -> Value:
        """Return a value to read, mostly one of floats whose shape is known."""
        floats = [v for v in self.values if v.dtype == TensorProto.FLOAT and v.shape]
        return self.random.choice(self.values if self.odd(0.05) or not floats else floats)

    def input(self, shape: tuple[int, ...], dtype: int = TensorProto.FLOAT) -> Value:
        made = Value(f"x{len(self.inputs)}", shape, dtype)
        self.inputs.append(made)
        self.values.append(made)
        return made

    def of_rank(self, rank: int) -> Value:
        """Return a value of floats of that rank; a new input if there is none, or seldom any other."""
        found = [v for v in self.values if len(v.shape) == rank and v.dtype == TensorProto.FLOAT]
        if self.odd():
            return self.value()
        return self.random.choice(found) if found and self.odd(0.7) else self.input((1, *[self.size() for _ in range(rank - 1)]))

    def weight(self, array: np.ndarray) -> str:
        name = f"w{len(self.weights)}"
        self.weights[name] = array
        return name

    def floats(self, *shape: int) -> str:
        """Return a weight; it depends on its shape alone."""
        return self.weight((np.arange(int(np.prod(shape))) % 7 - 3).astype(np.float32).reshape(shape) / 8)

    def ints(self, *values: int) -> str:
        return self.weight(np.array(values, np.int64))

    def axis(self, x: Value) -> int:
        """Return an axis, mostly of a dimension of x."""
        rank = len(x.shape)
        return self.random.randint(-rank - 1, rank + 1) if self.odd() or not rank else self.random.randrange(-rank, rank)

    def node(self, op: str, inputs: list[str], outputs: int = 1, domain: str = "", **attrs: Any) -> None:
        """Add a node, and its results with the shapes that are inferred for them."""
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        attrs = {key: value for key, value in attrs.items() if value != []}
        self.nodes.append(helper.make_node(op, inputs, names, name=f"/{op}_{len(self.nodes)}", domain=domain, **attrs))
        known = _inferred(self, names)
        self.values += [known.get(name, Value(name, (), TensorProto.UNDEFINED)) for name in names]


def _inferred(draft: Draft, names: list[str]) -> dict[str, Value]:
    if draft.broken:
        return {}
    try:
        model = shape_inference.infer_shapes(_model(draft, names, {}), strict_mode=True, data_prop=True)
    except Exception:
        draft.broken = True
        return {}
    found: dict[str, Value] = {}
    for info in model.graph.output:
        dims = info.type.tensor_type.shape.dim
        if info.type.tensor_type.HasField("shape") and all(dim.HasField("dim_value") for dim in dims):
            found[info.name] = Value(info.name, tuple(dim.dim_value for dim in dims), info.type.tensor_type.elem_type)
    draft.broken = any(size < 0 for value in found.values() for size in value.shape)
    return {} if draft.broken else found


# ---- kinds of nodes -----------------------------------------------------------------------------------------------------------------


def _unary(d: Draft) -> None:
    d.node(d.pick(UNARY, "Not", "BitwiseNot"), [d.value().name])


def _binary(d: Draft) -> None:
    x = d.value()
    others = [v.name for v in d.values if v.dtype == x.dtype and v.shape == x.shape] + [d.floats(*x.shape[-1:])]
    d.node(d.pick(BINARY, "And", "Mod", "BitShift"), [x.name, d.value().name if d.odd() else d.random.choice(others)])


def _matmul(d: Draft) -> None:
    x = d.value()
    inner = d.size() if d.odd() or not x.shape else x.shape[-1]
    d.node("MatMul", [x.name, d.floats(inner, d.size())])


def _gemm(d: Draft) -> None:
    x = d.of_rank(2)
    d.node("Gemm", [x.name, d.floats(d.size(), x.shape[-1] if x.shape else 3)], transB=1, alpha=d.random.choice([1.0, 0.5]))


def _conv(d: Draft) -> None:
    x = d.of_rank(d.pick([3, 4, 4, 5], 2))
    spatial = max(len(x.shape) - 2, 1)
    channels, kernel = x.shape[1] if len(x.shape) > 1 else 1, d.pick([1, 2, 3], 30)
    attrs: dict[str, Any] = {"strides": [d.random.choice([1, 2, 3])] * spatial, "pads": [d.pick([0, 1, 2], -1)] * 2 * spatial}
    if d.random.random() < 0.2:
        attrs = {"auto_pad": d.pick(["SAME_UPPER", "SAME_LOWER", "VALID"], "NONSENSE")}
    d.node(d.random.choice(["Conv", "Conv", "ConvTranspose"]), [x.name, d.floats(channels, channels, *[kernel] * spatial)], **attrs)


def _pool(d: Draft) -> None:
    x = d.of_rank(d.pick([3, 4, 4, 5], 2))
    if d.random.random() < 0.3:
        return d.node(d.random.choice(["GlobalAveragePool", "GlobalMaxPool"]), [x.name])
    spatial = max(len(x.shape) - 2, 1)
    return d.node(d.random.choice(["MaxPool", "AveragePool"]), [x.name], kernel_shape=[d.pick([1, 2, 3], 21)] * spatial)


def _norm(d: Draft) -> None:
    x = d.value()
    width = x.shape[-1] if x.shape else 4
    if d.random.random() < 0.5:
        return d.node("LayerNormalization", [x.name, d.floats(width), d.floats(width)], axis=-1)
    channels = x.shape[1] if len(x.shape) > 1 else 4
    return d.node("BatchNormalization", [x.name, *[d.weight(np.ones(channels, np.float32)) for _ in range(4)]])


def _reduce(d: Draft) -> None:
    x = d.value()
    axes = [d.ints(d.axis(x))] if d.random.random() < 0.8 else []
    d.node(d.random.choice(REDUCED), [x.name, *axes], keepdims=d.random.randint(0, 1))


def _along(d: Draft) -> None:
    x = d.value()
    d.node(d.random.choice(ALONG), [x.name], axis=d.axis(x))


def _transpose(d: Draft) -> None:
    x = d.value()
    perm = list(range(len(x.shape)))
    d.random.shuffle(perm)
    d.node("Transpose", [x.name], perm=[0, 0, 1] if d.odd() else perm)


def _reshape(d: Draft) -> None:
    x = d.value()
    if d.odd(0.1):
        return d.node("Reshape", [x.name, d.input((2,), TensorProto.INT64).name])
    sizes = d.pick([(-1,), (0, -1), (1, -1), (-1, x.shape[-1] if x.shape else 1), x.shape[::-1]], (3, -1), (-1, -1))
    return d.node(d.pick(["Reshape"], "Expand"), [x.name, d.ints(*sizes)])


def _concat(d: Draft) -> None:
    x = d.value()
    count = d.random.choice([1, 2, 3, 9, 45, 90])
    alike = [x.name, *[v.name for v in d.values if (v.shape, v.dtype) == (x.shape, x.dtype)]]
    if d.odd(0.4) and np.prod(x.shape) < 4096:
        alike = [d.input(x.shape, x.dtype).name for _ in range(count)] if x.dtype else alike
    names = [alike[i % len(alike)] for i in range(count)]
    d.node(d.random.choice(["Concat", "Concat", "Sum", "Max"]), names) if d.random.random() < 0.2 else d.node(
        "Concat", names, axis=d.axis(x)
    )


def _split(d: Draft) -> None:
    x = d.value()
    count = d.random.randint(1, 4)
    d.node("Split", [x.name], outputs=count, axis=d.axis(x), num_outputs=count)


def _slice(d: Draft) -> None:
    x = d.value()
    steps = d.ints(d.pick([1, 1, 2, -1], 0))
    d.node("Slice", [x.name, d.ints(d.pick([0, 0, 1], -5, 9)), d.ints(d.pick([-1, 3, 50, 1 << 62])), d.ints(d.axis(x)), steps])


def _pad(d: Draft) -> None:
    x = d.value()
    pads = [d.pick([0, 0, 1, 2], -1) for _ in range(2 * len(x.shape))]
    d.node("Pad", [x.name, d.ints(*pads)], mode=d.pick(["constant", "constant", "reflect", "edge", "wrap"], "odd"))


def _gather(d: Draft) -> None:
    x = d.value()
    if d.random.random() < 0.5:
        return d.node(d.pick(["Gather"], "GatherElements", "GatherND"), [x.name, d.ints(0, d.pick([0, -1], 500))])
    ids = d.input((1, d.size()), TensorProto.INT64)
    return d.node("Gather", [x.name if d.odd() else d.floats(50, 16), ids.name])


def _cast(d: Draft) -> None:
    d.node("Cast", [d.value().name], to=d.pick(DTYPES, *CASTS))


def _selection(d: Draft) -> None:
    x = d.value()
    match d.random.randrange(6):
        case 0:
            d.node("TopK", [x.name, d.ints(d.pick([1], 200))], outputs=2, axis=d.axis(x))
        case 1:
            d.node("NonZero", [x.name])
        case 2:
            d.node("Unique", [x.name])
        case 3:
            d.node("CumSum", [x.name, d.ints(d.axis(x))])
        case 4:
            d.node("Where", [d.input(x.shape, TensorProto.BOOL).name, x.name, x.name])
        case _:
            d.node("OneHot", [x.name, d.ints(d.pick([4], 0, -1)), d.floats(2)])


def _shape(d: Draft) -> None:
    x = d.value()
    match d.random.randrange(4):
        case 0:
            d.node("Shape", [x.name])
        case 1:
            d.node("Range", [d.ints(0), d.ints(d.pick([5], 0)), d.ints(1)])
        case 2:
            d.node("Tile", [x.name, d.ints(*[d.pick([1, 2], 0)] * len(x.shape))])
        case _:
            d.node(
                "Resize",
                [x.name, "", d.weight(np.array([1, 1, *[2.0] * len(x.shape)], np.float32)[: len(x.shape)])],
                mode=d.pick(["nearest", "linear", "cubic"], "fancy"),
            )


def _recurrent(d: Draft) -> None:
    steps, hidden = d.random.choice([1, 5, 70]), d.random.choice([4, 32])
    x = d.input((steps, 1, 8))
    op, gates = d.random.choice([("LSTM", 4), ("GRU", 3), ("RNN", 1)])
    d.node(op, [x.name, d.floats(1, gates * hidden, 8), d.floats(1, gates * hidden, hidden)], hidden_size=hidden)


def _chosen(d: Draft) -> None:
    x = d.value()

    def branch(op: str) -> onnx.GraphProto:
        return helper.make_graph([helper.make_node(op, [x.name], ["o"])], "b", [], [onnx.ValueInfoProto(name="o")])

    ops = d.pick(["Exp", "ReduceSum"], "Mystery"), d.pick(["Neg", "Relu"])
    d.node("If", [d.input((), TensorProto.BOOL).name], then_branch=branch(ops[0]), else_branch=branch(ops[1]))


def _unsupported(d: Draft) -> None:
    op, domain = d.random.choice(UNSUPPORTED)
    d.node(op, [d.value().name], domain=domain)


def _odd(d: Draft) -> None:
    """A known op with an attribute, an input or a number of inputs that it does not have."""
    match d.random.randrange(4):
        case 0:
            d.node("Relu", [d.value().name], nonsense=3)
        case 1:
            d.node("Softmax", [d.value().name], axis="last")
        case 2:
            d.node("Add", [d.value().name])
        case _:
            d.node("Sigmoid", [d.value().name, d.value().name, d.value().name])


_COMMON: tuple[Callable[[Draft], None], ...] = (
    *(_unary, _binary, _matmul, _gemm, _conv, _pool, _norm, _reduce, _along, _transpose, _reshape),
    *(_concat, _split, _slice, _pad, _gather, _cast, _selection, _shape, _recurrent, _chosen),
)
_RARE: tuple[Callable[[Draft], None], ...] = (_unsupported, _odd)


# ---- models ---------------------------------------------------------------------------------------------------------------------------


def random_model(random: Random) -> tuple[ModelProto, dict[str, tuple[int, ...]]]:
    """Return a model of up to ten nodes, and the shapes that its inputs were made for; half of the models have dimensions left open."""
    draft = Draft(random)
    for _ in range(random.randint(1, 3)):
        rank = random.choice([0, 1, 2, 2, 3, 3, 4, 4, 5, 6])
        shape = [draft.size() for _ in range(rank)]
        while np.prod(shape) > MOST:
            shape[random.randrange(rank)] = 1
        draft.input(tuple(shape), draft.pick(DTYPES[:2], *DTYPES))
    for _ in range(random.randint(1, 10)):
        random.choice(_RARE if random.random() < 0.03 else _COMMON)(draft)
    used = {name for node in draft.nodes for name in node.input}
    outputs = [v.name for v in draft.values if v not in draft.inputs and v.name not in used]
    model = _model(draft, outputs or [draft.values[-1].name], _opened(draft))
    return model, {v.name: v.shape for v in draft.inputs}


def _opened(draft: Draft) -> dict[tuple[str, int], str]:
    """Return names of dimensions of inputs that the model leaves open, by input and axis."""
    random = draft.random
    if random.random() < 0.5:
        return {}
    batch = {(v.name, 0): "n" for v in draft.inputs if v.shape}
    if random.random() < 0.5:
        return batch
    return {
        (v.name, axis): random.choice(["n", "h", "w", "", "h + 1"])
        for v in draft.inputs
        for axis in range(len(v.shape))
        if random.random() < 0.4
    }


def _model(draft: Draft, outputs: list[str], opened: dict[tuple[str, int], str]) -> ModelProto:
    def dims(value: Value) -> list[int | str | None]:
        return [
            opened.get((value.name, axis), size) or (None if (value.name, axis) in opened else size)
            for axis, size in enumerate(value.shape)
        ]

    inputs = [helper.make_tensor_value_info(v.name, v.dtype, dims(v)) for v in draft.inputs]
    results = [onnx.ValueInfoProto(name=name) for name in outputs]
    weights = [numpy_helper.from_array(array, name) for name, array in draft.weights.items()]
    graph = helper.make_graph(draft.nodes, "random", inputs, results, weights)
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("nobody", 1), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)

"""Cases of every op of pybuda.op: operands, the op by its name, and the same in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

from tests.ttc.ops.cases import Case
from ttc.compat.pybuda_op import OP

X = ((3, 4),)
PAIR = ((3, 4), (3, 4))
CUBE = ((1, 2, 4, 6),)
IMAGE = (1, 4, 6, 6)


def _case(
    op: str, operands: tuple[Any, ...], theirs: Callable[..., Any], low: float = -2.0, high: float = 2.0, *attrs: Any, **named: Any
) -> Case:
    return Case(op, operands, lambda *xs: getattr(OP, op)("it", *xs, *attrs, **named), theirs, low, high)


def _of(op: str, operands: tuple[Any, ...], theirs: Callable[..., Any], *attrs: Any, **named: Any) -> Case:
    return _case(op, operands, theirs, -2.0, 2.0, *attrs, **named)


def _truth(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *xs: function(*xs).float()


def _grouped(x: torch.Tensor) -> torch.Tensor:
    return x.reshape(1, 2, 4, 3, 2).mean(-1)


ELEMENTWISE = [
    *(_of(op, X, theirs) for op, theirs in (("Abs", torch.abs), ("Exp", torch.exp), ("Sigmoid", torch.sigmoid), ("Tanh", torch.tanh))),
    *(_of(op, X, theirs) for op, theirs in (("Sine", torch.sin), ("Cosine", torch.cos))),
    *(_of(op, X, lambda x: x) for op in ("Identity", "Buffer", "Tilize")),
    *(_case(op, X, theirs, 0.2) for op, theirs in (("Log", torch.log), ("Sqrt", torch.sqrt), ("Reciprocal", torch.reciprocal))),
    _of("Identity", X, lambda x: x.unsqueeze(1), unsqueeze="unsqueeze", unsqueeze_dim=1),
    _of("Relu", X, torch.relu),
    _of("Relu", X, lambda x: torch.where(x > 0.5, x, 0.0), threshold=0.5),
    _of("Relu", X, lambda x: torch.clamp(x, 0, 0.5), threshold=0.5, mode="max"),
    _of("LeakyRelu", X, lambda x: F.leaky_relu(x, 0.2), 0.2),
    _of("Gelu", X, F.gelu),
    _of("Gelu", X, lambda x: F.gelu(x, approximate="tanh"), approximate="tanh"),
    _of("Clip", X, lambda x: torch.clip(x, -0.5, 1.0), -0.5, 1.0),
    _case("Pow", X, lambda x: x**3, 0.2, 2.0, 3),
    _of("CumSum", X, lambda x: torch.cumsum(x, 0), 0),
    _of("CumSum", X, lambda x: torch.cumsum(x, 1) - x, 1, exclusive=True),
    _of("LogicalNot", X, _truth(torch.logical_not)),
    _of("Dropout", X, lambda x: x, p=0.0),
    _of("Dropout", X, lambda x: x, p=0.5, training=False),
    _of("Argmax", X, lambda x: torch.argmax(x, 1, keepdim=True), dim=1),
    *(_of(op, PAIR, theirs) for op, theirs in (("Add", torch.add), ("Subtract", torch.sub), ("Multiply", torch.mul))),
    *(_of(op, PAIR, theirs) for op, theirs in (("Max", torch.maximum), ("Min", torch.minimum))),
    *(_of(op, PAIR, _truth(theirs)) for op, theirs in (("Equal", torch.eq), ("NotEqual", torch.ne), ("Greater", torch.gt))),
    *(_of(op, PAIR, _truth(theirs)) for op, theirs in (("Less", torch.lt), ("GreaterEqual", torch.ge), ("LessEqual", torch.le))),
    _of("LogicalAnd", PAIR, _truth(torch.logical_and)),
    _of("Heaviside", PAIR, lambda x, y: torch.heaviside(x.detach(), y.detach())),
    *(_case(op, PAIR, theirs, 0.3) for op, theirs in (("Divide", torch.div), ("Power", torch.pow))),
    _of("Where", (np.array([[True, False, True, False]]), *PAIR), lambda c, x, y: torch.where(c, x, y)),
]
LINEAR = [
    _of("Matmul", ((2, 3, 4), (4, 5)), torch.matmul),
    _of("Matmul", ((2, 3, 4), (4, 5), (5,)), lambda a, b, c: a @ b + c),
    _of("SparseMatmul", (np.eye(4, 3, dtype=np.float32), (3, 5)), torch.matmul),
    _of("Conv2d", (IMAGE, (5, 4, 3, 3), (5,)), lambda x, w, b: F.conv2d(x, w, b, padding=1)),
    _of("Conv2d", (IMAGE, (4, 2, 3, 3)), lambda x, w: F.conv2d(x, w, stride=2, padding=1, groups=2), stride=2, padding=1, groups=2),
    _of("Conv2d", (IMAGE, (5, 4, 3, 3)), lambda x, w: F.conv2d(F.pad(x, (1, 0, 2, 1)), w), padding=[1, 0, 2, 1]),
    _of("Conv2dTranspose", (IMAGE, (4, 5, 2, 2)), lambda x, w: F.conv_transpose2d(x, w, stride=2), stride=2, padding=0),
    _of("Conv3d", ((1, 2, 4, 4, 4), (3, 2, 3, 3, 3)), lambda x, w: F.conv3d(x, w, padding=1), padding=1),
    _of("MaxPool1d", ((1, 2, 8),), lambda x: F.max_pool1d(x, 2, 2), 2, 2, 0),
    _of("MaxPool2d", (IMAGE,), lambda x: F.max_pool2d(x, 3, 2, 1), 3, 2, 1),
    _of("MaxPool3d", ((1, 2, 4, 4, 4),), lambda x: F.max_pool3d(x, 2, 2), 2, 2, 0),
    _of("AvgPool1d", ((1, 2, 8),), lambda x: F.avg_pool1d(x, 2, 2), 2, 2, 0),
    _of("AvgPool2d", (IMAGE,), lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), 3, 2, 1, count_include_pad=False),
    _of("AvgPool2d", (IMAGE,), lambda x: F.avg_pool2d(x, 2, 2, divisor_override=3), 2, 2, 0, divisor_override=3),
    _of("Embedding", ((6, 3), np.array([[2, 0, 2]])), lambda t, i: F.embedding(i, t)),
    _of("Resize2d", (IMAGE,), lambda x: F.interpolate(x, (12, 12), mode="nearest"), [12, 12]),
    _of("Resize2d", (IMAGE,), lambda x: F.interpolate(x, (12, 12), mode="bilinear"), [12, 12], method="linear"),
    _of("Resize3d", ((1, 2, 3, 3, 3),), lambda x: F.interpolate(x, (6, 6, 6), mode="nearest"), [6, 6, 6]),
]
NORMS = [
    _of("Softmax", X, lambda x: torch.softmax(x, 1), dim=1),
    _of("LogSoftmax", X, lambda x: torch.log_softmax(x, 1), dim=1),
    _of("Layernorm", ((3, 4), (1, 4), (1, 4)), lambda x, w, b: F.layer_norm(x, (4,), w[0], b[0])),
    _case(
        "Batchnorm",
        (IMAGE, (4,), (4,), (4,), (4,)),
        lambda x, w, b, m, v: F.batch_norm(x, m.detach(), v.detach(), w, b),
        0.3,
    ),
]
REDUCED = [
    _of("ReduceSum", CUBE, lambda x: x.sum(-1, keepdim=True), -1),
    _of("ReduceAvg", CUBE, lambda x: x.mean(2, keepdim=True), 2),
    _of("ReduceMax", CUBE, lambda x: x.amax(-1, keepdim=True), -1),
    _of("GroupedReduceAvg", CUBE, _grouped, -1, 3),
]
MOVED = [
    _of("HSlice", CUBE, lambda x: x.reshape(1, 2, 4, 3, 2).permute(0, 1, 3, 2, 4).reshape(1, 6, 4, 2), 3),
    _of("VSlice", CUBE, lambda x: x.reshape(1, 4, 2, 6), 2),
    _of("HStack", CUBE, lambda x: x.permute(0, 2, 1, 3).reshape(1, 1, 4, 12)),
    _of("VStack", CUBE, lambda x: x.reshape(1, 1, 8, 6)),
    _of("Transpose", CUBE, lambda x: x.transpose(-1, -2), 2, 3),
    _of("Reshape", CUBE, lambda x: x.reshape(1, 1, 8, 6), (1, 1, 8, 6)),
    _of("Index", CUBE, lambda x: x[..., 1:5:2], -1, 1, 5, 2),
    _of("AdvIndex", (X[0], np.array([2, 0, 2])), lambda x, i: x[i], 0),
    _of("Select", CUBE, lambda x: x[..., 2:3], -1, 2),
    _of("Select", CUBE, lambda x: x[..., 1:4], -1, (1, 3)),
    _of("Select", CUBE, lambda x: x[..., [0, 2, 4]], -1, (0, 1), stride=2),
    _of("Pad", CUBE, lambda x: F.pad(x, (1, 2)), (1, 2)),
    _of("Pad", CUBE, lambda x: F.pad(x, (1, 2, 0, 1), mode="replicate"), (1, 2, 0, 1), mode="replicate"),
    _of("Pad", CUBE, lambda x: F.pad(x, (1, 2, 0, 1), mode="reflect"), (1, 2, 0, 1), mode="reflect"),
    _of("PadTile", CUBE, lambda x: F.pad(x, (0, 26)), -1, 6),
    _of("Broadcast", ((1, 2, 1, 6),), lambda x: x.expand(1, 2, 5, 6), -2, 5),
    _of("Repeat", X, lambda x: x.repeat(2, 3), [2, 3]),
    _of("Unsqueeze", X, lambda x: x.unsqueeze(1), 1),
    _of("Squeeze", ((3, 1, 4),), lambda x: x.squeeze(1), 1),
    _of("Narrow", CUBE, lambda x: x.narrow(3, 1, 4), 3, 1, 4),
    _of("PixelShuffle", (IMAGE,), lambda x: F.pixel_shuffle(x, 2), 2),
    _of("Concatenate", PAIR, lambda a, b: torch.cat([a, b], 1), axis=1),
    _of("Stack", PAIR, lambda a, b: torch.stack([a, b], 1), axis=1),
    _of("Interleave", (CUBE[0], CUBE[0]), lambda a, b: torch.stack([a, b], 2).flatten(1, 2), axis=-3, stride=1),
    _of("BinaryStack", PAIR, lambda a, b: torch.stack([a, b], -1), dim=-1),
    _of("IndexCopy", ((4, 3), np.array([2, 0]), (2, 3)), lambda x, i, v: x.index_copy(0, i, v), 0),
    Case("Constant", X, lambda x: x + OP.Constant("it", constant=2.5), lambda x: x + 2.5),
]
QUANTIZED = [
    _of("Quantize", X, lambda x: torch.clamp(torch.round(x / 0.1), -128, 127).to(torch.int8), 0.1, 0),
    Case(
        "Dequantize",
        X,
        lambda x: OP.Dequantize("it", OP.Quantize("q", x, 0.25), 0.25),
        lambda x: torch.clamp(torch.round(x.detach() / 0.25), -128, 127) * 0.25,
    ),
    Case(
        "Requantize",
        X,
        lambda x: OP.Requantize("it", OP.Quantize("q", x, 0.25), 0.25, 0, 0.5, 0),
        lambda x: torch.round(torch.clamp(torch.round(x / 0.25), -128, 127) * 0.25 / 0.5).to(torch.int8),
    ),
]
CASES = [*ELEMENTWISE, *LINEAR, *NORMS, *REDUCED, *MOVED, *QUANTIZED]

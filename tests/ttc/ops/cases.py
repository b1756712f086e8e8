"""One case or more of each op of `ttc.ops`: operands, the op, and the same in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn import functional as F

from ttc import ops

Array = np.ndarray[Any, Any]


class Case(NamedTuple):
    """An op of operands of these shapes, drawn from low to high; others are given as arrays."""

    op: str
    operands: tuple[Any, ...]
    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    low: float = -2.0
    high: float = 2.0


X = ((3, 4),)
PAIR = ((3, 4), (3, 4))
PLACES = np.array([2, 0, 2])
IMAGE = (2, 4, 7, 6)


def _unary(op: str, theirs: Callable[..., Any] | None = None, low: float = -2.0, high: float = 2.0) -> Case:
    return Case(op, X, getattr(ops, op), theirs or getattr(torch, op), low, high)


def _binary(op: str, theirs: Callable[..., Any] | None = None, low: float = -2.0, high: float = 2.0) -> Case:
    return Case(op, PAIR, getattr(ops, op), theirs or getattr(torch, op), low, high)


UNARY = [
    *map(_unary, ("abs", "atan", "ceil", "cos", "erf", "erfc", "exp", "expm1", "floor", "neg", "relu", "round", "sigmoid", "sign", "sin")),
    *map(_unary, ("asinh", "cosh", "sinh", "square", "tanh")),
    *(_unary(op, low=0.2) for op in ("log", "log1p", "reciprocal", "rsqrt", "sqrt")),
    *(_unary(op, low=-0.9, high=0.9) for op in ("acos", "asin", "atanh", "tan")),
    _unary("acosh", low=1.5, high=3),
    _unary("hard_swish", F.hardswish),
    _unary("identity", lambda x: x),
    _unary("is_inf", torch.isinf),
    _unary("is_nan", torch.isnan),
    _unary("silu", F.silu),
    _unary("softplus", F.softplus),
    Case("logical_not", X, lambda x: ops.logical_not(x > 0), lambda x: ~(x > 0)),
    Case("gelu", X, ops.gelu, F.gelu),
    Case("gelu", X, lambda x: ops.gelu(x, approximate="tanh"), lambda x: F.gelu(x, approximate="tanh")),
    Case("elu", X, lambda x: ops.elu(x, alpha=0.7), lambda x: F.elu(x, 0.7)),
    Case("leaky_relu", X, lambda x: ops.leaky_relu(x, alpha=0.3), lambda x: F.leaky_relu(x, 0.3)),
    Case("hard_sigmoid", X, ops.hard_sigmoid, F.hardsigmoid),
    Case("clip", X, lambda x: ops.clip(x, -0.5, 1), lambda x: torch.clip(x, -0.5, 1)),
    Case("cast", X, lambda x: ops.cast(x, np.int32), lambda x: x.int()),
    Case("dropout", X, lambda x: ops.dropout(x, 0.0), lambda x: x),
]
BINARY = [
    *map(_binary, ("add", "sub", "mul", "maximum", "minimum", "greater", "greater_equal", "less", "less_equal", "not_equal", "atan2")),
    Case("equal", X, lambda x: ops.equal(x, x), lambda x: x == x),  # noqa: PLR0124
    *(_binary(op, theirs, 0.3) for op, theirs in (("div", None), ("floor_div", torch.floor_divide), ("floor_mod", torch.remainder))),
    _binary("pow", low=0.3),
    Case("prelu", PAIR, ops.prelu, lambda x, y: torch.where(x < 0, x * y, x)),
    Case("squared_difference", ((3, 4), (4,)), ops.squared_difference, lambda x, y: (x - y) ** 2),
    Case("heaviside", PAIR, lambda x, y: ops.heaviside(ops.round(x), y), lambda x, y: torch.heaviside(torch.round(x), y)),
    Case("logical_and", PAIR, lambda x, y: ops.logical_and(x > 0, y > 0), lambda x, y: (x > 0) & (y > 0)),
    Case("logical_or", PAIR, lambda x, y: ops.logical_or(x > 0, y > 0), lambda x, y: (x > 0) | (y > 0)),
    Case("logical_xor", PAIR, lambda x, y: ops.logical_xor(x > 0, y > 0), lambda x, y: (x > 0) ^ (y > 0)),
    Case("where", PAIR, lambda x, y: ops.where(x > y, x, 2.0), lambda x, y: torch.where(x > y, x, 2.0)),
    Case("add", X, lambda x: 1 - (2 / (abs(x) + 1)) ** 2 * -x, lambda x: 1 - (2 / (abs(x) + 1)) ** 2 * -x),
]
LINEAR = [
    Case("matmul", ((2, 3, 4), (4, 5), (5,)), ops.matmul, lambda a, b, c: a @ b + c),
    Case("matmul", ((4, 3), (5, 4)), lambda a, b: ops.matmul(a, b, transpose_a=True, transpose_b=True), lambda a, b: a.T @ b.T),
    Case("matmul", ((3, 4), (4, 5)), lambda a, b: a @ b, lambda a, b: a @ b),
    Case("linear", ((3, 4), (5, 4), (5,)), ops.linear, F.linear),
    Case("sparse_matmul", ((4, 5),), lambda x: ops.sparse_matmul(torch.eye(4).to_sparse(), x), lambda x: x),
    Case("einsum", ((2, 3, 4), (2, 4, 5)), lambda a, b: ops.einsum("bij,bjk->bik", a, b), torch.bmm),
    Case("attention", ((2, 3, 4), (2, 5, 4), (2, 5, 4)), ops.attention, F.scaled_dot_product_attention),
]
CONVOLUTION = [
    Case(
        "conv1d", ((2, 4, 9), (6, 2, 3), (6,)), lambda *v: ops.conv1d(*v, groups=2, padding=1), lambda *v: F.conv1d(*v, padding=1, groups=2)
    ),
    Case("conv2d", (IMAGE, (3, 4, 3, 2)), lambda *v: ops.conv2d(*v, stride=(2, 1)), lambda x, w: F.conv2d(x, w, None, (2, 1))),
    Case("conv2d", (IMAGE, (3, 4, 3, 3)), lambda *v: ops.conv2d(*v, padding="same"), lambda x, w: F.conv2d(x, w, padding="same")),
    Case(
        "conv2d",
        ((2, 7, 6, 4), (3, 4, 3, 3)),
        lambda *v: ops.conv2d(*v, padding=[1, 0], channel_last=True),
        lambda x, w: F.conv2d(x.movedim(-1, 1), w, padding=(1, 0)).movedim(1, -1),
    ),
    Case("conv3d", ((1, 2, 4, 5, 4), (3, 2, 2, 3, 2)), lambda *v: ops.conv3d(*v, padding=1), lambda x, w: F.conv3d(x, w, padding=1)),
    Case("conv1d_transpose", ((2, 4, 5), (4, 3, 3)), ops.conv1d_transpose, F.conv_transpose1d),
    Case(
        "conv2d_transpose",
        (IMAGE, (4, 3, 3, 3), (3,)),
        lambda *v: ops.conv2d_transpose(*v, stride=2, padding=1, output_padding=1),
        lambda *v: F.conv_transpose2d(*v, stride=2, padding=1, output_padding=1),
    ),
    Case("conv3d_transpose", ((1, 2, 3, 3, 2), (2, 2, 2, 2, 2)), ops.conv3d_transpose, F.conv_transpose3d),
    Case("max_pool1d", ((2, 3, 9),), lambda x: ops.max_pool1d(x, 3, stride=2), lambda x: F.max_pool1d(x, 3, 2)),
    Case("max_pool2d", (IMAGE,), lambda x: ops.max_pool2d(x, (3, 2), padding=1), lambda x: F.max_pool2d(x, (3, 2), padding=1)),
    Case("max_pool3d", ((1, 2, 4, 4, 4),), lambda x: ops.max_pool3d(x, 2), lambda x: F.max_pool3d(x, 2)),
    Case("avg_pool1d", ((2, 3, 9),), lambda x: ops.avg_pool1d(x, 3), lambda x: F.avg_pool1d(x, 3)),
    Case(
        "avg_pool2d",
        (IMAGE,),
        lambda x: ops.avg_pool2d(x, 3, stride=2, padding=1, count_include_pad=False),
        lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    ),
    Case("avg_pool2d", (IMAGE,), lambda x: ops.avg_pool2d(x, 2, divisor=3), lambda x: F.avg_pool2d(x, 2, divisor_override=3)),
    Case("avg_pool3d", ((1, 2, 4, 4, 4),), lambda x: ops.avg_pool3d(x, 2), lambda x: F.avg_pool3d(x, 2)),
]
REDUCTION = [
    Case("reduce_sum", X, lambda x: ops.reduce_sum(x, 1), lambda x: x.sum(1)),
    Case("reduce_mean", X, lambda x: ops.reduce_mean(x, [-2], keepdims=True), lambda x: x.mean(0, keepdim=True)),
    Case("reduce_max", X, ops.reduce_max, torch.amax),
    Case("reduce_min", X, lambda x: ops.reduce_min(x, 0), lambda x: x.amin(0)),
    Case("reduce_prod", X, lambda x: ops.reduce_prod(x, 1), lambda x: x.prod(1), 0.3),
    Case("grouped_reduce_mean", ((3, 6),), lambda x: ops.grouped_reduce_mean(x, 1, 2), lambda x: x.reshape(3, 2, 3).mean(-1)),
    Case(
        "grouped_reduce_mean",
        ((3, 6),),
        lambda x: ops.grouped_reduce_mean(x, 1, 2, keepdims=True),
        lambda x: x.reshape(3, 2, 3).mean(-1, keepdim=True).expand(3, 2, 3).reshape(3, 6),
    ),
    Case("argmax", X, ops.argmax, torch.argmax),
    Case("argmin", X, lambda x: ops.argmin(x, 1, keepdims=True), lambda x: x.argmin(1, keepdim=True)),
    Case("cumsum", X, lambda x: ops.cumsum(x, 1), lambda x: x.cumsum(1)),
    Case("cumprod", X, lambda x: ops.cumprod(x, 0), lambda x: x.cumprod(0), 0.3),
    Case("topk", X, lambda x: ops.topk(x, 2)[0], lambda x: x.topk(2)[0]),
]
NORM = [
    Case("softmax", X, ops.softmax, lambda x: x.softmax(-1)),
    Case("log_softmax", X, lambda x: ops.log_softmax(x, 0), lambda x: x.log_softmax(0)),
    Case("layer_norm", ((3, 8), (8,), (8,)), ops.layer_norm, lambda x, w, b: F.layer_norm(x, (8,), w, b)),
    Case("rms_norm", ((3, 8), (8,)), ops.rms_norm, lambda x, w: F.rms_norm(x, (8,), w, 1e-6)),
    Case("batch_norm", (IMAGE, *((4,),) * 4), ops.batch_norm, lambda x, w, b, m, v: F.batch_norm(x, m.detach(), v.detach(), w, b), 0.3),
    Case("group_norm", (IMAGE, (4,), (4,)), lambda x, w, b: ops.group_norm(x, 2, w, b), lambda x, w, b: F.group_norm(x, 2, w, b)),
    Case("instance_norm", (IMAGE,), ops.instance_norm, F.instance_norm),
]
INDEXING = [
    Case("index", ((5, 4),), lambda x: ops.index(x, 0, 1, 5, 2), lambda x: x[1:5:2]),
    Case("index", ((5, 4),), lambda x: ops.index(x, 0, -1), lambda x: x[-1:]),
    Case("index", ((5, 4, 3),), lambda x: x[..., None, ::-2], lambda x: x.flip(-1)[..., None, ::2]),
    Case("index", ((5, 4, 3),), lambda x: x[-1, 1:], lambda x: x[-1, 1:]),
    Case("narrow", ((5, 4),), lambda x: ops.narrow(x, 0, 1, 3), lambda x: x[1:4]),
    Case("select", ((2, 6),), lambda x: ops.select(x, 1, 1, 2, 3), lambda x: x[:, [1, 2, 4, 5]]),
    Case("split", ((2, 6),), lambda x: ops.split(x, 3, 1)[1], lambda x: x[:, 2:4]),
    Case("gather", ((3, 4), PLACES), lambda x, i: ops.gather(x, i, 1), lambda x, i: x[:, i]),
    Case("gather_elements", ((1, 3), PLACES[None]), lambda x, i: ops.gather_elements(x, i, 1), lambda x, i: x.gather(1, i)),
    Case("embedding", ((3, 4), PLACES), ops.embedding, lambda w, i: F.embedding(i, w)),
    Case(
        "index_copy",
        ((3, 4), np.array([2, 0]), (2, 4)),
        lambda x, i, v: ops.index_copy(x, i, v, 0),
        lambda x, i, v: x.index_copy(0, i, v),
    ),
    Case("one_hot", (PLACES,), lambda i: ops.one_hot(i, 4), lambda i: F.one_hot(i, 4).float()),
]
SHAPE = [
    Case("constant", X, lambda x: x * ops.constant(0.5), lambda x: x * 0.5),
    Case("reshape", X, lambda x: ops.reshape(x, (2, -1)), lambda x: x.reshape(2, -1)),
    Case("transpose", X, ops.transpose, torch.t),
    Case("transpose", ((2, 3, 4),), lambda x: ops.transpose(x, (2, 0, -2)), lambda x: x.permute(2, 0, 1)),
    Case("swap", ((2, 3, 4),), lambda x: ops.swap(x, 0, -1), lambda x: x.transpose(0, -1)),
    Case("unsqueeze", X, lambda x: ops.unsqueeze(x, -1), lambda x: x[..., None]),
    Case("squeeze", ((3, 1, 4),), lambda x: ops.squeeze(x, 1), lambda x: x[:, 0]),
    Case("expand", ((3, 1),), lambda x: ops.expand(x, (2, 3, 4)), lambda x: x.expand(2, 3, 4)),
    Case("broadcast", ((3, 1),), lambda x: ops.broadcast(x, 1, 4), lambda x: x.expand(3, 4)),
    Case("repeat", X, lambda x: ops.repeat(x, (2, 3)), lambda x: x.repeat(2, 3)),
    Case(
        "pad",
        X,
        lambda x: ops.pad(x, (0, 1), (0, 2), mode="replicate"),
        lambda x: F.pad(x[None], (1, 2), mode="replicate")[0],
    ),
    Case("pad_to", X, lambda x: ops.pad_to(x, 1), lambda x: F.pad(x, (0, 28))),
    Case("concat", PAIR, lambda x, y: ops.concat(x, y, axis=-1), lambda x, y: torch.cat([x, y], -1)),
    Case("stack", PAIR, lambda x, y: ops.stack(x, y, axis=1), lambda x, y: torch.stack([x, y], 1)),
    Case("interleave", PAIR, lambda x, y: ops.interleave(x, y, axis=0), lambda x, y: torch.stack([x, y], 1).reshape(6, 4)),
    Case("hslice", ((1, 2, 3, 4),), lambda x: ops.hslice(x, 2), lambda x: torch.stack(x.split(2, -1), 2).reshape(1, 4, 3, 2)),
    Case("hstack", ((1, 4, 3, 2),), ops.hstack, lambda x: torch.cat(x.split(1, 1), -1)),
    Case("vslice", ((1, 2, 4, 3),), lambda x: ops.vslice(x, 2), lambda x: torch.stack(x.split(2, -2), 2).reshape(1, 4, 2, 3)),
    Case("vstack", ((1, 4, 3, 2),), lambda x: ops.vstack(x, 2), lambda x: x.reshape(1, 2, 6, 2)),
    Case("pixel_shuffle", ((1, 8, 2, 3),), lambda x: ops.pixel_shuffle(x, 2), lambda x: F.pixel_shuffle(x, 2)),
    Case("pixel_unshuffle", ((1, 2, 4, 6),), lambda x: ops.pixel_unshuffle(x, 2), lambda x: F.pixel_unshuffle(x, 2)),
    Case("resize", (IMAGE,), lambda x: ops.resize(x, (9, 12)), lambda x: F.interpolate(x, (9, 12))),
    Case(
        "resize",
        ((2, 7, 6, 4),),
        lambda x: ops.resize(x, (9, 12), mode="linear", align_corners=True, channel_last=True),
        lambda x: F.interpolate(x.movedim(-1, 1), (9, 12), mode="bilinear", align_corners=True).movedim(1, -1),
    ),
]
QUANTIZATION = [
    Case(
        "quantize",
        X,
        lambda x: ops.quantize(x, 0.1, 3),
        lambda x: torch.quantize_per_tensor(x, 0.1, 3, torch.qint8).int_repr(),
    ),
    Case("dequantize", (np.array([[1, -7, 100]], np.int8),), lambda x: ops.dequantize(x, 0.1, 3), lambda x: (x.float() - 3) * 0.1),
    Case(
        "requantize",
        (np.array([[1, -7, 100], [3, 4, 5]], np.int8),),
        lambda x: ops.requantize(x, [0.5, 0.25], 0.25, axis=0),
        lambda x: torch.clip(x * torch.tensor([[2], [1]]), -128, 127).to(torch.int8),
    ),
]
CASES = [*UNARY, *BINARY, *LINEAR, *CONVOLUTION, *REDUCTION, *NORM, *INDEXING, *SHAPE, *QUANTIZATION]

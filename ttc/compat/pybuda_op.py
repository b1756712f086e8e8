"""Ops of pybuda.op as ops of ttc: `Op(name, operands, attributes)`, with or without the module in front."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ttc import ops
from ttc.compat.names import submodule
from ttc.compat.pybuda_modules import PyTorchModule
from ttc.compat.pybuda_verify import compare_tensor_to_golden

_Op = Callable[..., Any]


def _named(rule: _Op) -> _Op:
    """Return the op with its name first; a module in front of that, as older programs have it, is left out."""

    def apply(*given: Any, **attrs: Any) -> Any:
        name, *operands = given if isinstance(given[0], str) else given[1:]
        return rule(*operands, **attrs, name=name or None)

    return apply


def _floats(rule: _Op) -> _Op:
    """Return a comparison, which gives 0 and 1 in the type of its first operand."""
    return lambda a, b, *, name=None: ops.cast(rule(a, b, name=name), a.dtype)


def _truths(rule: _Op) -> _Op:
    return _floats(lambda a, b, *, name=None: rule(ops.not_equal(a, 0), ops.not_equal(b, 0), name=name))


def _relu(x: Any, threshold: float = 0.0, mode: str = "min", *, name: str | None = None) -> Any:
    if mode == "max":
        return ops.minimum(ops.relu(x), threshold, name=name)
    return ops.where(x > threshold, x, 0.0, name=name) if threshold else ops.relu(x, name=name)


def _pad(x: Any, pad: Any, mode: str = "constant", channel_last: bool = False, *, name: str | None = None) -> Any:
    left, right, top, bottom = (*pad, 0, 0)[:4]
    margins = [(top, bottom), (left, right)] if len(pad) == 4 else [(left, right)]
    tail = [*margins, (0, 0)] if channel_last else margins
    sides = [(0, 0)] * (len(x.shape) - len(tail)) + tail
    return ops.pad(x, [a for a, _ in sides], [b for _, b in sides], mode=mode, name=name)


def _select(x: Any, dim: int, index: Any, stride: int = 0, *, name: str | None = None) -> Any:
    start, length = (index, 1) if isinstance(index, int) else index
    return ops.select(x, dim, start, length, stride or x.shape[dim], name=name)


def _sides(padding: Any) -> Any:
    """PyBuda's left, right, top, bottom as beginnings, then ends."""
    return [padding[2], padding[0], padding[3], padding[1]] if isinstance(padding, list | tuple) and len(padding) == 4 else padding


def _conv(rule: _Op) -> _Op:
    def apply(
        x: Any,
        w: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = "same",
        dilation: Any = 1,
        groups: int = 1,
        channel_last: bool = False,
        *,
        name: str | None = None,
    ) -> Any:
        flat = None if bias is None else ops.reshape(bias, (-1,))
        settings = {"stride": stride, "padding": _sides(padding), "dilation": dilation, "groups": groups, "channel_last": channel_last}
        return rule(x, w, flat, **settings, name=name)

    return apply


def _conv_transpose(x: Any, w: Any, bias: Any = None, stride: Any = 1, padding: Any = "same", *rest: Any, **attrs: Any) -> Any:
    pads = [(k - 1) // 2 for k in w.shape[2:]] if padding == "same" else padding
    return _conv(ops.conv2d_transpose)(x, w, bias, stride, pads, *rest, **attrs)


def _max_pool(rule: _Op) -> _Op:
    def apply(
        x: Any, kernel_size: Any, stride: Any = 1, padding: Any = "same", dilation: Any = 1, ceil_mode: bool = False, **attrs: Any
    ) -> Any:
        name, last = attrs.pop("name", None), attrs.pop("channel_last", False)
        settings = {"stride": stride, "padding": _sides(padding), "dilation": dilation, "ceil_mode": ceil_mode, "channel_last": last}
        return rule(x, kernel_size, **settings, name=name)

    return apply


def _avg_pool(rule: _Op) -> _Op:
    def apply(
        x: Any,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = "same",
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: float | None = None,
        channel_last: bool = False,
        *,
        name: str | None = None,
    ) -> Any:
        settings = {"stride": stride, "padding": _sides(padding), "ceil_mode": ceil_mode, "channel_last": channel_last}
        return rule(x, kernel_size, **settings, count_include_pad=count_include_pad, divisor=divisor_override, name=name)

    return apply


def _resize(
    x: Any, sizes: Any, method: str = "nearest_neighbor", align_corners: bool = False, channel_last: bool = False, *, name: Any = None
) -> Any:
    mode = "nearest" if method == "nearest_neighbor" else method
    return ops.resize(x, sizes, mode=mode, align_corners=align_corners, channel_last=channel_last, name=name)


def _identity(x: Any, unsqueeze: str | None = None, unsqueeze_dim: int | None = None, *, name: str | None = None) -> Any:
    return ops.identity(x, name=name) if unsqueeze is None else ops.unsqueeze(x, unsqueeze_dim or 0, name=name)


def _squeezed(x: Any) -> Any:
    return ops.reshape(x, (-1,))


_RULES: dict[str, _Op] = {
    "Matmul": ops.matmul,
    "SparseMatmul": ops.sparse_matmul,
    "Conv2d": _conv(ops.conv2d),
    "Conv2dTranspose": _conv_transpose,
    "Conv3d": _conv(ops.conv3d),
    **{f"MaxPool{n}d": _max_pool(rule) for n, rule in enumerate((ops.max_pool1d, ops.max_pool2d, ops.max_pool3d), 1)},
    **{f"AvgPool{n}d": _avg_pool(rule) for n, rule in enumerate((ops.avg_pool1d, ops.avg_pool2d), 1)},
    **{"Add": ops.add, "Subtract": ops.sub, "Multiply": ops.mul, "Divide": ops.div, "Max": ops.maximum, "Min": ops.minimum},
    **{"Heaviside": ops.heaviside, "Power": ops.pow, "Equal": _floats(ops.equal), "NotEqual": _floats(ops.not_equal)},
    **{"Greater": _floats(ops.greater), "Less": _floats(ops.less), "GreaterEqual": _floats(ops.greater_equal)},
    **{"LessEqual": _floats(ops.less_equal), "LogicalAnd": _truths(ops.logical_and)},
    "BinaryStack": lambda a, b, dim, name=None: (
        ops.interleave(ops.unsqueeze(a, dim), ops.unsqueeze(b, dim), axis=dim, name=name)
        if dim < 0
        else ops.stack(a, b, axis=dim, name=name)
    ),
    **{"Abs": ops.abs, "Exp": ops.exp, "Log": ops.log, "Pow": lambda x, exponent, name=None: ops.pow(x, float(exponent), name=name)},
    **{"Identity": _identity, "Buffer": ops.identity, "Tilize": ops.identity, "Reciprocal": ops.reciprocal, "Sqrt": ops.sqrt},
    **{"Relu": _relu, "LeakyRelu": lambda x, alpha, name=None: ops.leaky_relu(x, alpha=alpha, name=name), "Sigmoid": ops.sigmoid},
    "Gelu": lambda x, approximate="none", name=None: ops.gelu(x, approximate=approximate, name=name),
    "Argmax": lambda x, dim=None, name=None: ops.argmax(x, dim, keepdims=True, name=name),
    **{"Clip": ops.clip, "Sine": ops.sin, "Cosine": ops.cos, "Tanh": ops.tanh},
    "CumSum": lambda x, axis, exclusive=False, name=None: ops.cumsum(x, axis, exclusive=exclusive, name=name),
    "LogicalNot": lambda x, name=None: ops.cast(ops.equal(x, 0, name=name), x.dtype),
    "Dropout": lambda x, p=0.5, training=True, seed=0, name=None: ops.dropout(x, p, name=name) if training else ops.identity(x, name=name),
    **{"Concatenate": ops.concat, "Stack": ops.stack, "Interleave": ops.interleave, "Where": ops.where},
    "IndexCopy": lambda x, index, value, dim, name=None: ops.index_copy(x, index, value, dim, name=name),
    "ReduceSum": lambda x, dim, name=None: ops.reduce_sum(x, dim, keepdims=True, name=name),
    "ReduceAvg": lambda x, dim, name=None: ops.reduce_mean(x, dim, keepdims=True, name=name),
    "ReduceMax": lambda x, dim, stride=-1, name=None: ops.reduce_max(x, dim, keepdims=True, name=name),
    "GroupedReduceAvg": lambda x, dim, groups, keep_dims=False, name=None: ops.grouped_reduce_mean(
        x, dim, groups, keepdims=keep_dims, name=name
    ),
    **{"HSlice": ops.hslice, "VSlice": ops.vslice},
    "HStack": lambda x, slices=-1, name=None: ops.hstack(x, None if slices == -1 else slices, name=name),
    "VStack": lambda x, slices=-1, name=None: ops.vstack(x, None if slices == -1 else slices, name=name),
    "Transpose": lambda x, dim0, dim1, z_dim_slice=-1, name=None: ops.swap(x, dim0, dim1, name=name),
    **{"Reshape": ops.reshape, "Select": _select, "Pad": _pad},
    "Index": lambda x, dim, start, stop=None, stride=1, name=None: ops.index(x, dim, start, stop, stride, name=name),
    "AdvIndex": lambda x, index, dim=0, name=None: ops.gather(x, index, dim, name=name),
    "PadTile": lambda x, dim, original_length=0, name=None: ops.pad_to(x, dim, name=name),
    "Broadcast": lambda x, dim, shape, name=None: ops.broadcast(x, dim, shape, name=name),
    "Repeat": lambda x, factors, name=None: ops.repeat(x, factors, name=name),
    "Unsqueeze": lambda x, dim, name=None: ops.unsqueeze(x, dim, name=name),
    "Squeeze": lambda x, dim, name=None: ops.squeeze(x, dim, name=name),
    "Narrow": lambda x, dim, start, length, original_length=0, name=None: ops.narrow(x, dim, start, length, name=name),
    "PixelShuffle": lambda x, upscale_factor, name=None: ops.pixel_shuffle(x, upscale_factor, name=name),
    "Softmax": lambda x, *, dim, stable=True, name=None: ops.softmax(x, dim, name=name),
    "LogSoftmax": lambda x, *, dim, stable=True, name=None: ops.log_softmax(x, dim, name=name),
    "Layernorm": lambda x, weights, bias, dim=-1, epsilon=1e-5, name=None: ops.layer_norm(
        x, _squeezed(weights), _squeezed(bias), axis=dim, eps=epsilon, name=name
    ),
    "Batchnorm": lambda x, weights, bias, running_mean, running_var, epsilon=1e-5, name=None: ops.batch_norm(
        x, *map(_squeezed, (weights, bias, running_mean, running_var)), eps=epsilon, name=name
    ),
    **{"Embedding": ops.embedding, "Resize2d": _resize, "Resize3d": _resize},
    "Constant": lambda *, constant, name=None: ops.constant(np.float32(constant), name=name),
    "Quantize": lambda x, scale, zero_point=0, axis=0, name=None: ops.quantize(x, scale, zero_point, axis=axis, name=name),
    "Dequantize": lambda x, scale, zero_point=0, axis=0, name=None: ops.dequantize(x, scale, zero_point, axis=axis, name=name),
    "Requantize": lambda x, s, z, new_s, new_z, axis=0, name=None: ops.requantize(x, s, new_s, z, new_z, axis=axis, name=name),
}
REFUSED = {
    "DRAMQueue": "the compiler places queues; rules of placement say where they lie",
    "BudaPad": "the compiler pads to tiles",
    "BudaUnpad": "the compiler takes padding away",
    "BudaRequantize": "pybuda.op.Requantize is the same in one step",
}
"""Ops that have no meaning of their own here."""
OP = submodule("pybuda", "op", {name: _named(rule) for name, rule in _RULES.items()}, REFUSED)
"""OP stands in for the module pybuda.op."""


def _loss(kind: type[torch.nn.Module]) -> Callable[..., PyTorchModule]:
    """Return a loss module by its name; `reduction` is avg, sum or none."""

    def made(name: str, reduction: str = "avg", **_others: Any) -> PyTorchModule:
        return PyTorchModule(name, kind(reduction={"avg": "mean"}.get(reduction, reduction)))

    return made


_LOSSES = {"L1Loss": _loss(torch.nn.L1Loss), "CrossEntropyLoss": _loss(torch.nn.CrossEntropyLoss)}
_COMMON = submodule("pybuda.op.eval", "common", {"compare_tensor_to_golden": compare_tensor_to_golden})
OPS_INNER = {
    "op.loss": submodule("pybuda.op", "loss", _LOSSES),
    "op.nn": submodule("pybuda.op", "nn", {name: OP.__dict__[name] for name in ("Softmax", "LogSoftmax", "Layernorm", "Batchnorm")}),
    "op.eval": submodule("pybuda.op", "eval", {"compare_tensor_to_golden": compare_tensor_to_golden, "common": _COMMON}),
    "op.eval.common": _COMMON,
}
"""OPS_INNER has the modules inside pybuda.op by name."""
OP.__dict__.update({name.removeprefix("op."): made for name, made in OPS_INNER.items() if name.count(".") == 1}, **_LOSSES)

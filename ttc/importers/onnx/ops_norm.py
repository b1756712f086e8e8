"""Normalisations and dropout, for inference."""

from __future__ import annotations

from math import prod

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axis_in
from ttc.importers.common.builder import Builder
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.onnx.ops_random import dropped
from ttc.importers.onnx.tables import MAPPINGS


@MAPPINGS.rule("BatchNormalization-7")
def batch_normalization_7(
    b: Builder,
    x: SSAValue,
    scale: SSAValue,
    bias: SSAValue,
    mean: SSAValue,
    var: SSAValue,
    *,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    spatial: int = 1,
) -> SSAValue:
    """Normalize per channel, the dimension 1; results after the first are those of training."""
    if not spatial:
        raise Unsupported("spatial = 0")
    _refuse_training(b)
    wide = b.dtype(x)
    scale, bias, mean, var = (b.cast(v, wide) for v in (scale, bias, mean, var))
    if any(b.known(v) is None for v in (scale, bias, mean, var)):
        return _normalized(b, x, scale, bias, mean, var, epsilon)
    return b.nn("batch_norm", x, scale, bias, mean, var, eps=epsilon, axis=1)


def _normalized(b: Builder, x: SSAValue, scale: SSAValue, bias: SSAValue, mean: SSAValue, var: SSAValue, epsilon: float) -> SSAValue:
    """By statistics that are computed: nn's op is for those of a trained network."""
    column = (b.shape(x)[1], *(1,) * (b.rank(x) - 2)) if b.rank(x) > 1 else ()
    scale, bias, mean, var = (b.reshape(v, *column) for v in (scale, bias, mean, var))
    steepness = b.nn("mul", scale, b.nn("rsqrt", b.nn("add", var, b.scalar(epsilon, x))))
    return b.nn("add", b.nn("mul", b.nn("sub", x, mean), steepness), bias)


@MAPPINGS.rule("BatchNormalization-9")
def batch_normalization_9(
    b: Builder,
    x: SSAValue,
    scale: SSAValue,
    bias: SSAValue,
    mean: SSAValue,
    var: SSAValue,
    *,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    training_mode: int = 0,
) -> SSAValue | tuple[SSAValue, ...]:
    """Normalize per channel; from opset 14 on perhaps in training, by the batch's own statistics, which move the running ones."""
    if training_mode:
        return _trained(b, x, scale, bias, mean, var, epsilon, momentum)
    return batch_normalization_7(b, x, scale, bias, mean, var, epsilon=epsilon, momentum=momentum)


def _trained(
    b: Builder, x: SSAValue, scale: SSAValue, bias: SSAValue, mean: SSAValue, var: SSAValue, epsilon: float, momentum: float
) -> tuple[SSAValue, ...]:
    shape = b.shape(x)
    axes = (0, *range(2, len(shape)))
    now = b.nn("reduce_mean", x, axes=axes, keepdims=True)
    centred = b.nn("sub", x, now)
    spread = b.reshape(b.nn("reduce_mean", b.nn("mul", centred, centred), axes=axes, keepdims=True), shape[1])
    now = b.reshape(now, shape[1])
    y = _normalized(b, x, b.cast(scale, b.dtype(x)), b.cast(bias, b.dtype(x)), now, spread, epsilon)
    moved = [
        b.nn("add", b.nn("mul", old, b.scalar(momentum, old)), b.nn("mul", b.cast(new, b.dtype(old)), b.scalar(1 - momentum, old)))
        for old, new in ((mean, now), (var, spread))
    ]
    return y, *moved


def _refuse_training(b: Builder) -> None:
    if any(b.outputs[1:]):
        raise Unsupported("its outputs for training are used")


@MAPPINGS.rule("LayerNormalization-17")
def layer_normalization_17(
    b: Builder, x: SSAValue, scale: SSAValue, bias: SSAValue | None = None, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> tuple[SSAValue, ...]:
    """Normalize over the dimensions from the axis on; scale and bias broadcast to these. Mean and deviation are computed if they are asked
    for.
    """
    at = axis_in(axis, b.rank(x))
    normal = b.sizes(x, at)
    scale = _broadcast(b, scale, normal)
    bias = None if bias is None else _broadcast(b, bias, normal)
    y = b.nn("layer_norm", x, scale, bias, axis=at, eps=epsilon)
    if not any(b.outputs[1:]):
        return (y,)
    axes = tuple(range(at, b.rank(x)))
    mean = b.nn("reduce_mean", x, axes=axes, keepdims=True)
    centred = b.nn("sub", x, mean)
    variance = b.nn("reduce_mean", b.nn("mul", centred, centred), axes=axes, keepdims=True)
    return y, mean, b.nn("rsqrt", b.nn("add", variance, b.scalar(epsilon, x)))


@MAPPINGS.rule("RMSNormalization-23")
def rms_normalization_23(
    b: Builder, x: SSAValue, scale: SSAValue, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> SSAValue:
    at = axis_in(axis, b.rank(x))
    return b.nn("rms_norm", x, b.cast(_broadcast(b, scale, b.sizes(x, at)), b.dtype(x)), axis=at, eps=epsilon)


def _broadcast(b: Builder, value: SSAValue, shape: tuple[int, ...]) -> SSAValue:
    return value if b.shape(value) == shape else b.nn("expand", value, shape=shape)


@MAPPINGS.rule("InstanceNormalization-1")
def instance_normalization_1(b: Builder, x: SSAValue, scale: SSAValue, bias: SSAValue, *, epsilon: float = 1e-5) -> SSAValue:
    """Return x[n, c, ...] normalized over all dimensions but n and c, then scaled by channel."""
    if b.rank(x) < 3:
        raise Error("E0401", f"InstanceNormalization takes rank 3 or more, not {b.spec(x)}")
    return _by_channel(b, b.nn("layer_norm", x, None, None, axis=2, eps=epsilon), scale, bias)


@MAPPINGS.rule("GroupNormalization-18")
def group_normalization_18(
    b: Builder, x: SSAValue, scale: SSAValue, bias: SSAValue, *, epsilon: float = 1e-5, num_groups: int, stash_type: int = 1
) -> SSAValue:
    """Normalize by groups, where scale and bias have one element a group."""
    count = _group_size(b, x, num_groups)
    scale, bias = (_repeat_each(b, v, num_groups, count) for v in (scale, bias))
    return group_normalization_21(b, x, scale, bias, epsilon=epsilon, num_groups=num_groups, stash_type=stash_type)


@MAPPINGS.rule("GroupNormalization-21")
def group_normalization_21(
    b: Builder, x: SSAValue, scale: SSAValue, bias: SSAValue, *, epsilon: float = 1e-5, num_groups: int, stash_type: int = 1
) -> SSAValue:
    """Return x[n, c, ...] normalized over c / num_groups channels at a time, then scaled by channel."""
    shape = b.shape(x)
    size = _group_size(b, x, num_groups)
    grouped = b.reshape(x, shape[0], num_groups, size * prod(shape[2:]))
    return _by_channel(b, b.reshape(b.nn("layer_norm", grouped, None, None, axis=2, eps=epsilon), *shape), scale, bias)


def _group_size(b: Builder, x: SSAValue, groups: int) -> int:
    shape = b.shape(x)
    if len(shape) < 2 or groups < 1 or shape[1] % groups:
        raise Error("E0401", f"{b.spec(x)} does not fall into {groups} groups of channels")
    return shape[1] // groups


def _repeat_each(b: Builder, value: SSAValue, groups: int, count: int) -> SSAValue:
    return b.reshape(b.nn("expand", b.reshape(value, groups, 1), shape=(groups, count)), groups * count)


def _by_channel(b: Builder, x: SSAValue, scale: SSAValue, bias: SSAValue) -> SSAValue:
    shape = b.shape(x)
    column = (shape[1], *(1,) * (len(shape) - 2))
    return b.nn("add", b.nn("mul", x, b.reshape(scale, *column)), b.reshape(bias, *column))


@MAPPINGS.rule("LpNormalization-1")
def lp_normalization_1(b: Builder, x: SSAValue, *, axis: int = -1, p: int = 2) -> SSAValue:
    """Return x over its norm along the axis, or over 1 where the norm is 0: a NaN, though dropped, spoils a product that selects."""
    if p not in (1, 2):
        raise Unsupported(f"p = {p}")
    along = (axis_in(axis, b.rank(x)),)
    parts = b.nn("abs", x) if p == 1 else b.nn("mul", x, x)
    norm = b.nn("reduce_sum", parts, axes=along, keepdims=True)
    norm = norm if p == 1 else b.nn("sqrt", norm)
    return b.nn("div", x, b.nn("where", b.nn("equal", norm, b.scalar(0, x)), b.scalar(1, x), norm))


@MAPPINGS.rule("LRN-1")
def lrn_1(b: Builder, x: SSAValue, *, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0, size: int) -> SSAValue:
    """Return x / (bias + alpha / size * sum of squares over `size` channels around)^beta; the sum is a convolution of one tap."""
    shape = b.shape(x)
    if len(shape) < 3 or not 1 <= size < 1 << 16 or shape[1] > 1 << 12:
        raise Error("E0402", f"takes at least one spatial dimension, at most 4096 channels and a positive size, not {b.spec(x)} and {size}")
    channels = np.arange(shape[1])
    distance = channels[None, :] - channels[:, None]
    near = (distance >= -((size - 1) // 2)) & (distance <= size // 2)
    band = b.constant((near * (alpha / size)).reshape(shape[1], shape[1], 1, 1), b.dtype(x))
    squares = b.reshape(b.nn("mul", x, x), *shape[:2], prod(shape[2:-1]), shape[-1])
    constant = b.nn("expand", b.scalar(bias, x), shape=(shape[1],))
    one = {"strides": (1, 1), "pads": (0, 0, 0, 0), "dilations": (1, 1)}
    total = b.nn("conv2d", squares, band, constant, **one, groups=1, layout="nchw")
    return b.nn("mul", x, b.nn("pow", b.reshape(total, *shape), b.scalar(-beta, x)))


@MAPPINGS.rule("Dropout-7")
def dropout_7(b: Builder, x: SSAValue, *, ratio: float = 0.5) -> tuple[SSAValue, ...]:
    """Return the operand, as in inference; a mask keeps everything."""
    return _kept(b, x)


@MAPPINGS.rule("Dropout-12")
def dropout_12(
    b: Builder, x: SSAValue, ratio: SSAValue | None = None, training_mode: SSAValue | None = None, *, seed: int | None = None
) -> tuple[SSAValue, ...]:
    """Return the operand, as in inference, unless training_mode says otherwise."""
    if training_mode is not None and bool(np.any(b.need(training_mode, "training_mode"))):
        return dropped(b, x, ratio, seed)
    return _kept(b, x)


def _kept(b: Builder, x: SSAValue) -> tuple[SSAValue, ...]:
    if not any(b.outputs[1:]):
        return (x,)
    mask = np.dtype(bool) if b.opset >= 10 else b.dtype(x)
    return x, b.nn("expand", b.constant(np.array(1, mask)), shape=b.shape(x))

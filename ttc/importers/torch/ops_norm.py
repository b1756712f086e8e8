"""Rows for normalizations of PyTorch."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from ttc.dialects.core.ir.leaves import LeafOp
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.nn.unary import CastOp
from ttc.importers.common.norms import by_channel, grouped_norm, instance_norm_of
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.torch.builder import TorchBuilder
from ttc.importers.torch.elements import plus, times
from ttc.importers.torch.tables import Rows

Maybe = SSAValue | None
_WIDE = np.dtype(np.float32)
_NARROW = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))


def _is_held(value: SSAValue) -> bool:
    """Return whether a value is one that the model holds, maybe in another type; what it is does not matter, and may change."""
    owner = value.owner
    return isinstance(owner, LeafOp) or (isinstance(owner, CastOp) and _is_held(owner.operands[0]))


def _with_statistics(b: TorchBuilder, x: SSAValue, weight: Maybe, bias: Maybe, mean: SSAValue, var: SSAValue, eps: float) -> SSAValue:
    """By given statistics: those of a trained network as nn's op, computed ones step by step."""
    wide = b.dtype(x)
    mean, var = b.cast(mean, wide), b.cast(var, wide)
    weight, bias = (None if v is None else b.cast(v, wide) for v in (weight, bias))
    channels = b.shape(mean)
    if not all(_is_held(v) for v in (mean, var, weight, bias) if v is not None):
        column = (channels[0], *(1,) * (b.rank(x) - 2))
        centred = b.nn("sub", x, b.reshape(mean, *column))
        return by_channel(b, b.nn("mul", centred, b.reshape(b.nn("rsqrt", plus(b, var, eps)), *column)), weight, bias)
    scale = b.nn("expand", b.scalar(1, x), shape=channels) if weight is None else weight
    shift = b.nn("expand", b.scalar(0, x), shape=channels) if bias is None else bias
    return b.nn("batch_norm", x, scale, shift, mean, var, eps=eps, axis=1)


def batch_norm_inference(
    b: TorchBuilder, x: SSAValue, weight: Maybe, bias: Maybe, mean: SSAValue, var: SSAValue, momentum: float, eps: float
) -> tuple[Maybe, ...]:
    """Normalize per channel, the dimension 1, by running statistics; what is saved for training is empty."""
    empty = b.constant(np.zeros(0, np.float32)) if any(b.outputs[1:]) else None
    return _with_statistics(b, x, weight, bias, mean, var, eps), empty, empty


def batch_statistics(b: TorchBuilder, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Return mean and variance (over n) of each channel."""
    axes = (0, *range(2, b.rank(x)))
    mean = b.nn("reduce_mean", x, axes=axes, keepdims=True)
    centred = b.nn("sub", x, mean)
    var = b.nn("reduce_mean", b.nn("mul", centred, centred), axes=axes, keepdims=False)
    return b.reshape(mean, b.shape(x)[1]), var


def _trained(b: TorchBuilder, x: SSAValue, weight: Maybe, bias: Maybe, eps: float) -> tuple[SSAValue, SSAValue, SSAValue, SSAValue]:
    """By the batch's own statistics: result, mean, 1 / deviation, variance."""
    mean, var = batch_statistics(b, x)
    inverse = b.nn("rsqrt", plus(b, var, eps))
    column = (b.shape(x)[1], *(1,) * (b.rank(x) - 2))
    centred = b.nn("sub", x, b.reshape(mean, *column))
    y = by_channel(b, b.nn("mul", centred, b.reshape(inverse, *column)), weight, bias)
    return y, mean, inverse, var


def _moved(b: TorchBuilder, old: SSAValue, new: SSAValue, momentum: float) -> SSAValue:
    return b.nn("add", times(b, old, 1 - momentum), times(b, b.cast(new, b.dtype(old)), momentum))


def batch_norm_no_stats(
    b: TorchBuilder, x: SSAValue, weight: Maybe, bias: Maybe, training: bool, momentum: float, eps: float
) -> tuple[Maybe, ...]:
    return _trained(b, x, weight, bias, eps)[:3]


def batch_norm_functional(
    b: TorchBuilder,
    x: SSAValue,
    weight: Maybe,
    bias: Maybe,
    mean: SSAValue,
    var: SSAValue,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Maybe, ...]:
    """Normalize, and return the new running statistics, too; the variance of these is that of a sample."""
    if not training:
        return *batch_norm_inference(b, x, weight, bias, mean, var, momentum, eps), mean, var
    if b.dtype(x) in _NARROW:
        return _in_float32(b, x, weight, bias, mean, var, momentum, eps)
    dtypes = {b.dtype(v) for v in (x, weight, bias, mean, var) if v is not None}
    if len(dtypes) == 1 and _is_held(mean) and _is_held(var):
        return _with_running(b, x, weight, bias, mean, var, momentum, eps)
    y, now, inverse, spread = _trained(b, x, weight, bias, eps)
    count = b.spec(x).elements // max(b.shape(x)[1], 1)
    sample = times(b, spread, count / max(count - 1, 1))
    return y, now, inverse, _moved(b, mean, now, momentum), _moved(b, var, sample, momentum)


def _in_float32(
    b: TorchBuilder, x: SSAValue, weight: Maybe, bias: Maybe, mean: SSAValue, var: SSAValue, momentum: float, eps: float
) -> tuple[Maybe, ...]:
    """As PyTorch traces normalization of a narrow type: what is saved for gradients is narrow, too, and the new statistics are float32."""
    wide, mean, var = (b.cast(v, _WIDE) for v in (x, mean, var))
    weight, bias = (None if v is None else b.cast(v, _WIDE) for v in (weight, bias))
    made = batch_norm_functional(b, wide, weight, bias, mean, var, True, momentum, eps)
    return *(None if v is None else b.cast(v, b.dtype(x)) for v in made[:3]), *made[3:]


def _with_running(
    b: TorchBuilder, x: SSAValue, weight: Maybe, bias: Maybe, mean: SSAValue, var: SSAValue, momentum: float, eps: float
) -> tuple[Maybe, ...]:
    """By the batch's own statistics, which move those that the model holds: one op, that a program may also evaluate by these."""
    channels = b.shape(mean)
    scale = b.nn("expand", b.scalar(1, x), shape=channels) if weight is None else weight
    shift = b.nn("expand", b.scalar(0, x), shape=channels) if bias is None else bias
    attrs = {"eps": eps, "axis": 1, "momentum": momentum, "unbiased": True}
    return b.nn_all("batch_norm_training", x, scale, shift, mean, var, **attrs)


def batch_norm_with_update(
    b: TorchBuilder, x: SSAValue, weight: Maybe, bias: Maybe, mean: SSAValue, var: SSAValue, momentum: float, eps: float
) -> tuple[Maybe, ...]:
    """Normalize as `batch_norm_functional` does, with an empty reserve besides."""
    y, now, inverse, mean_out, var_out = batch_norm_functional(b, x, weight, bias, mean, var, True, momentum, eps)
    return y, now, inverse, b.constant(np.zeros(0, np.uint8)), mean_out, var_out


def layer_norm(
    b: TorchBuilder, x: SSAValue, normalized: tuple[int, ...], weight: Maybe, bias: Maybe, eps: float, cudnn_enable: bool = True
) -> SSAValue:
    """Normalize over the last dimensions, then scale and shift."""
    wide = b.dtype(x)
    weight, bias = (None if v is None else b.cast(v, wide) for v in (weight, bias))
    return b.nn("layer_norm", x, weight, bias, axis=b.rank(x) - len(normalized), eps=float(eps))


def native_layer_norm(
    b: TorchBuilder, x: SSAValue, normalized: tuple[int, ...], weight: Maybe, bias: Maybe, eps: float
) -> tuple[Maybe, ...]:
    """Normalize, and return mean and 1 / deviation, if they are read."""
    y = layer_norm(b, x, normalized, weight, bias, eps)
    axes = tuple(range(b.rank(x) - len(normalized), b.rank(x)))
    return y, *(_statistics(b, x, axes, eps) if any(b.outputs[1:]) else (None, None))


def _statistics(b: TorchBuilder, x: SSAValue, axes: tuple[int, ...], eps: float) -> tuple[SSAValue, SSAValue]:
    mean = b.nn("reduce_mean", x, axes=axes, keepdims=True)
    centred = b.nn("sub", x, mean)
    var = b.nn("reduce_mean", b.nn("mul", centred, centred), axes=axes, keepdims=True)
    return mean, b.nn("rsqrt", plus(b, var, eps))


def group_norm(b: TorchBuilder, x: SSAValue, groups: int, weight: Maybe, bias: Maybe, eps: float, cudnn_enabled: bool = True) -> SSAValue:
    """Return x[n, c, ...] normalized over c / groups channels at a time, then scaled by channel."""
    return grouped_norm(b, x, groups, weight, bias, eps)


def native_group_norm(
    b: TorchBuilder, x: SSAValue, weight: Maybe, bias: Maybe, n: int, c: int, size: int, groups: int, eps: float
) -> tuple[Any, ...]:
    y = group_norm(b, x, groups, weight, bias, eps)
    if not any(b.outputs[1:]):
        return y, None, None
    mean, inverse = _statistics(b, b.reshape(x, n, groups, c // groups * size), (2,), eps)
    return y, b.reshape(mean, n, groups), b.reshape(inverse, n, groups)


def instance_norm(
    b: TorchBuilder,
    x: SSAValue,
    weight: Maybe,
    bias: Maybe,
    mean: Maybe,
    var: Maybe,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> SSAValue:
    """Return x[n, c, ...] normalized over all dimensions but n and c, then scaled by channel."""
    if not use_input_stats and mean is not None and var is not None:
        return _with_statistics(b, x, weight, bias, mean, var, eps)
    if mean is not None and use_input_stats:
        raise Unsupported("running statistics that it changes")
    return instance_norm_of(b, x, weight, bias, eps)


def rms_norm(b: TorchBuilder, x: SSAValue, normalized: tuple[int, ...], weight: Maybe, eps: float | None) -> SSAValue:
    """Normalize over the last dimensions; without an eps by the smallest step of the dtype."""
    small = float(ml_dtypes.finfo(b.dtype(x)).eps) if eps is None else float(eps)
    scale = b.nn("expand", b.scalar(1, x), shape=tuple(normalized)) if weight is None else b.cast(weight, b.dtype(x))
    return b.nn("rms_norm", x, scale, axis=b.rank(x) - len(normalized), eps=small)


def fused_rms_norm(b: TorchBuilder, x: SSAValue, normalized: tuple[int, ...], weight: Maybe, eps: float | None) -> tuple[Any, ...]:
    if any(b.outputs[1:]):
        raise Unsupported("its statistics are used")
    return rms_norm(b, x, normalized, weight, eps), None


ROWS: Rows = {
    "aten._native_batch_norm_legit_no_training.default": batch_norm_inference,
    "aten._native_batch_norm_legit.no_stats": batch_norm_no_stats,
    "aten._native_batch_norm_legit_functional.default": batch_norm_functional,
    "aten._batch_norm_with_update_functional.default": batch_norm_with_update,
    "aten.layer_norm.default": layer_norm,
    "aten.native_layer_norm.default": native_layer_norm,
    "aten.group_norm.default": group_norm,
    "aten.native_group_norm.default": native_group_norm,
    "aten.instance_norm.default": instance_norm,
    "aten.rms_norm.default": rms_norm,
    "aten._fused_rms_norm.default": fused_rms_norm,
}

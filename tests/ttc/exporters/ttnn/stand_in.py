"""A stand-in for TT-NN: the ops that exported modules call, with TT-NN's documented semantics, computed by torch.

Every result is rounded to the format of its tensor; what TT-NN asks of layouts, ranks and places is asserted.
"""

from __future__ import annotations

import builtins
import types
from typing import Any

import torch
import torch.nn.functional as F

from tests.ttc.exporters.ttnn.stand_in_tensors import (  # noqa: F401 - modules that were exported find all of TT-NN here
    DRAM_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    ROW_MAJOR_LAYOUT,
    TILE,
    TILE_LAYOUT,
    Device,
    Tensor,
    bfloat8_b,
    bfloat16,
    float32,
    from_torch,
    in_blocks,
    int32,
    made,
    rounded,
    tiles,
    to_layout,
    to_torch,
    uint32,
)
from tests.ttc.exporters.ttnn.stand_in_variables import copy, indexed_fused_update_cache  # noqa: F401

experimental = types.SimpleNamespace(indexed_fused_update_cache=indexed_fused_update_cache)

# ---- elementwise ------------------------------------------------------------------------------------------------------------------------


def operands(left: Tensor, right: Any) -> tuple[torch.Tensor, Any]:
    return tiles(left)[0], tiles(right)[0] if isinstance(right, Tensor) else right


def binary(function: Any) -> Any:
    def op(left: Tensor, right: Any, *, memory_config: str) -> Tensor:
        a, b = operands(left, right)
        return made(function(a, b if isinstance(b, torch.Tensor) else torch.tensor(float(b))).to(torch.float32), left)

    return op


def unary(function: Any) -> Any:
    def op(x: Tensor, *, memory_config: str) -> Tensor:
        return made(function(tiles(x)[0]).to(torch.float32), x)

    return op


add, subtract, multiply, divide = binary(torch.add), binary(torch.sub), binary(torch.mul), binary(torch.div)
minimum, maximum, pow = binary(torch.minimum), binary(torch.maximum), binary(torch.pow)
rsub, rdiv, rpow = binary(lambda a, b: b - a), binary(lambda a, b: b / a), binary(lambda a, b: torch.pow(b, a))
eq, ne, lt, le, gt, ge = map(binary, (torch.eq, torch.ne, torch.lt, torch.le, torch.gt, torch.ge))
logical_and, logical_or, logical_xor = map(binary, (torch.logical_and, torch.logical_or, torch.logical_xor))
remainder, fmod = binary(torch.remainder), binary(torch.fmod)
abs, neg, sign, exp, log, sqrt, rsqrt, reciprocal = map(
    unary, (torch.abs, torch.neg, torch.sign, torch.exp, torch.log, torch.sqrt, torch.rsqrt, torch.reciprocal)
)
floor, ceil, round, sin, cos, erf = map(unary, (torch.floor, torch.ceil, torch.round, torch.sin, torch.cos, torch.erf))
sinh, cosh, asin, acos, atan, asinh, acosh, atanh = map(
    unary, (torch.sinh, torch.cosh, torch.asin, torch.acos, torch.atan, torch.asinh, torch.acosh, torch.atanh)
)
tanh, sigmoid, relu, silu, softplus, hardswish, relu6 = map(
    unary, (torch.tanh, torch.sigmoid, torch.relu, F.silu, F.softplus, F.hardswish, F.relu6)
)
logical_not, isnan, isinf = unary(torch.logical_not), unary(torch.isnan), unary(torch.isinf)


class GeluVariant:
    """Forms of gelu."""

    Accurate, Tanh = "none", "tanh"


def gelu(x: Tensor, *, memory_config: str, variant: str = GeluVariant.Accurate) -> Tensor:
    return made(F.gelu(tiles(x)[0], approximate=variant), x)


def leaky_relu(x: Tensor, slope: float, *, memory_config: str) -> Tensor:
    return made(F.leaky_relu(tiles(x)[0], slope), x)


def elu(x: Tensor, alpha: float, *, memory_config: str) -> Tensor:
    return made(F.elu(tiles(x)[0], alpha), x)


def clamp(x: Tensor, *, memory_config: str, min: float | None = None, max: float | None = None) -> Tensor:
    result = made(torch.clamp(tiles(x)[0], min, max), x)
    result.memory = memory_config
    return result


def where(condition: Tensor, yes: Any, no: Any, *, memory_config: str) -> Tensor:
    sides = [tiles(side)[0] if isinstance(side, Tensor) else torch.tensor(float(side)) for side in (yes, no)]
    return made(torch.where(tiles(condition)[0] != 0, *sides), next((s for s in (yes, no) if isinstance(s, Tensor)), condition))


def full(shape: tuple[int, ...], value: float, *, dtype: str, layout: str, device: Device, memory_config: str) -> Tensor:
    return Tensor(torch.full(shape, value), dtype, layout)


# ---- products, norms, attention ---------------------------------------------------------------------------------------------------------


class UnaryOpType:
    """Activations by name."""

    RELU, SILU, GELU = "relu", "silu", "gelu"


class UnaryWithParam:
    """An activation that an op applies to its result."""

    def __init__(self, kind: str, *parameters: float) -> None:
        self.kind = kind


ACTIVATIONS = {"relu": F.relu, "silu": F.silu, "gelu": F.gelu, None: lambda x: x}


def applied(activation: Any, values: torch.Tensor) -> torch.Tensor:
    return ACTIVATIONS[activation.kind if isinstance(activation, UnaryWithParam) else activation](values)


def linear(
    x: Tensor, w: Tensor, *, dtype: str, compute_kernel_config: str, memory_config: str, bias: Tensor | None = None, activation: Any = None
) -> Tensor:
    left, right = tiles(x, w)
    assert len(w.shape) == 2, w.shape
    assert bias is None or bias.shape == (1, w.shape[1])
    result = left @ right + (0 if bias is None else tiles(bias)[0])
    return made(applied(activation, result), x, dtype)


def matmul(
    a: Tensor,
    b: Tensor,
    *,
    dtype: str,
    compute_kernel_config: str,
    memory_config: str,
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> Tensor:
    left, right = tiles(a, b)
    lead = right.shape[:-2]
    assert left.shape[:-2] == lead or all(size == 1 for size in lead), (left.shape, right.shape)
    return made((left.mT if transpose_a else left) @ (right.mT if transpose_b else right), a, dtype)


def layer_norm(
    x: Tensor, *, epsilon: float, compute_kernel_config: str, memory_config: str, weight: Any = None, bias: Any = None
) -> Tensor:
    width = x.shape[-1]
    rows = [None if row is None else tiles(row)[0].reshape(width) for row in (weight, bias)]
    return made(F.layer_norm(tiles(x)[0], (width,), *rows, eps=epsilon), x)


def rms_norm(x: Tensor, *, epsilon: float, weight: Tensor, compute_kernel_config: str, memory_config: str) -> Tensor:
    width = x.shape[-1]
    return made(F.rms_norm(tiles(x)[0], (width,), tiles(weight)[0].reshape(width), epsilon), x)


def softmax(x: Tensor, *, dim: int, numeric_stable: bool, compute_kernel_config: str, memory_config: str) -> Tensor:
    return made(torch.softmax(tiles(x)[0], dim), x)


def embedding(places: Tensor, table: Tensor, *, layout: str, dtype: str, memory_config: str) -> Tensor:
    assert places.dtype == uint32
    assert places.layout == table.layout == ROW_MAJOR_LAYOUT
    assert len(places.shape) == 2
    return Tensor(F.embedding(places.values, table.values), dtype, layout)


def scaled_dot_product_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    is_causal: bool,
    scale: float,
    compute_kernel_config: str,
    memory_config: str,
    attn_mask: Tensor | None = None,
) -> Tensor:
    queries, keys, values = tiles(q, k, v)
    batch, heads, rows, width = queries.shape
    assert keys.shape[0] == values.shape[0] == batch
    assert heads % keys.shape[1] == 0
    assert keys.shape[1] == values.shape[1]
    assert keys.shape[3] == values.shape[3] == width
    assert width % TILE == 0
    if attn_mask is not None:
        assert not is_causal
        assert attn_mask.memory == DRAM_MEMORY_CONFIG
        assert attn_mask.shape[0] in (1, batch)
        assert attn_mask.shape[1] in (1, heads)
        assert attn_mask.shape[2:] == (rows, keys.shape[2]), attn_mask.shape
    repeated = [x.repeat_interleave(heads // x.shape[1], 1) for x in (keys, values)]
    mask = None if attn_mask is None else tiles(attn_mask)[0]
    return made(F.scaled_dot_product_attention(queries, *repeated, attn_mask=mask, is_causal=is_causal, scale=scale), q)


transformer = types.SimpleNamespace(scaled_dot_product_attention=scaled_dot_product_attention)


# ---- images -----------------------------------------------------------------------------------------------------------------------------


class Conv2dConfig:
    """What a convolution applies and how it stores weights."""

    def __init__(self, *, weights_dtype: str, activation: UnaryWithParam | None = None, act_block_h_override: int = 0) -> None:
        assert act_block_h_override % TILE == 0
        self.weights_dtype, self.activation = weights_dtype, activation


def image(x: Tensor, batch: int, height: int, width: int, channels: int) -> torch.Tensor:
    """An image that lies as one row of pixels, or in rows, with channels first."""
    assert x.shape in ((1, 1, batch * height * width, channels), (batch, height, width, channels)), x.shape
    return x.values.reshape(batch, height, width, channels).permute(0, 3, 1, 2)


def as_pixels(values: torch.Tensor, like: Tensor, dtype: str | None = None) -> Tensor:
    return made(values.permute(0, 2, 3, 1).reshape(1, 1, -1, values.shape[1]), like, dtype)


def margins(padding: tuple[int, ...]) -> tuple[int, int, int, int]:
    """left, right, top, bottom."""
    top, bottom, left, right = padding if len(padding) == 4 else (padding[0], padding[0], padding[1], padding[1])
    return left, right, top, bottom


def conv2d(**given: Any) -> tuple[Tensor, list[Any]]:
    x, w, bias, config = given["input_tensor"], given["weight_tensor"], given.get("bias_tensor"), given["conv_config"]
    assert x.on_device
    assert w.layout == ROW_MAJOR_LAYOUT
    assert given["return_weights_and_bias"]
    pixels = image(x, given["batch_size"], given["input_height"], given["input_width"], given["in_channels"])
    kernel, row = rounded(w.values, config.weights_dtype if config.weights_dtype != bfloat8_b else bfloat16), None
    if config.weights_dtype == bfloat8_b:
        kernel = torch.from_numpy(in_blocks(kernel.permute(2, 3, 1, 0).contiguous().numpy())).permute(3, 2, 0, 1)
    if bias is not None:
        row = bias.values.reshape(-1)
    result = F.conv2d(F.pad(pixels, margins(given["padding"])), kernel, row, given["stride"], 0, given["dilation"], given["groups"])
    assert result.shape[1] == given["out_channels"]
    assert tuple(kernel.shape[2:]) == given["kernel_size"]
    return as_pixels(applied(config.activation, result), x, given["dtype"]), [w, bias]


def conv_transpose2d(**given: Any) -> tuple[Tensor, list[Any]]:
    x, w, bias = given["input_tensor"], given["weight_tensor"], given.get("bias_tensor")
    pixels = image(x, given["batch_size"], given["input_height"], given["input_width"], given["in_channels"])
    assert len(given["padding"]) == 2
    result = F.conv_transpose2d(
        pixels,
        w.values,
        None if bias is None else bias.values.reshape(-1),
        given["stride"],
        given["padding"],
        given["output_padding"],
        given["groups"],
        given["dilation"],
    )
    return as_pixels(applied(given["conv_config"].activation, result), x, given["dtype"]), [w, bias]


def pooled(given: dict[str, Any], x: Tensor) -> torch.Tensor:
    assert x.on_device
    assert given["output_layout"] == TILE_LAYOUT
    return image(x, given["batch_size"], given["input_h"], given["input_w"], given["channels"])


def max_pool2d(**given: Any) -> Tensor:
    x = given["input_tensor"]
    padded = F.pad(pooled(given, x), margins(tuple(given["padding"])), value=float("-inf"))
    return as_pixels(F.max_pool2d(padded, given["kernel_size"], given["stride"], 0, given["dilation"], given["ceil_mode"]), x)


def avg_pool2d(**given: Any) -> Tensor:
    x, (left, right, top, bottom) = given["input_tensor"], margins(tuple(given["padding"]))
    pixels, window = pooled(given, x), (given["kernel_size"], given["stride"])
    if (left, top) == (right, bottom):
        return as_pixels(F.avg_pool2d(pixels, *window, (top, left), given["ceil_mode"], given["count_include_pad"]), x)
    wide = (left, right, top, bottom)
    means = F.avg_pool2d(F.pad(pixels, wide), *window)
    shares = F.avg_pool2d(F.pad(torch.ones_like(pixels), wide), *window)
    return as_pixels(means if given["count_include_pad"] else means / shares, x)


# ---- reductions, shapes, pieces ---------------------------------------------------------------------------------------------------------


def reduction(function: Any) -> Any:
    def op(x: Tensor, *, dim: Any, keepdim: bool, memory_config: str) -> Tensor:
        (values,) = tiles(x)
        return made(function(values, dim if isinstance(dim, tuple) else (dim,), keepdim=keepdim), x)

    return op


sum, mean, max, min = reduction(torch.sum), reduction(torch.mean), reduction(torch.amax), reduction(torch.amin)


def prod(x: Tensor, *, dim: int, keepdim: bool, memory_config: str) -> Tensor:
    return made(torch.prod(tiles(x)[0], dim, keepdim), x)


def cumsum(x: Tensor, *, dim: int, memory_config: str) -> Tensor:
    return made(torch.cumsum(tiles(x)[0], dim), x)


def cumprod(x: Tensor, *, dim: int, memory_config: str) -> Tensor:
    return made(torch.cumprod(tiles(x)[0], dim), x)


def reshape(x: Tensor, shape: tuple[int, ...], *, memory_config: str) -> Tensor:
    return made(tiles(x)[0].reshape(shape), x, x.dtype)


def permute(x: Tensor, order: tuple[int, ...], *, memory_config: str) -> Tensor:
    return made(tiles(x)[0].permute(order), x, x.dtype)


def repeat(x: Tensor, counts: tuple[int, ...], *, memory_config: str) -> Tensor:
    assert len(counts) == len(x.shape)
    return made(tiles(x)[0].repeat(counts), x, x.dtype)


def slice(x: Tensor, starts: list[int], ends: list[int], steps: list[int] | None = None, *, memory_config: str) -> Tensor:
    assert all(0 <= start < end <= size for start, end, size in zip(starts, ends, x.shape, strict=True))
    parts = tuple(map(builtins.slice, starts, ends, steps or [1] * len(starts)))
    return made(tiles(x)[0][parts], x, x.dtype)


def concat(tensors: list[Tensor], *, dim: int, memory_config: str) -> Tensor:
    return made(torch.cat(tiles(*tensors), dim), tensors[0])


def pad(x: Tensor, padding: list[tuple[int, int]], value: float, *, memory_config: str) -> Tensor:
    assert all(before == 0 for before, _ in padding)
    assert len(padding) == len(x.shape)
    return made(F.pad(tiles(x)[0], [size for pair in reversed(padding) for size in pair], value=value), x)


# ---- the rest of the interface ----------------------------------------------------------------------------------------------------------


class MathFidelity:
    """Passes of the multiplier."""

    LoFi, HiFi2, HiFi3, HiFi4 = range(4)


def init_device_compute_kernel_config(arch: str, **settings: Any) -> str:
    return "precise"


def ShardTensorToMesh(device: Device, dim: int) -> None:  # noqa: N802 - TT-NN's name
    """Where a batch is spread over a mesh: here over one device."""
    assert dim == 0


def ReplicateTensorToMesh(device: Device) -> None:  # noqa: N802 - TT-NN's name
    """Where all devices have the same: here there is one."""

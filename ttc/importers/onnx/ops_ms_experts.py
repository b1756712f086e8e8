"""Layers of experts of onnxruntime's domain: each row goes through the few of them that a router chooses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.onnx.ops_ms_activation import fast_gelu_1
from ttc.importers.onnx.ops_ms_packed import cropped, unpacked
from ttc.importers.onnx.tables import MAPPINGS


class _Dense(NamedTuple):
    """Matrices [experts, out, in] of one step, and their biases [experts, out]."""

    weights: SSAValue
    bias: SSAValue | None


class _Gate(NamedTuple):
    """How what the first step gives is bent: the activation, and of swiglu its numbers and how gates and values lie."""

    activation: str
    alpha: float
    beta: float
    limit: float | None
    fusion: int


@MAPPINGS.rule("com.microsoft.MoE-1")
def mo_e_1(
    b: Builder,
    x: SSAValue,
    router: SSAValue,
    fc1: SSAValue,
    fc1_bias: SSAValue | None,
    fc2: SSAValue,
    fc2_bias: SSAValue | None = None,
    fc3: SSAValue | None = None,
    fc3_bias: SSAValue | None = None,
    *,
    activation_alpha: float = 1.0,
    activation_beta: float = 0.0,
    activation_type: str = "relu",
    k: int = 1,
    normalize_routing_weights: int = 0,
    swiglu_fusion: int = 0,
    swiglu_limit: float | None = None,
    swiglu_limit_after_activation: int = 0,
    use_sparse_mixer: int = 0,
) -> SSAValue:
    """Return the sum of k experts' results for each row of x[..., d], by the weights that the router's scores [rows, experts] give."""
    if use_sparse_mixer or swiglu_limit_after_activation:
        raise Unsupported("use_sparse_mixer" if use_sparse_mixer else "swiglu_limit_after_activation")
    gate = _Gate(activation_type, activation_alpha, activation_beta, swiglu_limit, swiglu_fusion)
    third = None if fc3 is None else _Dense(fc3, fc3_bias)
    return _experts(b, x, (router, k, normalize_routing_weights), (_Dense(fc1, fc1_bias), _Dense(fc2, fc2_bias), third), gate)


@MAPPINGS.rule("com.microsoft.QMoE-1")
def q_mo_e_1(
    b: Builder,
    x: SSAValue,
    router: SSAValue,
    fc1: SSAValue,
    fc1_scales: SSAValue | None,
    fc1_bias: SSAValue | None,
    fc2: SSAValue,
    fc2_scales: SSAValue | None = None,
    fc2_bias: SSAValue | None = None,
    fc3: SSAValue | None = None,
    fc3_scales: SSAValue | None = None,
    fc3_bias: SSAValue | None = None,
    fc1_zeros: SSAValue | None = None,
    fc2_zeros: SSAValue | None = None,
    fc3_zeros: SSAValue | None = None,
    router_weights: SSAValue | None = None,
    *,
    accuracy_level: int = 0,
    activation_alpha: float = 1.0,
    activation_beta: float = 0.0,
    activation_type: str = "relu",
    block_size: int = 0,
    expert_weight_bits: int = 4,
    k: int = 1,
    normalize_routing_weights: int = 0,
    quant_type: str = "int",
    swiglu_fusion: int = 0,
    swiglu_limit: float | None = None,
    swiglu_limit_after_activation: int = 0,
    use_sparse_mixer: int = 0,
    weights_prepacked: int = -1,
) -> SSAValue:
    """Map a layer of experts whose weights are packed integers, with a scale a row, or one a block of a row."""
    for reason, given in (
        (f"quant_type '{quant_type[:20]}'", quant_type != "int"),
        ("router_weights", router_weights is not None),
        ("use_sparse_mixer", use_sparse_mixer),
        ("swiglu_limit_after_activation", swiglu_limit_after_activation),
    ):
        if given:
            raise Unsupported(reason)
    gate = _Gate(activation_type, activation_alpha, activation_beta, swiglu_limit, swiglu_fusion)
    rows = ((fc1, fc1_scales, fc1_zeros, fc1_bias), (fc2, fc2_scales, fc2_zeros, fc2_bias), (fc3, fc3_scales, fc3_zeros, fc3_bias))
    first, second, third = (_dequantized(b, row, expert_weight_bits, block_size, b.dtype(x)) for row in rows)
    if first is None or second is None:
        raise Error("E0203", "QMoE needs scales of its weights")
    return _experts(b, x, (router, k, normalize_routing_weights), (first, second, third), gate)


def _dequantized(b: Builder, row: tuple[SSAValue | None, ...], bits: int, block: int, dtype: np.dtype) -> _Dense | None:
    """Real weights; what stands for 0 is half of the range unless it is given."""
    codes, scales, zeros, bias = row
    if codes is None or scales is None:
        return None
    real = b.cast(unpacked(b, codes, bits), dtype)
    if b.rank(real) != 3:
        raise Error("E0401", f"takes weights of rank 3, not {b.spec(codes)}")
    experts, out, width = b.shape(real)
    blocks = -(-width // block) if block > 0 else 1
    if blocks < 1 or width % blocks:
        raise Error("E0401", f"{b.spec(codes)} does not fall into blocks of {block}")
    if zeros is None:
        offset = b.scalar(1 << (bits - 1), real)
    else:
        packed = unpacked(b, zeros, bits)
        held = cropped(b, packed, blocks if b.rank(packed) == 3 else out)
        offset = b.nn("reshape", b.cast(held, dtype), shape=(experts, out, blocks, 1))
    scales = b.nn("reshape", b.cast(scales, dtype), shape=(experts, out, blocks, 1))
    real = b.nn("mul", b.nn("sub", b.reshape(real, experts, out, blocks, width // blocks), offset), scales)
    return _Dense(b.reshape(real, experts, out, width), bias)


def _experts(
    b: Builder, x: SSAValue, routing: tuple[SSAValue, int, int], steps: tuple[_Dense, _Dense, _Dense | None], gate: _Gate
) -> SSAValue:
    shape = b.shape(x)
    router, k, normalized = routing
    rows, experts = b.spec(x).elements // max(shape[-1], 1), b.shape(router)[-1]
    if b.rank(router) != 2 or b.shape(router)[0] != rows or not 0 < k <= experts:
        raise Error("E0401", f"{b.spec(router)} does not choose {k} experts for {rows} rows")
    weights, chosen = b.nn_all("topk", b.nn("softmax", router, axis=1), k=k, axis=1, largest=True)
    if normalized:
        weights = b.nn("div", weights, b.nn("reduce_sum", weights, axes=(1,), keepdims=True))
    groups = b.reshape(chosen, rows * k)
    wide = b.nn("expand", b.reshape(x, rows, 1, shape[-1]), shape=(rows, k, shape[-1]))
    wide = b.reshape(wide, rows * k, shape[-1])
    first, second, third = steps
    hidden = _bent(b, _step(b, wide, first, groups), None if third is None else _step(b, wide, third, groups), gate)
    y = _step(b, hidden, second, groups)
    each = b.nn("mul", b.reshape(y, rows, k, b.shape(y)[1]), b.reshape(weights, rows, k, 1))
    return b.reshape(b.nn("reduce_sum", each, axes=(1,), keepdims=False), *shape[:-1], b.shape(y)[1])


def _step(b: Builder, x: SSAValue, step: _Dense, groups: SSAValue) -> SSAValue:
    y = b.nn("grouped_matmul", x, step.weights, groups, transpose_w=True)
    return y if step.bias is None else b.nn("add", y, b.nn("gather", step.bias, groups, axis=0))


def _bent(b: Builder, x: SSAValue, other: SSAValue | None, gate: _Gate) -> SSAValue:
    """Return the activation; of swiglu: gate sigmoid(alpha gate) (value + beta), with bounds if there is a limit."""
    if gate.activation != "swiglu":
        plain = {"relu": "relu", "silu": "silu", "identity": "identity"}
        if gate.activation not in (*plain, "gelu"):
            raise Unsupported(f"activation '{gate.activation[:20]}'")
        y = fast_gelu_1(b, x) if gate.activation == "gelu" else b.nn(plain[gate.activation], x)
        return y if other is None else b.nn("mul", y, other)
    value = other
    if gate.fusion:
        rows, width = b.shape(x)
        pairs = b.reshape(x, rows, width // 2, 2) if gate.fusion == 1 else b.reshape(x, rows, 2, width // 2)
        axis = 2 if gate.fusion == 1 else 1
        x, value = (b.reshape(half, rows, width // 2) for half in b.nn_all("split", pairs, axis=axis, sizes=(1, 1)))
    if value is None:
        raise Error("E0203", "swiglu needs a second matrix of the first step")
    if gate.limit is not None:
        x = b.nn("minimum", x, b.scalar(gate.limit, x))
        value = b.nn("clip", value, min=-gate.limit, max=gate.limit)
    bent = b.nn("mul", x, b.nn("sigmoid", b.nn("mul", x, b.scalar(gate.alpha, x))))
    return b.nn("mul", bent, b.nn("add", value, b.scalar(gate.beta, value)))

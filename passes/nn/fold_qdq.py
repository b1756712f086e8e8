"""Computation on the integers that stand for real numbers, instead of the real numbers."""

from __future__ import annotations

from math import prod
from typing import ClassVar

import numpy as np
from xdsl.ir import Operation, SSAValue

from ttc.dialects.core.ir.leaves import ConstantOp
from ttc.dialects.core.records import record
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.binary import AddOp, MulOp, SubOp
from ttc.dialects.nn.conv import Conv2dOp
from ttc.dialects.nn.linear import MatmulOp
from ttc.dialects.nn.pieces import ConcatOp, SliceOp
from ttc.dialects.nn.pool import MaxPool2dOp
from ttc.dialects.nn.quantization import DequantizeOp, QuantizeOp
from ttc.dialects.nn.shape import ExpandOp, ReshapeOp, TransposeOp
from ttc.dialects.nn.unary import CastOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.match import (
    attr,
    constant_scalar,
    has_elements,
    is_constant,
    owner,
    rebuilt,
    reshaped,
    shape_of,
    sole_user,
    spec,
    sweep_entries,
)

WIDE = np.dtype(np.int32)
"""The type of sums of products of quantized numbers."""

MAX_DEPTH = 2**15
"""The most products of two numbers of 8 bits in a sum of 32 bits."""

_VIEWS = (ReshapeOp, TransposeOp, SliceOp, ExpandOp)
"""Ops whose results hold elements of their first operand."""


@record
class FoldQdq(Pass):
    """Compute on integers where both operands of a matmul or convolution are dequantized by constant scales; cancel quantize of dequantize,
    also past views and max pools; quantize the operands of a concat, not its result.

    The product of integers is exact, so a result that is quantized again is within one step of the one that real numbers give.

    Before:
        (%x: tensor<4x8xi8>)
        %s = ttc.constant() {value = #ttc.literal<[0.5], tensor<f32>>} : () -> tensor<f32>
        %z = ttc.constant() {value = #ttc.literal<[0], tensor<i8>>} : () -> tensor<i8>
        %w = ttc.constant() {value = #ttc.weight<"w", tensor<8x3xi8>>} : () -> tensor<8x3xi8>
        %t = ttc.constant() {value = #ttc.literal<[0.25], tensor<f32>>} : () -> tensor<f32>
        %0 = nn.dequantize(%x, %s, %z) : (tensor<4x8xi8>, tensor<f32>, tensor<i8>) -> tensor<4x8xf32>
        %1 = nn.dequantize(%w, %t, %z) : (tensor<8x3xi8>, tensor<f32>, tensor<i8>) -> tensor<8x3xf32>
        %2 = nn.matmul(%0, %1, _) {transpose_a = false, transpose_b = false} : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
        return %2 : tensor<4x3xf32>
    After:
        (%x: tensor<4x8xi8>)
        %s = ttc.constant() {value = #ttc.literal<[0.5], tensor<f32>>} : () -> tensor<f32>
        %w = ttc.constant() {value = #ttc.weight<"w", tensor<8x3xi8>>} : () -> tensor<8x3xi8>
        %t = ttc.constant() {value = #ttc.literal<[0.25], tensor<f32>>} : () -> tensor<f32>
        %0 = nn.cast(%x) {dtype = i32} : (tensor<4x8xi8>) -> tensor<4x8xi32>
        %1 = nn.cast(%w) {dtype = i32} : (tensor<8x3xi8>) -> tensor<8x3xi32>
        %2 = nn.matmul(%0, %1, _) {transpose_a = false, transpose_b = false} : (tensor<4x8xi32>, tensor<8x3xi32>) -> tensor<4x3xi32>
        %3 = nn.mul(%s, %t) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        %4 = ttc.constant() {value = #ttc.literal<[0], tensor<i32>>} : () -> tensor<i32>
        %5 = nn.dequantize(%2, %3, %4) : (tensor<4x3xi32>, tensor<f32>, tensor<i32>) -> tensor<4x3xf32>
        return %5 : tensor<4x3xf32>
    Missed:
        scales are computed, or not one number (of the weights: one a column, or an output channel); integers of more than 8 bits.
    """

    name: ClassVar[str] = "fold-qdq"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        handlers = {
            MatmulOp: lambda op: _multiply(op, unit, rewriter),
            Conv2dOp: lambda op: _multiply(op, unit, rewriter),
            QuantizeOp: lambda op: _quantize(op, unit, rewriter),
        }
        sweep_entries(unit, rewriter, handlers)


def _quantize(op: QuantizeOp, unit: Unit, rewriter: Rewriter) -> None:
    """Quantize the operands of a concat instead of its result, and cancel each with what dequantizes it."""
    concat = owner(op.operands[0], ConcatOp)
    is_one = all(max(shape_of(x), default=1) == 1 for x in op.operands[1:]) and shape_of(op.operands[0]) == shape_of(op.results[0])
    if concat is None or sole_user(op.operands[0]) is None or not is_one or not rewriter.allow("quantize-parts", op):
        _cancel(op, unit, rewriter)
        return
    parts = [rewriter.build(op, QuantizeOp, x, *op.operands[1:], sources=(op,)) for x in concat.operands]
    joined = rebuilt(rewriter, op, concat, [part.results[0] for part in parts], (concat,))
    rewriter.applied(op, "operands of a concat are quantized, not its result")
    rewriter.replace(op, joined.results[0])
    rewriter.erase_dead(concat)
    for part in parts:
        _quantize(part, unit, rewriter)


def _cancel(op: QuantizeOp, unit: Unit, rewriter: Rewriter) -> None:
    """quantize(view(dequantize(x))) with one scale and zero: view(x); by a positive scale the largest number has the largest code."""
    scale = constant_scalar(op.operands[1], unit.weights)
    kinds = (*_VIEWS, MaxPool2dOp) if scale is not None and scale > 0 else _VIEWS
    views: list[NNOp] = []
    value = op.operands[0]
    while isinstance(value.owner, kinds) and sole_user(value) is not None:
        views.append(value.owner)
        value = value.owner.operands[0]
    inner = owner(value, DequantizeOp)
    if inner is None or inner.operands[1] is not op.operands[1] or inner.operands[2] is not op.operands[2]:
        return
    if views and any(shape_of(x) and max(shape_of(x)) > 1 for x in op.operands[1:]):
        rewriter.missed(op, "quantize after a view of a dequantize: their scale is not one number")
        return
    x = inner.operands[0]
    kept = all(shape_of(pair.operands[0]) == shape_of(pair.results[0]) for pair in (inner, op))
    if not kept or not rewriter.allow("cancel-qdq", op):
        return
    for view in reversed(views):
        x = rebuilt(rewriter, op, view, (x,), (view,)).results[0]
    rewriter.applied(op, "quantize of a dequantize cancelled")
    feeding = op.operands[0].owner
    rewriter.replace(op, x)
    if isinstance(feeding, Operation):
        rewriter.erase_dead(feeding)


def _multiply(op: MatmulOp | Conv2dOp, unit: Unit, rewriter: Rewriter) -> None:
    a, b, bias = op.named_operands()
    left, right = (None if x is None else owner(x, DequantizeOp) for x in (a, b))
    if left is None or right is None:
        return
    reason = _obstacle(op, left, right)
    if reason is not None:
        rewriter.missed(op, reason)
        return
    if not rewriter.allow("fold-qdq", op):
        return
    integers = [_integers(op, x, unit, rewriter) for x in (left, right)]
    product = rewriter.build(op, type(op), *integers, None, sources=(left, right, op), **op.plain_attrs()).results[0]
    scale = _row(op, rewriter.build(op, MulOp, *(_flat(op, x, rewriter) for x in (left, right))).results[0], rewriter)
    value = rewriter.build(op, DequantizeOp, product, scale, _zero(op, rewriter)).results[0]
    if bias is not None:
        value = rewriter.build(op, AddOp, value, _row(op, bias, rewriter)).results[0]
    rewriter.applied(op, f"a {op.name.removeprefix('nn.')} of dequantized operands computes on integers")
    rewriter.replace(op, value)
    for inner in dict.fromkeys((left, right)):
        rewriter.erase_dead(inner)


def _obstacle(op: MatmulOp | Conv2dOp, left: DequantizeOp, right: DequantizeOp) -> str | None:
    if attr(op, "activation") is not None:
        return "the product of dequantized operands has an activation"
    if any(spec(inner.operands[0]).dtype.itemsize != 1 for inner in (left, right)) or _depth(op) > MAX_DEPTH:
        return "sums of products of dequantized operands may exceed 32 bits"
    if not all(is_constant(x) for inner in (left, right) for x in inner.operands[1:]):
        return "operands are dequantized by scales that are computed"
    if any(shape_of(inner.operands[0]) != shape_of(inner.results[0]) for inner in (left, right)):
        return "operands are dequantized by scales that enlarge them"
    if _vector(left) != () or not (_vector(right) == () or _is_by_output(op, right)):
        return "operands are dequantized by scales that are not one number, or one an output of the weights"
    return None


def _is_by_output(op: MatmulOp | Conv2dOp, weights: DequantizeOp) -> bool:
    """Return whether the scale of the weights is one number a column of a matmul, or an output channel of a convolution."""
    outputs = shape_of(op.results[0])[_channel(op)]
    if isinstance(op, Conv2dOp):
        place = -4 if attr(op, "layout") == "nchw" else -1
    else:
        place = -2 if attr(op, "transpose_b") else -1
    scale = shape_of(weights.operands[1])
    return len(scale) >= -place and _vector(weights) == (outputs,) and scale[place] == outputs


def _channel(op: MatmulOp | Conv2dOp) -> int:
    """The dimension of the result that the weights' outputs make, counted from the end."""
    return -3 if isinstance(op, Conv2dOp) and attr(op, "layout") == "nchw" else -1


def _row(op: MatmulOp | Conv2dOp, value: SSAValue, rewriter: Rewriter) -> SSAValue:
    """Return one number an output, laid along the result's dimension of outputs; others as they are."""
    if _channel(op) == -1 or len(shape_of(value)) != 1:
        return value
    return reshaped(rewriter, op, value, (*shape_of(value), 1, 1))


def _flat(op: MatmulOp | Conv2dOp, inner: DequantizeOp, rewriter: Rewriter) -> SSAValue:
    """Return the scale without its dimensions of size 1."""
    return reshaped(rewriter, op, inner.operands[1], _vector(inner))


def _depth(op: MatmulOp | Conv2dOp) -> int:
    """Return how many products make one sum."""
    if isinstance(op, Conv2dOp):
        weights, outputs = shape_of(op.operands[1]), shape_of(op.results[0])[_channel(op)]
        return prod(weights) // outputs
    return shape_of(op.operands[0])[-2 if attr(op, "transpose_a") else -1]


def _vector(op: DequantizeOp) -> tuple[int, ...]:
    """Return the dimensions of the scale that are larger than 1."""
    return tuple(size for size in shape_of(op.operands[1]) if size != 1)


def _integers(anchor: Operation, op: DequantizeOp, unit: Unit, rewriter: Rewriter) -> SSAValue:
    """x - zero in wide integers."""
    x, _, zero = op.operands
    wide = rewriter.build(anchor, CastOp, x, sources=(op,), dtype=WIDE).results[0]
    if has_elements(zero, 0.0, unit.weights):
        return wide
    offset = rewriter.build(anchor, CastOp, zero, sources=(op,), dtype=WIDE).results[0]
    return rewriter.build(anchor, SubOp, wide, offset, sources=(op,)).results[0]


def _zero(anchor: Operation, rewriter: Rewriter) -> SSAValue:
    return rewriter.insert(anchor, ConstantOp.literal(np.zeros((), WIDE), rewriter.location((anchor,)))).result

"""Weights of few bits in onnxruntime's domain: packed integers with a scale a block, and tables of 16 numbers."""

from __future__ import annotations

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axis_in
from ttc.importers.common.builder import Builder
from ttc.importers.common.products import matmul
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.onnx.ops_quantization import dequantize_linear_10
from ttc.importers.onnx.tables import MAPPINGS

BYTE = np.dtype(np.uint8)

FP4 = (0.0, 0.00520833333, 0.66666667, 1.0, 0.33333333, 0.5, 0.16666667, 0.25)
"""The numbers that codes 0 to 7 stand for; 8 to 15 stand for their negatives."""
NF4 = (
    *(-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334),
    *(-0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224),
    *(0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0),
)
"""The numbers of bitsandbytes' 4-bit type: quantiles of a normal distribution."""


def unpacked(b: Builder, codes: SSAValue, bits: int) -> SSAValue:
    """Return bytes as the integers that they hold along the last dimension, the first one in the lowest bits.  Raises Unsupported."""
    if bits == 8:
        return codes
    if bits not in (2, 4):
        raise Unsupported(f"weights of {bits} bits")
    shape = b.shape(codes)
    shifts = b.constant(np.arange(0, 8, bits), BYTE)
    parts = b.nn("shift_right", b.reshape(codes, *shape, 1), shifts)
    low = b.nn("bitwise_and", parts, b.scalar((1 << bits) - 1, codes))
    return b.reshape(low, *shape[:-1], shape[-1] * (8 // bits))


def cropped(b: Builder, x: SSAValue, size: int) -> SSAValue:
    """Return the first elements of the last dimension.  Raises E0401."""
    shape = b.shape(x)
    if shape[-1] == size:
        return x
    if shape[-1] < size:
        raise Error("E0401", f"{b.spec(x)} has fewer than {size} columns")
    return b.nn("slice", x, starts=(0,) * len(shape), sizes=(*shape[:-1], size), steps=(1,) * len(shape))


@MAPPINGS.rule("com.microsoft.MatMulNBits-1")
def mat_mul_n_bits_1(
    b: Builder,
    x: SSAValue,
    w: SSAValue,
    scales: SSAValue,
    zeros: SSAValue | None = None,
    g_idx: SSAValue | None = None,
    bias: SSAValue | None = None,
    *,
    K: int,
    N: int,
    accuracy_level: int = 0,
    bits: int = 4,
    block_size: int,
    weight_prepacked: int = 0,
) -> SSAValue:
    """Return x w' + bias for packed w[N, blocks, block_size * bits / 8]; g_idx names the block of each of its K columns."""
    if weight_prepacked:
        raise Unsupported("weights laid out for a GPU (weight_prepacked)")
    blocks = -(-K // max(block_size, 1))
    if min(K, N, block_size) < 1 or K > 1 << 30 or b.spec(w).elements != N * blocks * (block_size * bits // 8):
        raise Error("E0401", f"{b.spec(w)} does not hold {N} rows of {K} numbers of {bits} bits in blocks of {block_size}")
    if b.dtype(w) != BYTE:
        raise Unsupported(f"weights packed in {b.dtype(w)}")
    codes = unpacked(b, b.reshape(w, N, blocks, block_size * bits // 8), bits)
    offset = _zeros(b, zeros, (N, blocks), bits, b.dtype(x))
    scales = b.reshape(scales, N, blocks)
    real = b.cast(codes, b.dtype(x))
    if g_idx is None:
        column = N, blocks, 1
        real = b.nn("mul", b.nn("sub", real, b.reshape(offset, *column) if b.rank(offset) else offset), b.reshape(scales, *column))
        real = cropped(b, b.reshape(real, N, blocks * block_size), K)
    else:
        scale, offset = (b.nn("gather", v, cropped(b, g_idx, K), axis=1) if b.rank(v) else v for v in (scales, offset))
        real = b.nn("mul", b.nn("sub", cropped(b, b.reshape(real, N, blocks * block_size), K), offset), scale)
    if b.rank(x) > 1:
        return b.nn("matmul", x, real, bias, transpose_a=False, transpose_b=True)
    y = matmul(b, real, x)
    return y if bias is None else b.nn("add", y, bias)


def _zeros(b: Builder, zeros: SSAValue | None, shape: tuple[int, int], bits: int, dtype: np.dtype) -> SSAValue:
    """Return what stands for 0 in each row and block, as real numbers: half of the range unless given, packed as weights are or not."""
    if zeros is None:
        return b.constant(np.array(float(1 << (bits - 1)), dtype))
    if b.dtype(zeros) != BYTE:
        return b.reshape(b.cast(zeros, dtype), *shape)
    rows, blocks = shape
    packed = b.reshape(zeros, rows, -(-blocks * bits // 8))
    return b.cast(cropped(b, unpacked(b, packed, bits), blocks), dtype)


@MAPPINGS.rule("com.microsoft.MatMulBnb4-1")
def mat_mul_bnb4_1(
    b: Builder,
    x: SSAValue,
    w: SSAValue,
    absmax: SSAValue,
    *,
    K: int,
    N: int,
    block_size: int,
    quant_type: int,
    training_mode: int = 0,
    transB: int = 1,
) -> SSAValue:
    """Return x w' for w[N, K] whose codes, two a byte, the first in the high bits, stand for table entries times their block's number."""
    blocks = -(-N * K // max(block_size, 1))
    if min(K, N, block_size) < 1 or quant_type not in (0, 1) or b.spec(w).elements != -(-N * K // 2) or b.spec(absmax).elements != blocks:
        raise Error("E0401", f"{b.spec(w)} and {b.spec(absmax)} do not fit {N} rows of {K} numbers in blocks of {block_size}")
    if not transB:
        raise Unsupported("transB = 0")
    flat = b.reshape(w, b.spec(w).elements, 1)
    low = b.nn("bitwise_and", b.nn("shift_right", flat, b.constant(np.array([4, 0], BYTE))), b.scalar(15, flat))
    codes = cropped(b, b.reshape(low, 2 * b.spec(w).elements), N * K)
    table = NF4 if quant_type else (*FP4, *(-v for v in FP4))
    values = b.nn("gather", b.constant(np.array(table), b.dtype(x)), b.cast(codes, np.dtype(np.int32)), axis=0)
    each = b.reshape(b.nn("expand", b.reshape(absmax, blocks, 1), shape=(blocks, block_size)), blocks * block_size)
    real = b.reshape(b.nn("mul", values, cropped(b, each, N * K)), N, K)
    return b.nn("matmul", x, real, None, transpose_a=False, transpose_b=True)


@MAPPINGS.rule("com.microsoft.GatherBlockQuantized-1")
def gather_block_quantized_1(
    b: Builder,
    data: SSAValue,
    indices: SSAValue,
    scales: SSAValue,
    zeros: SSAValue | None = None,
    *,
    bits: int = 4,
    block_size: int = 128,
    gather_axis: int = 0,
    quantize_axis: int = 1,
) -> SSAValue:
    """Return slices of a tensor of integers with a scale a block: gathered first, then made real numbers."""
    rank = b.rank(data)
    at, along = axis_in(gather_axis, rank), axis_in(quantize_axis, rank)
    is_packed = b.dtype(data) == BYTE
    if at == along:
        raise Unsupported("gather_axis is quantize_axis")
    if is_packed and bits < 8 and at == rank - 1:
        raise Unsupported("a gather along packed bytes")
    if not is_packed:
        byte = np.dtype(np.int8 if "u" not in b.dtype(data).name else np.uint8)
        data, zeros = b.cast(data, byte), None if zeros is None else b.cast(zeros, byte)
    data, scales = (b.nn("gather", v, indices, axis=at) for v in (data, scales))
    zeros = None if zeros is None else b.nn("gather", zeros, indices, axis=at)
    if is_packed:
        data = unpacked(b, data, bits)
        zeros = b.scalar(1 << (bits - 1), data) if zeros is None else cropped(b, unpacked(b, zeros, bits), b.shape(scales)[-1])
    moved = along + (b.rank(indices) - 1 if along > at else 0)
    if zeros is not None and b.rank(zeros) == 0:
        zeros = b.nn("expand", zeros, shape=b.shape(scales))
    return dequantize_linear_10(b, data, scales, zeros, axis=moved, block_size=block_size)

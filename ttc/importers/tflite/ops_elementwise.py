"""Elementwise ops: arithmetic, comparisons, logic, activations, conversions."""

from __future__ import annotations

from functools import reduce

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.elementwise import atan2, binary, floor_div, floor_mod, prelu, select, square, squared_difference, unary
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.tflite.building import TfliteBuilder
from ttc.importers.tflite.fused import fused
from ttc.importers.tflite.tables import CODES, Rows

INT64 = np.dtype(np.int64)


def relu6(b: Builder, x: SSAValue) -> SSAValue:
    return b.nn("clip", x, min=0.0, max=6.0)


def relu_n1_to_1(b: Builder, x: SSAValue) -> SSAValue:
    return b.nn("clip", x, min=-1.0, max=1.0)


def relu_0_to_1(b: Builder, x: SSAValue) -> SSAValue:
    return b.nn("clip", x, min=0.0, max=1.0)


def elu(b: Builder, x: SSAValue) -> SSAValue:
    return b.nn("elu", x, alpha=1.0)


def leaky_relu(b: Builder, x: SSAValue, *, alpha: float) -> SSAValue:
    return b.nn("leaky_relu", x, alpha=alpha)


def gelu(b: Builder, x: SSAValue, *, approximate: bool) -> SSAValue:
    return b.nn("gelu", x, approximate="tanh" if approximate else "none")


def add_n(b: Builder, x: SSAValue, *xs: SSAValue) -> SSAValue:
    return reduce(lambda a, c: b.nn("add", a, c), xs, x)


def select_v2(b: Builder, condition: SSAValue, x: SSAValue, y: SSAValue) -> SSAValue:
    """Choose between two tensors; all three operands broadcast as numpy does."""
    return b.nn("where", condition, x, y)


def bitwise_xor(b: Builder, x: SSAValue, y: SSAValue) -> SSAValue:
    return b.nn("xor" if b.dtype(x).kind == "b" else "bitwise_xor", x, y)


def right_shift(b: Builder, x: SSAValue, y: SSAValue) -> SSAValue:
    if b.dtype(x).kind != "u":
        raise Unsupported(f"shifts of {b.dtype(x)}")
    return b.nn("shift_right", x, y)


def cast(b: TfliteBuilder, x: SSAValue, *, out_data_type: str) -> SSAValue:
    """Convert to the type that the result is declared with."""
    return b.cast(x, b.declared[0])


def bitcast(b: TfliteBuilder, x: SSAValue) -> SSAValue:
    """Return the same bits as another type of as many bytes."""
    if b.dtype(x).itemsize != b.declared[0].itemsize:
        raise Unsupported(f"{b.dtype(x)} as {b.declared[0]}")
    return x if b.dtype(x) == b.declared[0] else b.nn("bitcast", x, source=b.dtype(x), dtype=b.declared[0])


def dequantize(b: TfliteBuilder, x: SSAValue) -> SSAValue:
    """Return x, which the walker has dequantized already, unless it is of narrow floating point."""
    if b.dtype(x).kind not in "fV":
        raise Error("E0403", f"{b.spec(x)} is not quantized")
    return b.cast(x, b.declared[0])


def quantize(b: Builder, x: SSAValue) -> SSAValue:
    """Return x, as the walker quantizes the result."""
    return x


def fake_quant(b: Builder, x: SSAValue, *, min: float, max: float, num_bits: int, narrow_range: bool) -> SSAValue:
    """Return x rounded to one of 2^num_bits numbers from min to max, moved so that 0 is one of them."""
    least, most = (1 if narrow_range else 0), (1 << num_bits) - 1 if 2 <= num_bits <= 16 else 0
    if not (most and min <= 0 <= max and min < max):
        raise Error("E0402", f"{num_bits} bits from {min} to {max} are no quantization")
    scale = (max - min) / (most - least)
    zero = float(np.clip(np.floor(least - min / scale + 0.5), least, most))
    low, high, step = (least - zero) * scale, (most - zero) * scale, b.scalar(scale, x)
    steps = b.nn("div", b.nn("sub", b.nn("clip", x, min=low, max=high), b.scalar(low, x)), step)
    return b.nn("add", b.nn("mul", b.nn("floor", b.nn("add", steps, b.scalar(0.5, x))), step), b.scalar(low, x))


def bucketize(b: Builder, x: SSAValue, *, boundaries: tuple[float, ...] | None) -> SSAValue:
    """Return how many boundaries are not above each element."""
    limits = b.constant(np.array(boundaries or (), np.float32))
    wide = b.reshape(b.cast(x, np.dtype(np.float32)), *b.shape(x), 1)
    above = b.cast(b.nn("greater_equal", wide, limits), INT64)
    return b.nn("reduce_sum", above, axes=(b.rank(x),), keepdims=False)


_UNARY = {
    **{
        "ABS": "abs",
        "NEG": "neg",
        "SIGN": "sign",
        "EXP": "exp",
        "LOG": "log",
        "SQRT": "sqrt",
        "RSQRT": "rsqrt",
        "SIN": "sin",
        "COS": "cos",
    },
    **{"FLOOR": "floor", "CEIL": "ceil", "ROUND": "round", "LOGICAL_NOT": "not", "LOGISTIC": "sigmoid", "TANH": "tanh"},
    **{"RELU": "relu", "HARD_SWISH": "hard_swish"},
}
_FUSED = {"ADD": "add", "SUB": "sub", "MUL": "mul", "DIV": "div"}
_BINARY = {
    **{"MAXIMUM": "maximum", "MINIMUM": "minimum", "POW": "pow", "LOGICAL_AND": "and", "LOGICAL_OR": "or"},
    **{"EQUAL": "equal", "NOT_EQUAL": "not_equal", "LESS": "less", "LESS_EQUAL": "less_equal"},
    **{"GREATER": "greater", "GREATER_EQUAL": "greater_equal"},
}
ROWS: Rows = {
    **{op: unary(name) for op, name in _UNARY.items()},
    **{op: fused(binary(name)) for op, name in _FUSED.items()},
    **{op: binary(name) for op, name in _BINARY.items()},
    "RELU6": relu6,
    "RELU_N1_TO_1": relu_n1_to_1,
    "RELU_0_TO_1": relu_0_to_1,
    "ELU": elu,
    "LEAKY_RELU": leaky_relu,
    "PRELU": prelu,
    "GELU": gelu,
    "SQUARE": square,
    "SQUARED_DIFFERENCE": squared_difference,
    "FLOOR_DIV": floor_div,
    "FLOOR_MOD": floor_mod,
    "ATAN2": atan2,
    "ADD_N": add_n,
    "SELECT": select,
    "SELECT_V2": select_v2,
    "BITWISE_XOR": bitwise_xor,
    "RIGHT_SHIFT": right_shift,
    "CAST": cast,
    "BITCAST": bitcast,
    "DEQUANTIZE": dequantize,
    "QUANTIZE": quantize,
    "FAKE_QUANT": fake_quant,
    "BUCKETIZE": bucketize,
}
CODES.update({"MAXIMUM", "MINIMUM", "SELECT", "SELECT_V2", "EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"})

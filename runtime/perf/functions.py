"""Elementwise functions in terms of those that were measured."""

from __future__ import annotations

from collections.abc import Sequence

from ttc.dialects.core.plain.functions import Plain, TensorType
from ttc.dialects.core.rule_tables import RuleTable

VECTOR = (
    "abs cosine dequantization dropout exp gelu gelu_derivative log lrelu maximum power quantization reciprocal requantization "
    "sigmoid sine sqrt square tanh topk"
).split()
ENGINE: dict[str, str] = {**dict.fromkeys(VECTOR, "vector"), **dict.fromkeys(("add", "multiply", "nop", "splice", "subtract"), "matrix")}
"""The engine that computes a function of Buda's vocabulary: the vector engine (SFPU), or the matrix engine (FPU)."""

FUNCTIONS: RuleTable[tuple[str, ...]] = RuleTable("measured functions")
"""The measured functions that compute each function of `tile.map`; none for relu, which the packer does."""
FUNCTIONS.add_all(
    {
        "abs": ("abs",),
        "add": ("add",),
        "and": ("multiply",),
        "ceil": ("abs", "add", "subtract", "multiply"),
        "clip": ("maximum",),
        "cos": ("cosine",),
        "cosh": ("exp", "reciprocal", "add"),
        "dequantize": ("dequantization",),
        "div": ("reciprocal", "multiply"),
        "elu": ("exp", "maximum", "add"),
        "equal": ("subtract", "abs", "maximum"),
        "erf": ("abs", "reciprocal", "square", "exp", "multiply"),
        "exp": ("exp",),
        "floor": ("abs", "add", "subtract", "multiply"),
        "gelu": ("gelu",),
        "gelu_tanh": ("gelu",),
        "greater": ("subtract", "maximum"),
        "greater_equal": ("subtract", "maximum"),
        "hard_sigmoid": ("multiply", "add", "maximum"),
        "hard_swish": ("add", "maximum", "multiply", "multiply"),
        "identity": ("nop",),
        "leaky_relu": ("lrelu",),
        "less": ("subtract", "maximum"),
        "less_equal": ("subtract", "maximum"),
        "log": ("log",),
        "maximum": ("maximum",),
        "minimum": ("maximum",),
        "mod": ("reciprocal", "multiply", "abs", "subtract"),
        "mul": ("multiply",),
        "neg": ("multiply",),
        "not": ("subtract",),
        "not_equal": ("subtract", "abs", "maximum"),
        "or": ("maximum",),
        "pow": ("log", "multiply", "exp"),
        "quantize": ("quantization",),
        "reciprocal": ("reciprocal",),
        "relu": (),
        "round": ("abs", "add", "subtract", "multiply"),
        "rsqrt": ("sqrt", "reciprocal"),
        "sigmoid": ("sigmoid",),
        "sign": ("multiply", "maximum", "maximum"),
        "silu": ("sigmoid", "multiply"),
        "sin": ("sine",),
        "sinh": ("exp", "reciprocal", "subtract"),
        "softplus": ("exp", "add", "log"),
        "sqrt": ("sqrt",),
        "sub": ("subtract",),
        "tanh": ("tanh",),
        "where": ("multiply", "multiply", "add"),
        "xor": ("subtract", "abs"),
    }
)

# The device has no kernel of these: what stands for one of one operand, and of two.
FUNCTIONS.add_all(dict.fromkeys(("acos", "acosh", "asin", "asinh", "atan", "atanh", "bitcast", "cast", "is_inf", "is_nan"), ("exp", "log")))
FUNCTIONS.add_all(dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right"), ("maximum", "maximum")))


def primitives(function: str, operands: Sequence[TensorType | None] = (), limits: Sequence[Plain] = ()) -> tuple[str, ...]:
    """Return the measured functions that together compute one of `tile.map`; none where the packer does it.

    operands: types, as far as they matter.  limits: the attributes of a clip, by order of (min, max).  Raises E0901.
    """
    if function == "clip" and limits and limits[0] == 0:
        return ()
    if function == "pow" and len(operands) > 1 and operands[1] is not None and operands[1].elements == 1:
        return ("power",)
    return FUNCTIONS[function]

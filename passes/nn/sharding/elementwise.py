"""Ops whose elements depend on the elements at the same place alone."""

from __future__ import annotations

from ttc.passes.nn.sharding import SHARDING
from ttc.passes.nn.sharding.op import DividedOp, Division

ONE = (
    *("abs", "neg", "sign", "exp", "log", "sqrt", "rsqrt", "reciprocal", "floor", "ceil", "round", "sin", "cos", "erf", "sinh", "cosh"),
    *("asin", "acos", "atan", "asinh", "acosh", "atanh", "not", "is_nan", "is_inf", "identity", "stop_gradient", "cast", "clip"),
    *("tanh", "relu", "silu", "softplus", "hard_swish", "sigmoid", "gelu", "gelu_tanh", "leaky_relu", "elu", "hard_sigmoid"),
)
SEVERAL = (
    *("add", "sub", "mul", "div", "minimum", "maximum", "pow", "mod", "equal", "not_equal", "less", "less_equal", "greater"),
    *("greater_equal", "and", "or", "xor", "where"),
)


@SHARDING.rule(*ONE, *SEVERAL)
def elementwise(step: DividedOp) -> Division | None:
    """Divide all operands as the first one that is divided; those of size 1 there serve all chips."""
    found = [split - len(shape) for split, shape in zip(step.splits, step.shapes, strict=True) if split is not None]
    if not found:
        return None
    place = len(step.shape) + found[0]
    wanted = tuple(step.alongside(index, found[0]) for index in range(len(step.shapes)))
    return Division(wanted, (place,))

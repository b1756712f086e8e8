"""Elementwise ops on the host."""

from __future__ import annotations

from ttc.exporters.limits import limits_of
from ttc.exporters.ttnn.code import Code, call, literal
from ttc.exporters.ttnn.emitter import TORCH_DTYPES
from ttc.exporters.ttnn.host import HOST_RULES, require_arithmetic
from ttc.exporters.ttnn.op_text import Elsewhere, OpText

FUNCTIONS = {
    **{"add": "add", "sub": "sub", "mul": "mul", "minimum": "minimum", "maximum": "maximum", "pow": "pow"},
    **{"equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge"},
    **{"and": "logical_and", "or": "logical_or", "xor": "logical_xor"},
    **{"bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor"},
    **{"shift_left": "bitwise_left_shift", "shift_right": "bitwise_right_shift"},
    **{
        **{"sin": "sin", "cos": "cos", "exp": "exp", "log": "log", "sqrt": "sqrt", "rsqrt": "rsqrt", "reciprocal": "reciprocal"},
        "abs": "abs",
        "neg": "neg",
        "sign": "sign",
        "relu": "relu",
        "not": "logical_not",
        "is_nan": "isnan",
        "is_inf": "isinf",
        "where": "where",
    },
}
WITHOUT_ARITHMETIC = ("equal", "not_equal", "bitwise_and", "bitwise_or", "bitwise_xor", "where")
"""Functions that torch has for every dtype."""


@HOST_RULES.rule(*FUNCTIONS)
def function(step: OpText) -> None:
    """Write a function that torch has by another name, or the same."""
    op = step.work.op.removeprefix("nn.")
    if op not in WITHOUT_ARITHMETIC:
        require_arithmetic(step)
    name = FUNCTIONS[op]
    step.torch(call(f"torch.{name}", *(step.host(index) for index in range(len(step.operands)))))


@HOST_RULES.rule("div")
def div(step: OpText) -> None:
    """Write a quotient; of integers toward zero."""
    require_arithmetic(step)
    whole = step.results[0].dtype.kind in "iu"
    step.torch(call("torch.div", step.host(0), step.host(1), rounding_mode='"trunc"' if whole else None))


@HOST_RULES.rule("mod")
def mod(step: OpText) -> None:
    """Write a remainder with the sign of either side."""
    require_arithmetic(step)
    step.torch(call("torch.fmod" if step.work.attrs.get("fmod") else "torch.remainder", step.host(0), step.host(1)))


@HOST_RULES.rule("identity", "stop_gradient")
def identity(step: OpText) -> None:
    """Give the operand another name."""
    step.torch(step.host(0))


@HOST_RULES.rule("cast")
def cast(step: OpText) -> None:
    """Write a conversion between dtypes."""
    dtype = str(step.results[0].dtype)
    if dtype not in TORCH_DTYPES:
        raise Elsewhere(f"torch has no {dtype}")
    step.torch(call(f"{step.host(0)}.to", f"torch.{dtype}"))


@HOST_RULES.rule("clip")
def clip(step: OpText) -> None:
    """Write limits of either side."""
    require_arithmetic(step)
    limits: dict[str, Code] = {key: literal(limit) for key, limit in limits_of(step.work.attrs, step.results[0].dtype).items()}
    step.torch(call("torch.clamp", step.host(0), **limits) if limits else step.host(0))

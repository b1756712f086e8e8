"""Elementwise ops of one operand."""

from __future__ import annotations

from ttc.exporters.ttnn.code import call, literal
from ttc.exporters.ttnn.op_text import Elsewhere, OpText
from ttc.exporters.ttnn.rules import RULES

SAME_NAME = (
    *("abs", "neg", "sign", "exp", "log", "sqrt", "rsqrt", "reciprocal", "floor", "ceil", "round", "sin", "cos", "erf"),
    *("sinh", "cosh", "asin", "acos", "atan", "asinh", "acosh", "atanh"),
)
OTHER_NAMES = {"not": "logical_not", "is_nan": "isnan", "is_inf": "isinf"}


@RULES.rule(*SAME_NAME, *OTHER_NAMES)
def unary(step: OpText) -> None:
    """Write an op by TT-NN's name for it."""
    name = step.work.op.removeprefix("nn.")
    elementwise(step, OTHER_NAMES.get(name, name))


@RULES.rule("identity", "stop_gradient")
def identity(step: OpText) -> None:
    """Give the operand another name."""
    pass_on(step)


@RULES.rule("cast")
def cast(step: OpText) -> None:
    """Write nothing between floating-point types: the device has one format; truth values are 1 and 0 there."""
    value, result = step.operand(0), step.results[0]
    if result.is_float and (value.is_float or value.dtype.kind == "b") and (value.on_device or value.leaf is not None):
        pass_on(step)
        return
    if result.dtype.kind == "b" and value.is_float:
        form, name = step.as_it_lies(0)
        step.give(call("ttnn.ne", name, literal(0.0)), form)
        return
    raise Elsewhere(f"from {value.dtype} to {result.dtype}")


def elementwise(step: OpText, name: str, *arguments: str, **keywords: str) -> None:
    """Write an op of one operand, in the form that the operand has."""
    if step.operand(0).dtype.kind in "iu":
        raise Elsewhere("its operand is of integers")
    form, operand = step.as_it_lies(0)
    step.give(call(f"ttnn.{name}", operand, *arguments, **keywords), form)


def pass_on(step: OpText) -> None:
    """Give the result the operand's names."""
    step.same(*step.as_it_lies(0))

"""Elementwise ops: arithmetic, comparisons, functions, casts."""

from __future__ import annotations

from ttc.dialects.core.plain.functions import Plain
from ttc.exporters.limits import limits_of
from ttc.exporters.onnx.rules import NODE_RULES
from ttc.exporters.onnx.writer import NodeWriter, NoNode, element_type

SAME = {
    **{"add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "minimum": "Min", "maximum": "Max", "pow": "Pow"},
    **{"equal": "Equal", "less": "Less", "less_equal": "LessOrEqual", "greater": "Greater", "greater_equal": "GreaterOrEqual"},
    **{"and": "And", "or": "Or", "xor": "Xor", "where": "Where", "not": "Not", "identity": "Identity", "stop_gradient": "Identity"},
    **{"bitwise_and": "BitwiseAnd", "bitwise_or": "BitwiseOr", "bitwise_xor": "BitwiseXor"},
    **{"abs": "Abs", "neg": "Neg", "sign": "Sign", "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "reciprocal": "Reciprocal"},
    **{"floor": "Floor", "ceil": "Ceil", "round": "Round", "sin": "Sin", "cos": "Cos", "erf": "Erf", "is_nan": "IsNaN", "is_inf": "IsInf"},
    **{
        "sinh": "Sinh",
        "cosh": "Cosh",
        "asin": "Asin",
        "acos": "Acos",
        "atan": "Atan",
        "asinh": "Asinh",
        "acosh": "Acosh",
        "atanh": "Atanh",
    },
    **{"tanh": "Tanh", "sigmoid": "Sigmoid", "relu": "Relu", "softplus": "Softplus", "hard_swish": "HardSwish"},
}
WITH_ATTRIBUTES = {"leaky_relu": "LeakyRelu", "elu": "Elu", "hard_sigmoid": "HardSigmoid"}


@NODE_RULES.rule(*SAME)
def same(step: NodeWriter) -> None:
    """Write the op by ONNX's name for it."""
    step.give(SAME[step.mnemonic], *step.all())


@NODE_RULES.rule(*WITH_ATTRIBUTES, "silu", "gelu", "gelu_tanh", "clip")
def activation(step: NodeWriter) -> None:
    """Write an activation with its attributes."""
    activate(step, step.x(), step.mnemonic, step.work.attrs)


def activate(step: NodeWriter, name: str, kind: str, attrs: dict[str, Plain]) -> None:
    """Write an activation of a value as the op's result."""
    if kind in WITH_ATTRIBUTES:
        step.give(WITH_ATTRIBUTES[kind], name, **attrs)
    elif kind == "silu":
        step.give("Mul", name, step.make("Sigmoid", name))
    elif kind in ("gelu", "gelu_tanh"):
        tanh = kind == "gelu_tanh" or attrs.get("approximate") == "tanh"
        step.give("Gelu", name, approximate="tanh" if tanh else "none")
    elif kind == "clip":
        limits = limits_of(attrs, step.out_dtype)
        names = [step.constant(limits[key], step.out_dtype) if key in limits else "" for key in ("min", "max")]
        step.give("Clip", name, *names)
    else:
        step.give(SAME[kind], name)


@NODE_RULES.rule("not_equal")
def not_equal(step: NodeWriter) -> None:
    """Write the negation of an equality."""
    step.give("Not", step.make("Equal", *step.all()))


@NODE_RULES.rule("rsqrt")
def rsqrt(step: NodeWriter) -> None:
    """Write the reciprocal of a root."""
    step.give("Reciprocal", step.make("Sqrt", step.x()))


@NODE_RULES.rule("mod")
def mod(step: NodeWriter) -> None:
    """Write a remainder; ONNX has that of floats with the sign of a alone: where b has another, b is added."""
    if step.attr("fmod") or step.dtype().kind in "iu":
        step.give("Mod", step.x(0), step.x(1), fmod=int(bool(step.attr("fmod"))))
        return
    zero = step.constant(0, step.dtype())
    rest = step.make("Mod", step.x(0), step.x(1), fmod=1)
    differ = step.make("Xor", step.make("Less", rest, zero), step.make("Less", step.x(1), zero))
    moved = step.make("And", differ, step.make("Not", step.make("Equal", rest, zero)))
    step.give("Where", moved, step.make("Add", rest, step.x(1)), rest)


@NODE_RULES.rule("shift_left", "shift_right")
def shift(step: NodeWriter) -> None:
    """Write a shift of unsigned integers, which alone ONNX shifts."""
    if step.dtype().kind != "u":
        raise NoNode("ONNX shifts unsigned integers alone")
    step.give("BitShift", step.x(0), step.x(1), direction=step.mnemonic.removeprefix("shift_").upper())


@NODE_RULES.rule("cast")
def cast(step: NodeWriter) -> None:
    """Write a conversion between dtypes."""
    step.give("Cast", step.x(), to=element_type(step.out_dtype))

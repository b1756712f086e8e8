"""Activation functions, by themselves and as part of products and convolutions."""

from __future__ import annotations

from ttc.dialects.core.kernels.epilogue import activation_attrs
from ttc.dialects.core.plain.functions import Plain
from ttc.exporters.limits import limits_of
from ttc.exporters.ttnn.code import call, literal
from ttc.exporters.ttnn.op_text import Elsewhere, OpText, floats
from ttc.exporters.ttnn.rules import RULES
from ttc.exporters.ttnn.rules.unary import elementwise

PLAIN = {"tanh": "tanh", "relu": "relu", "silu": "silu", "softplus": "softplus", "hard_swish": "hardswish", "sigmoid": "sigmoid"}
FUSED = ("relu", "silu", "gelu")
"""Activations that `ttnn.linear` and convolutions apply themselves; others follow as an op."""


@RULES.rule(*PLAIN)
def plain(step: OpText) -> None:
    """Write an activation without attributes."""
    elementwise(step, PLAIN[step.work.op.removeprefix("nn.")])


@RULES.rule("gelu")
def gelu(step: OpText) -> None:
    """Write gelu, exact or in its tanh form."""
    elementwise(step, *_gelu(str(step.work.attrs.get("approximate", "none"))))


@RULES.rule("gelu_tanh")
def gelu_tanh(step: OpText) -> None:
    """Write gelu in its tanh form."""
    elementwise(step, *_gelu("tanh"))


def _gelu(approximate: str) -> tuple[str, ...]:
    return ("gelu",) if approximate == "none" else ("gelu", "variant=ttnn.GeluVariant.Tanh")


@RULES.rule("leaky_relu", "elu", "hard_sigmoid", "clip")
def parametric(step: OpText) -> None:
    """Write an activation with attributes."""
    if step.operand(0).dtype.kind in "iu":
        raise Elsewhere("its operand is of integers")
    form, name = step.as_it_lies(0)
    _apply(step, step.work.op.removeprefix("nn."), dict(step.work.attrs), name, form)


def follow(step: OpText, name: str, form: str) -> None:
    """Write the activation of a product or convolution as an op that reads `name`."""
    kind = str(step.work.attrs["activation"])
    _apply(step, kind, dict(activation_attrs(kind, floats(step, "activation_args"))), name, form)


def _apply(step: OpText, kind: str, attrs: dict[str, Plain], name: str, form: str) -> None:
    """Write an activation of a name as the op's result."""
    if kind == "hard_sigmoid":
        line = step.let("line", call("ttnn.multiply", name, literal(attrs["alpha"])))
        line = step.let("line", call("ttnn.add", line, literal(attrs["beta"])))
        step.give(call("ttnn.clamp", line, min="0.0", max="1.0"), form, stem=kind)
        return
    if kind == "clip":
        limits = {key: literal(limit) for key, limit in limits_of(attrs, step.results[0].dtype).items()}
        if not limits:
            step.same(form, name)
        elif limits == {"min": "0.0", "max": "6.0"}:
            step.give(call("ttnn.relu6", name), form, stem="relu6")
        else:
            step.give(call("ttnn.clamp", name, **limits), form, stem=kind)
        return
    arguments = {"leaky_relu": ("alpha",), "elu": ("alpha",)}.get(kind, ())
    extra = _gelu("tanh")[1:] if kind == "gelu_tanh" else tuple(literal(attrs[key]) for key in arguments)
    function = "gelu" if kind == "gelu_tanh" else PLAIN.get(kind, kind)
    step.give(call(f"ttnn.{function}", name, *extra), form, stem=kind)

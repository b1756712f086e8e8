"""Activations, by themselves and behind products and convolutions."""

from __future__ import annotations

from dataclasses import replace
from math import pi, sqrt

from ttc.dialects.core.kernels.epilogue import activation_attrs
from ttc.exporters.limits import limits_of
from ttc.exporters.stablehlo.literals import HloValue, NoHloForm
from ttc.exporters.stablehlo.rules import HLO_RULES
from ttc.exporters.stablehlo.writer import HloWriter


def with_activation(step: HloWriter, value: HloValue) -> HloValue:
    """Write the activation that an op names in its attributes, if any, by the rule of that op."""
    kind = step.attr("activation")
    if kind is None:
        return value
    attrs = dict(activation_attrs(kind, tuple(step.attr("activation_args") or ())))
    made = HLO_RULES[kind](HloWriter(step.text, replace(step.work, op=f"nn.{kind}", attrs=attrs), [value]))
    if not isinstance(made, HloValue):
        raise NoHloForm(f"{kind} has several results")
    return made


@HLO_RULES.rule("relu")
def relu(step: HloWriter) -> HloValue:
    """Write the larger of x and 0."""
    return step.with_number("maximum", step.x(), 0)


@HLO_RULES.rule("leaky_relu")
def leaky_relu(step: HloWriter) -> HloValue:
    """Write x, where negative times alpha."""
    x = step.x()
    return step.select(step.compare("GE", x, step.filled(0, x)), x, step.with_number("multiply", x, step.attr("alpha")))


@HLO_RULES.rule("elu")
def elu(step: HloWriter) -> HloValue:
    """Write x, where not positive alpha (e^x - 1)."""
    x = step.x()
    bent = step.with_number("multiply", step.make("exponential_minus_one", x), step.attr("alpha"))
    return step.select(step.compare("GT", x, step.filled(0, x)), x, bent)


@HLO_RULES.rule("silu")
def silu(step: HloWriter) -> HloValue:
    """Write x times its sigmoid."""
    return step.make("multiply", step.x(), step.make("logistic", step.x()))


@HLO_RULES.rule("gelu", "gelu_tanh")
def gelu(step: HloWriter) -> HloValue:
    """Write x (1 + erf(x / sqrt 2)) / 2, or that with tanh in place of erf."""
    x = step.x()
    if step.mnemonic == "gelu_tanh" or step.attr("approximate") == "tanh":
        cube = step.make("multiply", step.make("multiply", x, x), x)
        inner = step.make("add", x, step.with_number("multiply", cube, 0.044715))
        spread = step.make("tanh", step.with_number("multiply", inner, sqrt(2 / pi)))
    else:
        spread = step.make("chlo.erf", step.with_number("multiply", x, sqrt(0.5)))
    return step.make("multiply", step.with_number("multiply", x, 0.5), step.with_number("add", spread, 1))


@HLO_RULES.rule("softplus")
def softplus(step: HloWriter) -> HloValue:
    """Write max(x, 0) + log(1 + e^-|x|)."""
    x = step.x()
    rest = step.make("log_plus_one", step.make("exponential", step.make("negate", step.make("abs", x))))
    return step.make("add", step.with_number("maximum", x, 0), rest)


@HLO_RULES.rule("hard_sigmoid")
def hard_sigmoid(step: HloWriter) -> HloValue:
    """Write alpha x + beta between 0 and 1."""
    line = step.with_number("add", step.with_number("multiply", step.x(), step.attr("alpha")), step.attr("beta"))
    return _between(step, line, 0, 1)


@HLO_RULES.rule("hard_swish")
def hard_swish(step: HloWriter) -> HloValue:
    """Write x times x + 3 between 0 and 6, divided by 6."""
    x = step.x()
    return step.with_number("divide", step.make("multiply", x, _between(step, step.with_number("add", x, 3), 0, 6)), 6)


@HLO_RULES.rule("clip")
def clip(step: HloWriter) -> HloValue:
    """Write x between limits, as far as there are any."""
    limits, value = limits_of(step.work.attrs, step.out_dtype), step.x()
    for name, op in (("min", "maximum"), ("max", "minimum")):
        value = step.with_number(op, value, limits[name]) if name in limits else value
    return value


def _between(step: HloWriter, value: HloValue, low: float, high: float) -> HloValue:
    """Return the value, or the limit that it is beyond."""
    return step.make("clamp", step.constant(low, value.dtype), value, step.constant(high, value.dtype), shape=value.shape)

"""Rules of elementwise ops as formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from xdsl.ir import SSAValue

from ttc.dialects.core.kernels.epilogue import activation_attrs
from ttc.dialects.nn.formulas import Formula
from ttc.dialects.nn.gradients.base import GRADIENTS, Cotangents, GradientSite, gradient, unbroadcast
from ttc.dialects.nn.making import OpMaker, zeros

Derivative: TypeAlias = Callable[..., Formula]
"""From dy, x and y (and attributes by name) to the cotangent of x."""


def unary(name: str) -> Callable[[Derivative], Derivative]:
    """Register a formula as the gradient rule of an op of one operand."""

    def register(derivative: Derivative) -> Derivative:
        def rule(b: OpMaker, site: GradientSite) -> Cotangents:
            terms = (Formula(b, v) for v in (site.dy, site.operand(0), site.y))
            return [derivative(*terms, **site.attrs).value]

        gradient(name)(rule)
        return derivative

    return register


def broadcasting(name: str, *derivatives: Derivative) -> None:
    """Register formulas, from dy, all operands and y to the cotangent of each operand, as the gradient rule of an op that broadcasts."""

    def rule(b: OpMaker, site: GradientSite) -> Cotangents:
        terms = [Formula(b, v) for v in (site.dy, *(x for x in site.operands if x is not None), site.y)]
        return [
            unbroadcast(b, derivative(*terms, **site.attrs).value, operand) if wanted and operand is not None else None
            for derivative, operand, wanted in zip(derivatives, site.operands, site.wanted, strict=True)
        ]

    gradient(name)(rule)


def before_activation(b: OpMaker, site: GradientSite) -> SSAValue:
    """Return the cotangent of what an op applies its activation to; that of its result if it has none.

    The op's attributes `activation` and `activation_args` name a unary op; what it was applied to is computed again.
    """
    name = site.attrs.get("activation")
    if name is None:
        return site.dy
    attrs = {key: value for key, value in site.attrs.items() if not key.startswith("activation")}
    x = b.nn(site.name.removeprefix("nn."), *site.operands, **attrs)
    args = activation_attrs(name, tuple(site.attrs.get("activation_args", ())))
    rule = GRADIENTS.of(f"nn.{name}")
    if rule is None:
        site.refuse(b, f"its activation {name} has none")
    (found,) = rule(b, GradientSite(f"nn.{name}", (x,), (site.y,), args, site.cotangents, (True,)))
    return zeros(b, x) if found is None else found

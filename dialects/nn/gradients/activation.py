"""Rules for the gradients of activation functions."""

from __future__ import annotations

from math import pi, sqrt

from ttc.dialects.nn.formulas import Formula
from ttc.dialects.nn.gradients.elementwise import unary


@unary("nn.tanh")
def tanh(dy: Formula, x: Formula, y: Formula) -> Formula:
    """Return the cotangent of x for y = tanh x: dy (1 - y^2)."""
    return dy * (1.0 - y * y)


@unary("nn.sigmoid")
def sigmoid(dy: Formula, x: Formula, y: Formula) -> Formula:
    """Return the cotangent of x for y = sigmoid x: dy y (1 - y)."""
    return dy * y * (1.0 - y)


@unary("nn.relu")
def relu(dy: Formula, x: Formula, y: Formula) -> Formula:
    """Return the cotangent of x for y = max(x, 0): dy above 0, 0 at 0 and below."""
    return (y > 0.0).choose(dy, 0.0)


@unary("nn.silu")
def silu(dy: Formula, x: Formula, y: Formula) -> Formula:
    """Return the cotangent of x for y = x s, s = sigmoid x: dy s (1 + x (1 - s))."""
    s = x.of("sigmoid")
    return dy * s * (x * (1.0 - s) + 1.0)


@unary("nn.softplus")
def softplus(dy: Formula, x: Formula, y: Formula) -> Formula:
    """Return the cotangent of x for y = softplus x: dy sigmoid x."""
    return dy * x.of("sigmoid")


@unary("nn.hard_swish")
def hard_swish(dy: Formula, x: Formula, y: Formula) -> Formula:
    """Return the cotangent of x for y = hard_swish x: dy times 0 up to -3, x / 3 + 1/2 between, 1 from 3 on."""
    return (x < 3.0).choose((x > -3.0).choose(dy * (x * (1 / 3) + 0.5), 0.0), dy)


@unary("nn.gelu")
def gelu(dy: Formula, x: Formula, y: Formula, *, approximate: str = "none") -> Formula:
    """Return the cotangent of x for y = x Phi(x): dy (Phi(x) + x phi(x)), phi the density of Phi; in its tanh form that of `gelu_tanh`."""
    if approximate == "tanh":
        return gelu_tanh(dy, x, y)
    phi = (x * x * -0.5).of("exp") * (1 / sqrt(2 * pi))
    return dy * ((x * sqrt(0.5)).of("erf") * 0.5 + 0.5 + x * phi)


@unary("nn.gelu_tanh")
def gelu_tanh(dy: Formula, x: Formula, y: Formula) -> Formula:
    """Return the cotangent of x for gelu in its tanh form: dy ((1 + t) / 2 + x (1 - t^2) u' / 2), t = tanh u, u = sqrt(2 / pi) (x +
    0.044715 x^3).
    """
    scale, cube = sqrt(2 / pi), 0.044715
    square = x * x
    t = (x * (square * (scale * cube) + scale)).of("tanh")
    slope = (1.0 - t * t) * (square * (3 * scale * cube) + scale)
    return dy * 0.5 * (t + 1.0 + x * slope)


@unary("nn.leaky_relu")
def leaky_relu(dy: Formula, x: Formula, y: Formula, *, alpha: float) -> Formula:
    """Return the cotangent of x for y = leaky_relu x: dy above 0, alpha dy at 0 and below."""
    return (x > 0.0).choose(dy, dy * alpha)


@unary("nn.elu")
def elu(dy: Formula, x: Formula, y: Formula, *, alpha: float) -> Formula:
    """Return the cotangent of x for y = elu x: dy above 0, dy alpha exp x at 0 and below."""
    return (x > 0.0).choose(dy, dy * alpha * x.at_most(0.0).of("exp"))


@unary("nn.hard_sigmoid")
def hard_sigmoid(dy: Formula, x: Formula, y: Formula, *, alpha: float, beta: float) -> Formula:
    """Return the cotangent of x for y = hard_sigmoid x: alpha dy where y is inside (0, 1), else 0."""
    return ((y > 0.0) & (y < 1.0)).choose(dy * alpha, 0.0)


@unary("nn.clip")
def clip(dy: Formula, x: Formula, y: Formula, *, min: float | None = None, max: float | None = None) -> Formula:
    """Return the cotangent of x for y = clip x: dy where x is from min to max, both included, else 0."""
    found = dy
    if min is not None:
        found = (x >= min).choose(found, 0.0)
    return found if max is None else (x <= max).choose(found, 0.0)

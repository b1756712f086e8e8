"""Facts of normalizations over the trailing dimensions."""

from __future__ import annotations

from ttc.dialects.core.shapes import Shape, axis_in, require_broadcastable
from ttc.dialects.tile.facts.base import FLOAT, INT, Role, fact
from ttc.dialects.tile.facts.steps import steps

_ATTRS = {"axis": INT, "eps": FLOAT}
_CENTRED = ("middle = mean x", "x = sub x middle")
_SCALED = ("square = mul x x", "variance = mean square", "least = add variance eps", "root = sqrt least", "factor = reciprocal root")
_WEIGHTED = ("y = mul x factor", "y = mul y scale")


@fact(Role.NORMALIZATION, _ATTRS, as_nn=True, passes=3, trailing=True, steps=steps(*_CENTRED, *_SCALED, *_WEIGHTED, "y = add y bias"))
def layer_norm(x: Shape, scale: Shape | None = None, bias: Shape | None = None, *, axis: int, eps: float) -> Shape:
    """Return the shape of x, to which scale and bias broadcast.  Raises E0401, E0412."""
    axis_in(axis, len(x))
    require_broadcastable(scale, x)
    require_broadcastable(bias, x)
    return x


@fact(Role.NORMALIZATION, _ATTRS, as_nn=True, passes=2, trailing=True, steps=steps(*_SCALED, *_WEIGHTED))
def rms_norm(x: Shape, scale: Shape, *, axis: int, eps: float) -> Shape:
    """Return the shape of x, to which scale broadcasts.  Raises E0401, E0412."""
    return layer_norm(x, scale, axis=axis, eps=eps)

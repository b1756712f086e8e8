"""Facts of elementwise ops with the numeric variants of Buda's reference semantics."""

from __future__ import annotations

from math import inf, isfinite

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.shapes import Shape, tiles_in
from ttc.dialects.tile.facts.base import FLOAT, INTS, STR, Ints, Role, fact, optional

SFPU_FUNCTIONS = (
    *("abs", "cosine", "dropout", "exp", "gelu", "gelu_derivative", "log", "lrelu"),
    *("power", "reciprocal", "sigmoid", "sine", "sqrt", "square", "tanh"),
)
BINARY_FUNCTIONS = ("add", "subtract", "multiply", "maximum")
RESCALES = ("quantization", "requantization", "dequantization")
MAX_EXPONENT = 1 << 10
"""The largest parameter of `power`, which multiplies so many times."""


@fact(
    Role.ELEMENTWISE,
    {"fn": STR, "parameter": optional(FLOAT), "vector": optional(STR), "rest": optional(STR), "tile": optional(INTS)},
)
def sfpu(x: Shape, *, fn: str, parameter: float = 0.0, vector: str = "rc", rest: str = "zero", tile: Ints = (32, 32)) -> Shape:
    """Return the shape of x.  Raises E0401, E0402."""
    if fn not in SFPU_FUNCTIONS:
        raise Error("E0402", f"there is no sfpu function '{fn}'", hint=nearest(fn, SFPU_FUNCTIONS))
    if vector not in ("r", "c", "rc") or rest not in ("zero", "input"):
        raise Error("E0402", f"there is no vector mode '{vector}' beside '{rest}'")
    most = {"power": MAX_EXPONENT, "dropout": 1.0}.get(fn, inf)
    if not isfinite(parameter) or (fn in ("power", "dropout") and not 0 <= parameter <= most):
        raise Error("E0402", f"the parameter {parameter} of {fn} is out of range")
    if vector != "rc" or fn == "dropout":
        tiles_in(x, tile)
    return x


@fact(Role.ELEMENTWISE, {"fn": STR})
def binary(a: Shape, b: Shape, *, fn: str) -> Shape:
    """Return the shape of both operands.  Raises E0401, E0402."""
    if fn not in BINARY_FUNCTIONS:
        raise Error("E0402", f"there is no binary function '{fn}'", hint=nearest(fn, BINARY_FUNCTIONS))
    return _same(a, b)


@fact(Role.ELEMENTWISE, {"mode": STR, "threshold": FLOAT})
def relu(x: Shape, *, mode: str, threshold: float) -> Shape:
    """Return the shape of x.  Raises E0402."""
    if mode not in ("min", "max") or not isfinite(threshold):
        raise Error("E0402", f"there is no relu of mode '{mode}' at {threshold}")
    return x


@fact(Role.ELEMENTWISE, {"kind": STR, "zero_point": FLOAT})
def rescale(x: Shape, scale: Shape, *, kind: str, zero_point: float) -> Shape:
    """Return the shape of both operands.  Raises E0401, E0402."""
    if kind not in RESCALES or not isfinite(zero_point):
        raise Error("E0402", f"there is no '{kind}' with zero point {zero_point}", hint=nearest(kind, RESCALES))
    return _same(x, scale)


def _same(a: Shape, b: Shape) -> Shape:
    if a != b:
        raise Error("E0401", f"{list(a)} and {list(b)} are not of one shape")
    return a

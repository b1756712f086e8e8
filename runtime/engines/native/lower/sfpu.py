"""Elementwise ops with the numeric variants of Buda's reference: regions of the functions that others have, in float32."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ttc.dialects.core.rule_tables import RuleTable
from ttc.runtime.engines.native.graph.region import Region, RegionBuilder
from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.jobs.elementwise import compute
from ttc.runtime.engines.native.jobs.job import NotTaken
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.lower import LOWERINGS, takes_region

_LARGEST, _EPS = float(np.finfo(np.float32).max), float(np.finfo(np.float32).eps)
_SMALL = 16
"""Tiles of at most so many rows or columns are computed whole, whatever the mode."""
_FACTORS = 8
"""The most factors that a power is written as."""


class _Steps(RegionBuilder):
    """Steps of a region on operands that are all taken as float32."""

    def __init__(self, xs: Sequence[View]) -> None:
        super().__init__([x.storage for x in xs])
        self.operands = [self("cast", i, to="float32") for i in range(len(xs))]

    def product(self, a: int, b: int) -> int:
        """a * b, 0 where either is."""
        zero = self.number(0.0)
        none = self("or", self("equal", a, zero, storage="bool"), self("equal", b, zero, storage="bool"), storage="bool")
        return self("where", none, zero, self("mul", a, b))

    def stored(self, n: Lowering, output: int) -> Region:
        """With the result as the node stores it."""
        return self.region(self("identity", output, storage=(n.node.region or n.region).inputs[0]))


@LOWERINGS.rule("sfpu")
@takes_region
def sfpu(n: Lowering) -> None:
    """Lower tile.sfpu: one function of one operand."""
    n.only("fn", "parameter", "vector", "rest", "tile")
    tile = n.attr("tile", (32, 32))
    whole = n.attr("vector", "rc") == "rc" or (isinstance(tile, tuple) and any(isinstance(d, int) and d <= _SMALL for d in tile))
    function, parameter = FUNCTIONS.get(str(n.attr("fn"))), n.attr("parameter", 0.0)
    if function is None or not whole or not isinstance(parameter, int | float):
        raise NotTaken(f"{n.attr('fn')} in parts of tiles" if function is not None else f"{n.attr('fn')}")
    xs = [n.operand(0)]
    steps = _Steps(xs)
    compute(n, steps.stored(n, function(steps, steps.operands[0], float(parameter))), xs)


@LOWERINGS.rule("binary")
@takes_region
def binary(n: Lowering) -> None:
    """Lower tile.binary: one function of two operands."""
    n.only("fn")
    xs = [n.operand(0), n.operand(1)]
    steps = _Steps(xs)
    fn = n.attr("fn")
    if fn == "multiply":
        found = steps.product(*steps.operands)
    else:
        found = steps({"subtract": "sub"}.get(str(fn), str(fn)), *steps.operands)
    compute(n, steps.stored(n, found), xs)


@LOWERINGS.rule("relu")
@takes_region
def relu(n: Lowering) -> None:
    """Lower tile.relu: a threshold, below or above which elements change."""
    n.only("mode", "threshold")
    xs, threshold = [n.operand(0)], n.attr("threshold")
    if not isinstance(threshold, int | float):
        raise NotTaken("no threshold")
    steps = _Steps(xs)
    (x,) = steps.operands
    limit, zero = steps.number(threshold), steps.number(0.0)
    if n.attr("mode") == "min":
        found = steps.choice("greater_equal", x, limit, x, zero)
    else:
        found = steps.choice("greater_equal", x, limit, limit, steps.choice("greater_equal", x, zero, x, zero))
    compute(n, steps.stored(n, found), xs)


@LOWERINGS.rule("rescale")
@takes_region
def rescale(n: Lowering) -> None:
    """Lower tile.rescale: x * scale + zero point, or (x - zero point) * scale."""
    n.only("kind", "zero_point")
    xs, zero_point = [n.operand(0), n.operand(1)], n.attr("zero_point")
    if not isinstance(zero_point, int | float):
        raise NotTaken("no zero point")
    steps = _Steps(xs)
    (x, scale), zero = steps.operands, steps.number(zero_point)
    if n.attr("kind") == "dequantization":
        found = steps.product(steps("sub", x, zero), scale)
    else:
        found = steps("add", steps.product(x, scale), zero)
    compute(n, steps.stored(n, found), xs)


def _sigmoid(s: _Steps, x: int, _: float) -> int:
    """1 / (1 + e^-x), the exponential at most the largest number."""
    return s("reciprocal", s("add", s("clip", s("exp", s("neg", x)), max=_LARGEST), s.number(1.0)))


def _nonzero(s: _Steps, x: int) -> int:
    """x, eps where it is 0."""
    return s.choice("equal", x, s.number(0.0), s.number(_EPS), x)


def _power(s: _Steps, x: int, exponent: float) -> int:
    """x times itself, one factor after the other."""
    if not 0 <= exponent < _FACTORS + 1:
        raise NotTaken(f"a power of {exponent}")
    found = s.number(1.0)
    for _ in range(int(exponent)):
        found = s("mul", x, found)
    return found


FUNCTIONS: RuleTable[Callable[[_Steps, int, float], int]] = RuleTable("native steps of an sfpu function")
"""The steps of a function of tile.sfpu on an operand in float32, given the parameter, by function."""
FUNCTIONS.refuse("which elements it drops is drawn in numpy", "dropout")
FUNCTIONS.refuse("it is computed in numpy", "gelu_derivative")
FUNCTIONS.add_all(
    {
        "abs": lambda s, x, _: s("abs", x),
        "cosine": lambda s, x, _: s("cos", x),
        "exp": lambda s, x, _: s("clip", s("exp", x), max=_LARGEST),
        "gelu": lambda s, x, _: s("gelu_tanh", x),
        "log": lambda s, x, _: s("log", _nonzero(s, x)),
        "lrelu": lambda s, x, slope: s.choice("greater", x, s.number(0.0), x, s("mul", x, s.number(slope))),
        "power": _power,
        "reciprocal": lambda s, x, _: s("reciprocal", _nonzero(s, x)),
        "sigmoid": _sigmoid,
        "sine": lambda s, x, _: s("sin", x),
        "sqrt": lambda s, x, _: s("sqrt", x),
        "square": lambda s, x, _: s("mul", x, x),
        "tanh": lambda s, x, _: s("tanh", x),
    }
)

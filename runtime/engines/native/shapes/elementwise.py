"""Shapes of elementwise ops."""

from __future__ import annotations

from ttc.dialects.core.plain.functions import Plain
from ttc.runtime.engines.native.prepare.shape_rules import Ints, Shape, broadcast, require


def map_(*xs: Shape, fn: str, names: tuple[str, ...] = (), values: tuple[Plain, ...] = ()) -> Shape:
    """Broadcast."""
    require(xs and fn and len(names) == len(values), "names and values")
    return broadcast(*xs)


def cast(x: Shape, *, to: str | None = None) -> Shape:
    """That of x."""
    del to
    return x


def eltwise(*xs: Shape) -> Shape:
    """Broadcast; the region is checked op by op."""
    require(xs, "no operands")
    return broadcast(*xs)


def binary(a: Shape, b: Shape, *, fn: str) -> Shape:
    """That of both."""
    require(fn and a == b, "two shapes")
    return a


def relu(x: Shape, *, mode: str, threshold: float) -> Shape:
    """That of x."""
    del mode, threshold
    return x


def sfpu(x: Shape, *, fn: str, parameter: float = 0.0, vector: str = "rc", rest: str = "zero", tile: Ints = (32, 32)) -> Shape:
    """That of x."""
    del fn, parameter, rest
    require(
        vector == "rc" or (len(x) >= 2 and len(tile) == 2 and min(tile) > 0 and x[-2] % tile[0] == x[-1] % tile[1] == 0), "parts of tiles"
    )
    return x


def rescale(x: Shape, scale: Shape, *, kind: str, zero_point: float) -> Shape:
    """That of both."""
    del kind, zero_point
    require(x == scale, "two shapes")
    return x


def adjust(x: Shape, *, to: str, rounding: str) -> Shape:
    """That of x."""
    del to, rounding
    return x

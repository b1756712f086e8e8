"""Circular and hyperbolic functions and their inverses: those of `ir.circular`, which is loaded where code is made of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ttc.runtime.engines.native.ir.elementwise import FLOAT32, elementwise

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer


def _circular(name: str) -> None:
    """Register the function of that name in `ir.circular`."""

    def emit(f: Writer, x: Value) -> Value:
        from ttc.runtime.engines.native.ir import circular

        return getattr(circular, name)(f, x)

    elementwise(name, FLOAT32)(emit)


for _name in ("sin", "cos", "sinh", "cosh", "asin", "acos", "atan", "asinh", "acosh", "atanh"):
    _circular(_name)

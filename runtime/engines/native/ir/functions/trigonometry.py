"""Circular and hyperbolic functions and their inverses: those of `ir.circular`, which is loaded where code is made of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ttc.runtime.engines.native.ir.elementwise import FLOAT32, Elementwise, elementwise

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer


def _circular(name: str) -> Elementwise:
    """The function of that name in `ir.circular`."""

    def emit(f: Writer, x: Value) -> Value:
        from ttc.runtime.engines.native.ir import circular

        return getattr(circular, name)(f, x)

    return elementwise(FLOAT32)(emit)


sin, cos = _circular("sin"), _circular("cos")
sinh, cosh = _circular("sinh"), _circular("cosh")
asin, acos, atan = _circular("asin"), _circular("acos"), _circular("atan")
asinh, acosh, atanh = _circular("asinh"), _circular("acosh"), _circular("atanh")

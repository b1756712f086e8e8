"""Exponentials, logarithms and powers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ttc.runtime.engines.native.ir.elementwise import FLOAT32, elementwise

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer


@elementwise(FLOAT32)
def exp(f: Writer, x: Value) -> Value:
    """e^x."""
    return f.exp(x)


@elementwise(FLOAT32)
def log(f: Writer, x: Value) -> Value:
    """ln x."""
    return f.log(x)


@elementwise(FLOAT32)
def pow_(f: Writer, a: Value, b: Value) -> Value:
    """a^b."""
    from ttc.runtime.engines.native.ir.powers import power

    return power(f, a, b)

"""Exponentials, logarithms and powers as code for vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ttc.runtime.engines.native.ir.elementwise import FLOAT32, NUMBERS, elementwise

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ttc.dialects.core.plain.functions import Plain
    from ttc.runtime.engines.native.ir.dtypes import Dtype
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer


def _real_powers(operands: Sequence[Dtype], attrs: Mapping[str, Plain]) -> str | None:
    base, exponent = operands
    return None if base == "f32" and exponent != "f64" else f"{base} to the power of {exponent}"


@elementwise("exp", FLOAT32)
def exp(f: Writer, x: Value) -> Value:
    """Return the exponential e^x, elementwise."""
    return f.exp(x)


@elementwise("log", FLOAT32)
def log(f: Writer, x: Value) -> Value:
    """Return the natural logarithm ln x, elementwise."""
    return f.log(x)


@elementwise("pow", NUMBERS, joined=False, check=_real_powers)
def pow_(f: Writer, a: Value, b: Value) -> Value:
    """Return a^b, elementwise, in a's type."""
    from ttc.runtime.engines.native.ir.powers import power

    return power(f, a, b)

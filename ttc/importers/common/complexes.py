"""Complex numbers as pairs of tensors of real ones, for models whose ops take them whole."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.records import record
from ttc.importers.common.builder import Builder


@record
class Complex:
    """A tensor of complex numbers: real and imaginary parts."""

    real: SSAValue
    imaginary: SSAValue


def real(b: Builder, input: Complex) -> SSAValue:
    """Return the real parts of complex numbers."""
    return input.real


def imaginary(b: Builder, input: Complex) -> SSAValue:
    """Return the imaginary parts of complex numbers."""
    return input.imaginary


def squares(b: Builder, x: Complex) -> SSAValue:
    """Return the squares of the magnitudes."""
    return b.nn("add", b.nn("mul", x.real, x.real), b.nn("mul", x.imaginary, x.imaginary))


def magnitude(b: Builder, x: Complex) -> SSAValue:
    """Return the magnitudes of complex numbers."""
    return b.nn("sqrt", squares(b, x))


def apart(row: Callable[..., Any]) -> Callable[..., Any]:
    """Return what a linear op with real coefficients does to real and to imaginary parts; other operands are the same for both."""

    def apply(b: Builder, *operands: Any, **attributes: Any) -> Any:
        results = [
            row(b, *(part(x) if isinstance(x, Complex) else x for x in operands), **attributes)
            for part in (lambda x: x.real, lambda x: x.imaginary)
        ]
        if isinstance(results[0], tuple):
            return tuple(Complex(*pair) for pair in zip(*results, strict=True))
        return Complex(*results)

    apply.__signature__ = _opened(row)  # pyright: ignore[reportFunctionMemberAccess]
    return apply


def _opened(row: Callable[..., Any]) -> Any:
    """Return the row's signature, with operands of any kind."""
    found = signature(row)
    kinds = [p.replace(annotation="Value") if str(p.annotation).startswith("SSAValue") else p for p in found.parameters.values()]
    return found.replace(parameters=kinds)

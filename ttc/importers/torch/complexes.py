"""Complex tensors: pairs of real and imaginary parts, which live at import alone, as dialect nn has none."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.records import record
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.torch.builder import TorchBuilder


@record(eq=False)
class ComplexTensor:
    """A complex tensor: both parts of one shape and dtype."""

    real: SSAValue
    imaginary: SSAValue


def holds_complex(value: Any) -> bool:
    """Return whether a value is complex, or a tuple with such an element."""
    return any(map(holds_complex, value)) if isinstance(value, tuple) else isinstance(value, ComplexTensor | complex)


def complex_row(overload: str) -> Callable[..., Any]:
    """Return the mapping of an op on complex tensors.  Raises Unsupported."""
    found = complex_rows().get(overload)
    if found is None:
        raise Unsupported("complex numbers")
    return found


@cache
def complex_rows() -> dict[str, Callable[..., Any]]:
    """Return mappings of ops on complex tensors, by overload."""
    from ttc.importers.torch.ops_complex import OVER_COMPLEX, PARTWISE
    from ttc.importers.torch.tables import rows

    return {**{name: _by_parts(rows()[name]) for name in PARTWISE}, **OVER_COMPLEX}


def _by_parts(row: Callable[..., Any]) -> Callable[..., Any]:
    """Return the mapping over real tensors, of real and of imaginary parts."""

    def both(b: TorchBuilder, *arguments: Any, **options: Any) -> Any:
        real, imaginary = (row(b, *(_part(b, a, which) for a in arguments), **options) for which in (0, 1))
        if isinstance(real, tuple):
            return tuple(ComplexTensor(r, i) for r, i in zip(real, imaginary, strict=True))
        return ComplexTensor(real, imaginary)

    return both


def _part(b: TorchBuilder, value: Any, which: int) -> Any:
    """Return the real or imaginary part of what is complex, also in tuples; other arguments as they are."""
    if isinstance(value, ComplexTensor):
        return value.imaginary if which else value.real
    if isinstance(value, tuple) and holds_complex(value):
        return tuple(_part(b, as_complex(b, v) if isinstance(v, SSAValue) else v, which) for v in value)
    return value


def as_complex(b: TorchBuilder, value: ComplexTensor | SSAValue) -> ComplexTensor:
    """Return a tensor of real numbers as complex ones."""
    if isinstance(value, ComplexTensor):
        return value
    real = value if b.dtype(value).kind in "fV" else b.cast(value, b.result)
    zero = b.scalar(0, real)
    return ComplexTensor(real, b.nn("expand", zero, shape=b.shape(real)) if b.shape(real) else zero)

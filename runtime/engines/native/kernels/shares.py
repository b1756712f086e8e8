"""Cutting a range into equal parts, give or take one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value

Count = TypeVar("Count", int, "Value")
"""An int, or a number in generated code."""


@dataclass(frozen=True)
class Shares:
    """Parts of range(count): the first `longer` of them have `least` + 1 elements, the others `least`."""

    least: Value
    longer: Value

    def span(self, index: Value) -> tuple[Value, Value]:
        """Return the first element of part number `index`, and the one behind its last."""
        f = index.f
        return tuple(i * self.least + f.smaller(i, self.longer) for i in (index, index + 1))  # pyright: ignore[reportReturnType]


def shares_of(count: Value, parts: Value) -> Shares:
    """Return equal parts of a range, found by one division."""
    least = count // parts
    return Shares(least, count - least * parts)

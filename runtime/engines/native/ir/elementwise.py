"""What an elementwise function is to the code generator, and all of them by mnemonic.  Does not load llvmlite."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ttc.dialects.core.plain.functions import Plain
from ttc.dialects.core.rule_tables import RuleTable
from ttc.runtime.engines.native.graph.storage import array_dtype, storage_of_dtype

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.dtypes import Dtype
    from ttc.runtime.engines.native.ir.values import Value

Check: TypeAlias = "Callable[[Sequence[Dtype], Mapping[str, Plain]], str | None]"
FLOAT32 = frozenset({"f32"})
FLOATS = frozenset({"f32", "f64"})
SIGNED_INTEGERS = frozenset(f"i{bits}" for bits in (8, 16, 32, 64))
INTEGERS = SIGNED_INTEGERS | {f"u{bits}" for bits in (8, 16, 32, 64)}
NUMBERS = FLOATS | INTEGERS
ANY = NUMBERS | {"i1"}
_MAX_NUMBER, _INFINITE = 1e308, (float("-inf"), float("inf"))
"""Attributes beyond are infinite; NaN is none."""


@dataclass(frozen=True)
class Elementwise:
    """A function of one element of each operand, with the semantics of the nn kernel of its name.

    Args:
        emit: writes it: (Writer, operands...; attributes) -> Value in the dtype that numpy gives.  Operands are of one number of lanes,
            or scalar.
        takes: types of operands that it knows, after they were joined.
        joined: whether operands are brought to one type first, as numpy does.
        check: gives why it does not take certain attributes, None if it does.
    """

    emit: Callable[..., Value]
    takes: frozenset[str]
    joined: bool
    check: Check | None = None

    def refusal(self, operands: Sequence[Dtype], attrs: Mapping[str, Plain]) -> str | None:
        """Return why the function cannot be emitted for operands of these types with these attributes; None if it can."""
        if not _binds(inspect.signature(self.emit), len(operands), attrs):
            return "attributes"
        given = {joined_type(operands)} if self.joined and operands else set(operands)
        unknown = sorted(str(dtype) for dtype in given if dtype not in self.takes)
        if unknown:
            return f"operands in {unknown[0]}"
        return None if self.check is None else self.check(operands, attrs)


FUNCTIONS: RuleTable[Elementwise] = RuleTable("native function", "ttc.runtime.engines.native.ir.functions")
"""Elementwise functions by mnemonic of the nn op."""


def elementwise(
    name: str, takes: frozenset[str], *, joined: bool = True, check: Check | None = None
) -> Callable[[Callable[..., Value]], Elementwise]:
    """Make a function the elementwise one of that name in `FUNCTIONS`; see `Elementwise`."""

    def register(emit: Callable[..., Value]) -> Elementwise:
        function = Elementwise(emit, takes, joined, check)
        FUNCTIONS.add(name, function)
        return function

    return register


def numpy_type(dtype: Dtype) -> np.dtype:
    """Return the dtype that numpy computes in where a value is of that type."""
    return np.dtype(np.bool_) if dtype == "i1" else array_dtype(dtype)  # pyright: ignore[reportArgumentType]


def value_type(dtype: np.dtype) -> Dtype | None:
    """Return the type of values that numpy has in that dtype; None if there is none."""
    if dtype == np.bool_:
        return "i1"
    return None if dtype == np.float16 else storage_of_dtype(dtype)


@cache
def _joined(dtypes: frozenset[Dtype]) -> Dtype | None:
    return value_type(np.result_type(*(numpy_type(dtype) for dtype in sorted(dtypes))))


def joined_type(dtypes: Sequence[Dtype]) -> Dtype | None:
    """Return the type that numpy brings operands of these types to."""
    return _joined(frozenset(dtypes))


def joined(values: Sequence[Value]) -> list[Value]:
    """Return values brought to one type as numpy does.  Raises TypeError where there is none."""
    dtype = joined_type([value.type.dtype for value in values])
    if dtype is None:
        raise TypeError(f"no type joins {[value.type for value in values]}")
    return [value.f.converted(value, dtype) for value in values]


def _binds(signature: inspect.Signature, operands: int, attrs: Mapping[str, Plain]) -> bool:
    """Return whether so many operands and these attributes are what a function takes."""
    try:
        bound = signature.bind(None, *[None] * operands, **attrs)
    except TypeError:
        return False
    return all(_fits(signature.parameters[name].annotation, bound.arguments[name]) for name in attrs)


def _fits(annotation: Any, value: Plain) -> bool:
    """Return whether an attribute is of an annotated kind; numbers are those that are one in float64."""
    kinds = {"float": (int, float), "bool": (bool,), "str": (str,)}
    first, _, optional = str(annotation).partition(" | ")
    if first == "float" and isinstance(value, int | float) and not abs(value) <= _MAX_NUMBER and value not in _INFINITE:
        return False
    return (bool(optional) and value is None) or isinstance(value, kinds.get(first, ()))

"""Ops over whole dimensions: sums and the like, places of extremes, running sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axes_in, axis_in
from ttc.importers.common.builder import Builder
from ttc.ops.tracing import Operand, Tensor, made, made_all


class ReduceFunction(Protocol):
    """A function over dimensions: all of them unless axes are given."""

    def __call__(
        self, x: Operand, axes: int | Sequence[int] | None = None, *, keepdims: bool = False, name: str | None = None
    ) -> Tensor: ...


def _axes(b: Builder, x: SSAValue, axes: int | Sequence[int] | None) -> tuple[int, ...]:
    given = range(b.rank(x)) if axes is None else (axes,) if isinstance(axes, int) else axes
    return axes_in(tuple(given), b.rank(x))


def _reduce(op: str, doc: str) -> ReduceFunction:
    def apply(x: Operand, axes: int | Sequence[int] | None = None, *, keepdims: bool = False, name: str | None = None) -> Tensor:
        return made(op, name, [x], lambda b, x: b.nn(op, x, axes=_axes(b, x, axes), keepdims=keepdims))

    apply.__name__ = apply.__qualname__ = op
    apply.__doc__ = f"{doc} over dimensions: all of them, unless axes are given.  Raises E0412."
    return apply


reduce_max = _reduce("reduce_max", "Return the largest elements")
reduce_mean = _reduce("reduce_mean", "Return means")
reduce_min = _reduce("reduce_min", "Return the smallest elements")
reduce_prod = _reduce("reduce_prod", "Return products")
reduce_sum = _reduce("reduce_sum", "Return sums")


def grouped_reduce_mean(x: Operand, axis: int, groups: int, *, keepdims: bool = False, name: str | None = None) -> Tensor:
    """Return the means of equal parts of one dimension, which has that many elements then; with keepdims each is repeated over its part.

    Raises: E0402 if the groups do not divide the dimension, E0412.
    """

    def rule(b: Builder, x: SSAValue) -> SSAValue:
        at, shape = axis_in(axis, b.rank(x)), b.shape(x)
        if groups < 1 or shape[at] % groups:
            raise Error("E0402", f"{groups} groups do not divide {shape[at]} elements")
        split = (*shape[:at], groups, shape[at] // groups, *shape[at + 1 :])
        mean = b.nn("reduce_mean", b.reshape(x, *split), axes=(at + 1,), keepdims=True)
        if not keepdims:
            return b.reshape(mean, *shape[:at], groups, *shape[at + 1 :])
        return b.reshape(b.nn("expand", mean, shape=split), *shape)

    return made("grouped_reduce_mean", name, [x], rule)


def _place(op: str, x: Operand, axis: int | None, keepdims: bool, name: str | None) -> Tensor:
    def rule(b: Builder, x: SSAValue) -> SSAValue:
        line = b.reshape(x, b.spec(x).elements) if axis is None else x
        found = b.nn(op, line, axis=axis_in(axis or 0, b.rank(line)), keepdims=keepdims and axis is not None, select_last=False)
        return b.reshape(found, *(1,) * b.rank(x)) if keepdims and axis is None else found

    return made(op, name, [x], rule)


def argmax(x: Operand, axis: int | None = None, *, keepdims: bool = False, name: str | None = None) -> Tensor:
    """Return the place, int64, of the first largest element along an axis, or in the whole tensor.  Raises E0412."""
    return _place("argmax", x, axis, keepdims, name)


def argmin(x: Operand, axis: int | None = None, *, keepdims: bool = False, name: str | None = None) -> Tensor:
    """Return the place, int64, of the first smallest element along an axis, or in the whole tensor.  Raises E0412."""
    return _place("argmin", x, axis, keepdims, name)


def _running(op: str, x: Operand, axis: int, exclusive: bool, name: str | None) -> Tensor:
    return made(op, name, [x], lambda b, x: b.nn(op, x, axis=axis_in(axis, b.rank(x)), exclusive=exclusive, reverse=False))


def cumsum(x: Operand, axis: int, *, exclusive: bool = False, name: str | None = None) -> Tensor:
    """Return the sums of the elements up to each, or before each if exclusive.  Raises E0412."""
    return _running("cumsum", x, axis, exclusive, name)


def cumprod(x: Operand, axis: int, *, exclusive: bool = False, name: str | None = None) -> Tensor:
    """Return the products of the elements up to each, or before each if exclusive.  Raises E0412."""
    return _running("cumprod", x, axis, exclusive, name)


def topk(x: Operand, k: int, axis: int = -1, *, largest: bool = True, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Return the k largest or smallest elements along an axis, in order, and their places, int64.  Raises E0402, E0412."""

    def rule(b: Builder, x: SSAValue) -> Sequence[SSAValue]:
        return b.nn_all("topk", x, k=k, axis=axis_in(axis, b.rank(x)), largest=largest)

    values, places = made_all("topk", name, [x], rule)
    return values, places

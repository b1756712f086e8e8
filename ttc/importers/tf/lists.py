"""Lists of tensors as one tensor, for bodies that data chooses or repeats, and for places that are computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.parts import stacked
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.tf.values import TensorList, Value


def shape_of(b: Builder, of: TensorList) -> tuple[int, ...] | None:
    """Return the shape of the elements; None while it is open."""
    if of.stack is not None:
        return b.spec(of.stack).shape[1:]
    present = next((b.shape(x) for x in of.items if x is not None), None)
    return of.shape if present is None else present


def zeros(b: Builder, of: TensorList, shape: tuple[int, ...] | None = None) -> SSAValue:
    """Return the value of an element that was never stored. Raises Unsupported."""
    found = shape_of(b, of) if shape is None else shape
    if found is None:
        raise Unsupported("an element that was never stored, of open shape")
    zero = b.constant(np.zeros((), of.dtype))
    return b.nn("expand", zero, shape=found) if found else zero


def dense(b: Builder, of: TensorList, shape: tuple[int, ...] | None = None) -> SSAValue:
    """Return all of a list, [length, ...].  shape: of the elements, where the list does not say. Raises Unsupported."""
    if of.stack is not None:
        return of.stack
    if any(x is not None for x in of.items):
        return stacked(b, [zeros(b, of, shape) if x is None else x for x in of.items], 0)
    known = shape_of(b, of)
    known = shape if known is None else known
    if known is None:
        raise Unsupported("a list of tensors of open shape")
    zero = b.constant(np.zeros((), of.dtype))
    return b.nn("expand", zero, shape=(len(of.items), *known))


def as_tensors(b: Builder, values: Sequence[Value]) -> list[Value]:
    """Return lists as one tensor each, all else as it is."""
    return [dense(b, x) if isinstance(x, TensorList) else x for x in values]


def as_before(values: Sequence[Value], tensors: Sequence[Value]) -> list[Value]:
    """Return lists again in place of their tensors: the inverse of `as_tensors`."""
    return [_listed(x, y) if isinstance(x, TensorList) and isinstance(y, SSAValue) else y for x, y in zip(values, tensors, strict=True)]


def _listed(before: TensorList, stack: SSAValue) -> TensorList:
    return replace(before, items=(), stack=stack)

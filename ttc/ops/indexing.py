"""Parts of tensors: slices, single places, and elements at places that a tensor of integers names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axis_in
from ttc.dialects.nn.making import part
from ttc.importers.common.builder import Builder
from ttc.ops.tracing import Operand, Tensor, made, made_all


def indexed(b: Builder, x: SSAValue, key: Sequence[Any]) -> SSAValue:
    """Return x[key] with integers, slices, `...` and None, as numpy has it. Raises E0402."""
    shape, real = b.shape(x), [k for k in key if k is not None and k is not Ellipsis]
    if any(not isinstance(k, int | slice) or isinstance(k, bool) for k in real) or len(real) > len(shape):
        raise Error("E0402", f"{b.spec(x)} takes integers, slices, ... and None", hint="ttc.ops.gather takes a tensor of places")
    at = next((i for i, k in enumerate(key) if k is Ellipsis), len(key))
    fill = (slice(None),) * (len(shape) - len(real))
    full = [*key[:at], *fill, *key[at + 1 :]]
    starts, sizes, steps, kept = [], [], [], []
    sources = iter(shape)
    for k in full:
        if k is None:
            kept.append(1)
            continue
        size = next(sources)
        if isinstance(k, int) and not -size <= k < size:
            raise Error("E0402", f"index {k} is outside of {size} elements")
        start, stop, step = (k % size, k % size + 1, 1) if isinstance(k, int) else k.indices(size)
        count = len(range(start, stop, step))
        starts.append(start if count else 0)
        sizes.append(count)
        steps.append(step if count > 1 else 1)
        kept.extend([] if isinstance(k, int) else [count])
    whole = tuple(sizes) == shape and all(step == 1 for step in steps)
    cut = x if whole else b.nn("slice", x, starts=tuple(starts), sizes=tuple(sizes), steps=tuple(steps))
    return b.reshape(cut, *kept)


def index(x: Operand, axis: int, start: int, stop: int | None = None, step: int = 1, *, name: str | None = None) -> Tensor:
    """Return the elements start, start + step, ... before stop of one dimension; without a stop the one at start.  Raises E0402, E0412."""

    def rule(b: Builder, x: SSAValue) -> SSAValue:
        size = b.shape(x)[axis_in(axis, b.rank(x))]
        end = (start % size if size else start) + 1 if stop is None else stop
        return indexed(b, x, [*(slice(None),) * axis_in(axis, b.rank(x)), slice(start, end, step)])

    return made("index", name, [x], rule)


def narrow(x: Operand, axis: int, start: int, length: int, *, name: str | None = None) -> Tensor:
    """Return `length` elements of one dimension from start on.  Raises E0402, E0412."""
    return made("narrow", name, [x], lambda b, x: part(b, x, axis_in(axis, b.rank(x)), start, length))


def select(x: Operand, axis: int, start: int, length: int, stride: int, *, name: str | None = None) -> Tensor:
    """Return `length` elements of one dimension from start on out of every `stride`, one after another.  Raises E0402, E0412."""

    def rule(b: Builder, x: SSAValue) -> SSAValue:
        at, size = axis_in(axis, b.rank(x)), b.shape(x)[axis_in(axis, b.rank(x))]
        if length < 1 or start < 0 or stride < 1 or start + length > size:
            raise Error("E0402", f"{length} elements from {start} on, every {stride}, are not inside {size}")
        places = [i + k for i in range(start, size, stride) for k in range(length) if i + k < size]
        return b.nn("gather", x, b.constant(np.array(places, np.int64)), axis=at)

    return made("select", name, [x], rule)


def split(x: Operand, sizes: int | Sequence[int], axis: int = 0, *, name: str | None = None) -> tuple[Tensor, ...]:
    """Return parts of one dimension: of these sizes, or so many equal ones.  Raises E0402, E0412."""

    def rule(b: Builder, x: SSAValue) -> Sequence[SSAValue]:
        at = axis_in(axis, b.rank(x))
        size = b.shape(x)[at]
        if isinstance(sizes, int) and (sizes < 1 or size % sizes):
            raise Error("E0402", f"{size} elements do not fall into {sizes} equal parts")
        parts = (size // sizes,) * sizes if isinstance(sizes, int) else tuple(sizes)
        return b.nn_all("split", x, axis=at, sizes=parts)

    return made_all("split", name, [x], rule)


def gather(x: Operand, indices: Operand, axis: int = 0, *, name: str | None = None) -> Tensor:
    """Return x at places of one dimension, in whose place the shape of the indices, integers, stands. Raises E0403, E0412."""
    return made("gather", name, [x, indices], lambda b, x, i: b.nn("gather", x, i, axis=axis_in(axis, b.rank(x))))


def gather_elements(x: Operand, indices: Operand, axis: int = 0, *, name: str | None = None) -> Tensor:
    """Return, for each index, the element of x at the index's own place, but along the axis at the index. Raises E0401, E0403, E0412."""
    return made("gather_elements", name, [x, indices], lambda b, x, i: b.nn("gather_elements", x, i, axis=axis_in(axis, b.rank(x))))


def embedding(table: Operand, indices: Operand, *, name: str | None = None) -> Tensor:
    """Return the row of the table[rows, size] for each of the indices, integers.  Raises E0403."""
    return made("embedding", name, [table, indices], lambda b, x, i: b.nn("gather", x, i, axis=0))


def index_copy(x: Operand, indices: Operand, value: Operand, axis: int, *, name: str | None = None) -> Tensor:
    """Return x with value[..., len(indices), ...] at places of one dimension.  Raises E0401, E0412."""

    def rule(b: Builder, x: SSAValue, value: SSAValue, indices: SSAValue) -> SSAValue:
        at, shape = axis_in(axis, b.rank(x)), b.shape(value)
        column = b.reshape(indices, *(shape[at] if i == at else 1 for i in range(len(shape))))
        return b.nn("scatter_elements", x, b.nn("expand", column, shape=shape), value, axis=at, reduction="none")

    return made("index_copy", name, [x, value, indices], rule)


def one_hot(indices: Operand, depth: int, *, axis: int = -1, name: str | None = None) -> Tensor:
    """Return float32 that is 1 at each index along a new dimension of that depth, and 0 elsewhere.  Raises E0403, E0412."""

    def rule(b: Builder, i: SSAValue) -> SSAValue:
        values = b.constant(np.array([0, 1], np.float32))
        return b.nn("one_hot", i, b.constant(np.array(depth, np.int64)), values, axis=axis_in(axis, b.rank(i) + 1))

    return made("one_hot", name, [indices], rule)

"""Values that are there from the start, and ops whose operands must be known at import."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.spec import spec_of
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.dynamic import expanded, known_of
from ttc.importers.common.tracking import MAX_ELEMENTS
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.onnx.tables import MAPPINGS
from ttc.importers.onnx.tensors import DTYPES


@MAPPINGS.rule("Constant-1")
def constant_1(
    b: Builder,
    *,
    value: NDArray | None = None,
    value_float: float | None = None,
    value_floats: tuple[float, ...] | None = None,
    value_int: int | None = None,
    value_ints: tuple[int, ...] | None = None,
    value_string: str | None = None,
    value_strings: tuple[str, ...] | None = None,
    sparse_value: Any = None,
) -> SSAValue:
    """Map Constant, which has exactly one of the attributes for its value."""
    floats, ints = (value_float, value_floats), (value_int, value_ints)
    given = [v for v in (value, *floats, *ints, value_string, value_strings, sparse_value) if v is not None]
    if len(given) != 1:
        raise Error("E0203", f"Constant has exactly one value, not {len(given)}")
    if value is not None:
        return b.constant(value)
    for group, dtype in ((floats, np.float32), (ints, np.int64)):
        for item in group:
            if item is not None:
                return b.constant(np.array(item, dtype))
    raise Unsupported("only numbers and dense tensors")


@MAPPINGS.rule("ConstantOfShape-9")
def constant_of_shape_9(b: Builder, shape: SSAValue, *, value: NDArray | None = None) -> SSAValue:
    """Return one value everywhere: float 0 unless given; the shape may follow from data."""
    filler = np.zeros(1, np.float32) if value is None else value
    try:
        wanted = b.ints(shape, "shape")
    except Unsupported:
        if not b.is_of_data(shape) or filler.size != 1:
            raise
        return expanded(b, b.constant(filler.reshape(())), shape, known_of(b, shape))
    if filler.size != 1 or min(wanted, default=0) < 0:
        raise Error("E0402", f"shape {list(wanted)} or value {list(filler.shape)} cannot be used")
    return b.nn("expand", b.constant(filler.reshape(())), shape=wanted)


@MAPPINGS.rule("Range-11")
def range_11(b: Builder, start: SSAValue, limit: SSAValue, delta: SSAValue, *, stash_type: int = 1) -> SSAValue:
    """Return start + i delta while below (above, for a negative delta) limit: a constant if these are known at import."""
    first, last, step = (b.known(v) for v in (start, limit, delta))
    if first is None or last is None or step is None:
        return b.nn("range", *(b.reshape(v) for v in (start, limit, delta)))
    if first.size != 1 or last.size != 1 or step.size != 1 or not step.any():
        raise Error("E0402", "Range takes three numbers, the last one not 0")
    if not all(np.isfinite(v).all() for v in (first, last, step)):
        raise Error("E0402", "Range takes finite numbers")
    begin, end, by = (v.ravel()[0].item() for v in (first, last, step))
    count = -((begin - end) // by) if isinstance(begin, int) else int(min(np.ceil((end - begin) / by), MAX_ELEMENTS + 1))
    count = max(count, 0)
    if count > MAX_ELEMENTS:
        raise Unsupported(f"more than {MAX_ELEMENTS} elements")
    dtype = spec_of(start.type).dtype
    return b.constant((begin + np.arange(count) * by).astype(dtype))


@MAPPINGS.rule("NonZero-9")
def non_zero_9(b: Builder, x: SSAValue) -> SSAValue:
    """Return indices [rank, count] of what is not 0: a constant if the operand is known at import, else of dynamic shape."""
    value = b.known(x)
    if value is None:
        return b.nn("non_zero", x)
    found = np.array(np.nonzero(np.atleast_1d(value)), np.int64)
    return b.constant(found if b.shape(x) else found[:0])


@MAPPINGS.rule("EyeLike-9")
def eye_like_9(b: Builder, x: SSAValue, *, dtype: int | None = None, k: int = 0) -> SSAValue:
    """Return ones on the diagonal k of a matrix of x's shape."""
    shape = b.shape(x)
    kind = spec_of(x.type).dtype if dtype is None else DTYPES.get(dtype)
    if kind is None or len(shape) != 2 or shape[0] * shape[1] > MAX_ELEMENTS:
        raise Unsupported("only matrices of at most 1 M elements of common types")
    return b.constant(np.eye(shape[0], shape[1], min(max(k, -shape[0]), shape[1])).astype(kind))

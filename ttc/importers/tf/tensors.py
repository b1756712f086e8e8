"""Element types and tensors of TensorFlow's files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from math import prod
from struct import Struct
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.weights import Weight
from ttc.dialects.core.records import record
from ttc.importers.common.builder import MAX_ELEMENTS, MAX_RANK
from ttc.importers.tf.messages import Dims, Span, Tensor, packed_numbers, packed_reals, shape_of

STRING, RESOURCE, VARIANT = 7, 20, 21
COMPLEX: Mapping[int, tuple[np.dtype, int]] = MappingProxyType({8: (np.dtype(np.float32), 9), 18: (np.dtype(np.float64), 12)})
"""Types of complex numbers: the type of their parts, and the field that holds their numbers one by one."""
DTYPES: dict[int, np.dtype] = {
    1: np.dtype(np.float32),
    2: np.dtype(np.float64),
    3: np.dtype(np.int32),
    4: np.dtype(np.uint8),
    5: np.dtype(np.int16),
    6: np.dtype(np.int8),
    9: np.dtype(np.int64),
    10: np.dtype(np.bool_),
    14: np.dtype(ml_dtypes.bfloat16),
    17: np.dtype(np.uint16),
    19: np.dtype(np.float16),
    22: np.dtype(np.uint32),
    23: np.dtype(np.uint64),
    24: np.dtype(ml_dtypes.float8_e5m2),
    25: np.dtype(ml_dtypes.float8_e4m3fn),
}
"""Types of elements by their number in tensorflow/core/framework/types.proto."""
_NAMES = {
    **{7: "string", 8: "complex64", 11: "qint8", 12: "quint8", 13: "qint32", 15: "qint16", 16: "quint16", 18: "complex128"},
    **{20: "resource", 21: "variant", 29: "int4", 30: "uint4"},
}
MAX_FILLED = 1 << 16
"""The most elements of a tensor that are written out where the file gives fewer numbers."""
_LAYOUTS = {5: Struct("<f"), 6: Struct("<d")}
_HALVES = (14, 19)
"""Types whose numbers are given as their bits."""
_TYPED: dict[int, tuple[int, ...]] = {
    5: (1,),
    6: (2,),
    7: (3, 4, 5, 6, 17),
    10: (9,),
    11: (10,),
    13: (14, 19),
    16: (22,),
    17: (23,),
}
"""Which element types each of a TensorProto's repeated fields is for."""


def type_name(code: int) -> str:
    """Return TensorFlow's name of an element type."""
    code = code - 100 if code > 100 else code
    return _NAMES.get(code) or (DTYPES[code].name if code in DTYPES else f"number {code}")


def dtype_of(code: int, what: str) -> np.dtype:
    """Return the numpy dtype of an element type; those of references count as what they refer to.  Raises E0202, naming what has it."""
    found = DTYPES.get(code - 100 if code > 100 else code)
    if found is None:
        raise Error("E0202", f"{what} has elements of type {type_name(code)}, which is not supported")
    return found


def static_shape(dims: Dims, what: str) -> tuple[int, ...]:
    """Return a shape without open dimensions, of bounded size.  Raises E0203."""
    if dims is None or any(d < 0 for d in dims):
        raise Error("E0203", f"{what} has no static shape")
    if prod(max(d, 1) for d in dims) > MAX_ELEMENTS or len(dims) > MAX_RANK:
        raise Error("E0203", f"{what} is too large: {list(dims)[:8]}")
    return dims


def raw_weight(data: Any, offset: int, size: int, dtype: np.dtype, shape: tuple[int, ...], what: str) -> Weight:
    """Return the little-endian bytes data[offset:offset + size] as a lazy weight. Raises E0203 if they are not as many as the shape
    takes.
    """
    count = prod(shape)
    if size != count * dtype.itemsize:
        raise Error("E0203", f"{what} is {dtype}{list(shape)}, which takes {count * dtype.itemsize} bytes, but has {size}")

    def load() -> NDArray:
        if dtype == np.bool_:
            return (np.frombuffer(data, np.uint8, count, offset) != 0).reshape(shape)
        return (np.frombuffer(data, dtype, count, offset) if count else np.empty(0, dtype)).reshape(shape)

    return Weight(shape, dtype, load)


@record
class Content:
    """The numbers of a tensor in a file, of which the last one repeats to fill the shape.

    Args:
        shape: of the tensor.
        first: its numbers if they are as many as the shape takes, in that shape; else a list of at least one.
    """

    shape: tuple[int, ...]
    first: Weight


def content_of(tensor: Tensor, what: str) -> Content:
    """Return the numbers of a tensor; all of them, unless they repeat for long.

    Raises E0202 (element type), E0203 (shape and data disagree).
    """
    span = tensor.span
    header = {item.number: item for item in span}
    dtype = dtype_of(span.number(header[1]) if 1 in header else 0, what)
    shape = static_shape(shape_of(span.inside(header[2])) if 2 in header else (), what)
    if 4 in header and header[4].end > header[4].content:
        content = header[4]
        return Content(shape, raw_weight(span.data, content.content, content.end - content.content, dtype, shape, what))
    return _typed(span, span.number(header[1]), dtype, shape, what)


def _typed(span: Span, code: int, dtype: np.dtype, shape: tuple[int, ...], what: str) -> Content:
    """Return numbers one by one; where they are fewer than the shape takes, the last one repeats, or 0 if there are none."""
    count = prod(shape)
    given: list[Any] = []
    for item in span:
        if item.number in _TYPED and code in _TYPED[item.number]:
            layout = _LAYOUTS.get(item.number)
            numbers: Iterable[float] = packed_numbers(span, item) if layout is None else packed_reals(span, item, layout)
            given.extend(islice(numbers, count + 1 - len(given)))
    if len(given) > count:
        raise Error("E0203", f"{what} is {dtype}{list(shape)}, but has more numbers than that takes")
    given = given or [0] * min(count, 1)
    kept = shape if count in (len(given), 0) or count <= MAX_FILLED else (len(given),)

    def load() -> NDArray:
        wide = np.array(given, np.float64 if code in (1, 2) else np.int64)
        small = wide.astype(np.uint16).view(dtype) if code in _HALVES else wide.astype(dtype)
        missing = prod(kept) - len(given)
        return (np.concatenate([small, np.repeat(small[-1:], missing)]) if missing else small).reshape(kept)

    return Content(shape, Weight(kept, dtype, load))


def complex_of(tensor: Tensor, what: str) -> tuple[tuple[int, ...], NDArray, NDArray]:
    """Return the shape of a tensor of complex numbers, and their real and imaginary parts.

    The parts are of that shape, or, if the last one repeats for long, a list of the first ones.  Raises E0203.
    """
    span = tensor.span
    header = {item.number: item for item in span}
    dtype, field = COMPLEX[span.number(header[1])]
    shape = static_shape(shape_of(span.inside(header[2])) if 2 in header else (), what)
    if 4 in header and header[4].end > header[4].content:
        content = header[4]
        parts = raw_weight(span.data, content.content, content.end - content.content, dtype, (*shape, 2), what).value()
        return shape, parts[..., 0], parts[..., 1]
    layout, count = _LAYOUTS[5 if field == 9 else 6], prod(shape)
    given = [x for item in span if item.number == field for x in islice(packed_reals(span, item, layout), 2 * count + 1)]
    if len(given) > 2 * count or len(given) % 2:
        raise Error("E0203", f"{what} has {len(given)} parts of complex numbers, which do not fit {list(shape)}")
    pairs = np.array(given or [0, 0], dtype).reshape(-1, 2)
    if len(pairs) < count > MAX_FILLED:
        return shape, pairs[..., 0], pairs[..., 1]
    full = np.concatenate([pairs, np.repeat(pairs[-1:], max(count - len(pairs), 0), axis=0)])[:count].reshape(*shape, 2)
    return shape, full[..., 0], full[..., 1]


def texts_of(tensor: Tensor) -> list[str]:
    """Return the elements of a tensor of texts."""
    span = tensor.span
    return [span.inside(item).text() for item in span if item.number == 8]

"""Tensors of a model file: element types, checks of shape against data, and values that are views of the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import ml_dtypes
import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats.text import STRING
from ttc.dialects.core.ir.spec import STORED_ONLY
from ttc.dialects.core.plain.weights import Weight
from ttc.dialects.core.records import record
from ttc.importers.common.builder import MAX_ELEMENTS, MAX_RANK

_BITS: dict[np.dtype, int] = {
    np.dtype(ml_dtypes.int4): 4,
    np.dtype(ml_dtypes.uint4): 4,
    np.dtype(ml_dtypes.float4_e2m1fn): 4,
    np.dtype(ml_dtypes.int2): 2,
    np.dtype(ml_dtypes.uint2): 2,
}
"""Types of which several elements lie in a byte of a file, the first one in the lowest bits."""


def _packed_types() -> Iterator[tuple[int, type]]:
    """Types that older releases of onnx do not know, by code."""
    for name, dtype in (
        ("INT4", ml_dtypes.int4),
        ("UINT4", ml_dtypes.uint4),
        ("FLOAT4E2M1", ml_dtypes.float4_e2m1fn),
        ("FLOAT8E8M0", ml_dtypes.float8_e8m0fnu),
        ("INT2", ml_dtypes.int2),
        ("UINT2", ml_dtypes.uint2),
    ):
        if name in TensorProto.DataType.keys():  # noqa: SIM118 - an enum, not a mapping
            yield TensorProto.DataType.Value(name), dtype


DTYPES: dict[int, np.dtype] = {
    TensorProto.FLOAT: np.dtype(np.float32),
    TensorProto.DOUBLE: np.dtype(np.float64),
    TensorProto.FLOAT16: np.dtype(np.float16),
    TensorProto.BFLOAT16: np.dtype(ml_dtypes.bfloat16),
    TensorProto.BOOL: np.dtype(np.bool_),
    TensorProto.INT8: np.dtype(np.int8),
    TensorProto.INT16: np.dtype(np.int16),
    TensorProto.INT32: np.dtype(np.int32),
    TensorProto.INT64: np.dtype(np.int64),
    TensorProto.UINT8: np.dtype(np.uint8),
    TensorProto.UINT16: np.dtype(np.uint16),
    TensorProto.UINT32: np.dtype(np.uint32),
    TensorProto.UINT64: np.dtype(np.uint64),
    TensorProto.STRING: STRING,
    TensorProto.FLOAT8E4M3FN: np.dtype(ml_dtypes.float8_e4m3fn),
    TensorProto.FLOAT8E4M3FNUZ: np.dtype(ml_dtypes.float8_e4m3fnuz),
    TensorProto.FLOAT8E5M2: np.dtype(ml_dtypes.float8_e5m2),
    TensorProto.FLOAT8E5M2FNUZ: np.dtype(ml_dtypes.float8_e5m2fnuz),
    **{code: np.dtype(dtype) for code, dtype in _packed_types()},
}
CODES: dict[np.dtype, int] = {dtype: code for code, dtype in DTYPES.items()}

_TYPED_FIELDS: dict[int, str] = {
    TensorProto.FLOAT: "float_data",
    TensorProto.DOUBLE: "double_data",
    TensorProto.INT64: "int64_data",
    TensorProto.UINT32: "uint64_data",
    TensorProto.UINT64: "uint64_data",
}
_ALL_FIELDS = ("float_data", "double_data", "int32_data", "int64_data", "uint64_data", "string_data")


@record
class Raw:
    """The little-endian bytes of a tensor, not read yet.  size in bytes; view(dtype) gives a flat array."""

    size: int
    view: Callable[[np.dtype], NDArray]


def type_name(code: int) -> str:
    """Return ONNX's name of an element type."""
    try:
        return TensorProto.DataType.Name(code)
    except ValueError:
        return f"number {code}"


def code_named(name: str) -> int:
    """Return the element type that ONNX calls so; 0, which is none, for unknown names."""
    return TensorProto.DataType.Value(name) if name in TensorProto.DataType.keys() else 0  # noqa: SIM118 - an enum, not a mapping


def dtype_of(code: int, what: str) -> np.dtype:
    """Return the numpy dtype of an ONNX element type.  Raises E0202, naming what has it."""
    found = DTYPES.get(code)
    if found is None:
        raise Error("E0202", f"{what} has elements of type {type_name(code)}, which is not supported")
    return found


def shape_of(dims: tuple[int, ...], what: str) -> tuple[int, ...]:
    """Return the dimensions, which are not negative and whose product is bounded. Raises E0203."""
    count = 1
    for size in dims:
        if size < 0:
            raise Error("E0203", f"{what} has a negative dimension: {list(dims)}")
        count *= max(size, 1)
    if count > MAX_ELEMENTS or len(dims) > MAX_RANK:
        raise Error("E0203", f"{what} is too large: {list(dims)[:8]}")
    return dims


def weight_of(tensor: TensorProto, raw: Raw | None, what: str) -> Weight:
    """Return a tensor as a lazy weight.

    Args:
        tensor: the message, without `raw_data` if `raw` is given.
        raw: bytes that lie elsewhere: in the mapped file or in another one.
        what: how messages call the tensor.
    Raises: E0202 (element type), E0203 (shape and data disagree).
    """
    dtype = dtype_of(tensor.data_type, what)
    shape = shape_of(tuple(tensor.dims), what)
    count = int(np.prod(shape, dtype=object)) if shape else 1
    typed = [name for name in _ALL_FIELDS if len(getattr(tensor, name))]
    if dtype == STRING:
        return _text_weight(tensor, shape, count, what)
    if raw is None and tensor.HasField("raw_data"):
        data = tensor.raw_data
        raw = Raw(len(data), lambda d: np.frombuffer(data, d))
    if raw is not None:
        if typed:
            raise Error("E0203", f"{what} has its data twice, as raw_data and as {typed[0]}")
        return _raw_weight(raw, dtype, shape, count, what)
    return _typed_weight(tensor, dtype, shape, count, what, typed)


def _text_weight(tensor: TensorProto, shape: tuple[int, ...], count: int, what: str) -> Weight:
    if len(tensor.string_data) != count or tensor.HasField("raw_data"):
        raise Error("E0203", f"{what} is text of shape {list(shape)}, which takes {count} strings, but has {len(tensor.string_data)}")
    try:
        made = np.array([text.decode() for text in tensor.string_data], STRING).reshape(shape)
    except UnicodeDecodeError:
        raise Error("E0203", f"{what} holds text that is not UTF-8") from None
    return Weight(shape, STRING, lambda: made)


def array_of(tensor: TensorProto, what: str) -> NDArray:
    """Return the value of a tensor that is wholly in its message.  Raises E0202, E0203; E0204 if it is not."""
    if tensor.data_location == TensorProto.EXTERNAL or len(tensor.external_data):
        raise Error("E0204", f"{what} has external data, which only initializers may have")
    return weight_of(tensor, None, what).value()


def _raw_weight(raw: Raw, dtype: np.dtype, shape: tuple[int, ...], count: int, what: str) -> Weight:
    bits = _BITS.get(dtype, 8 * dtype.itemsize)
    wanted = -(-count * bits // 8)
    if raw.size != wanted:
        raise Error("E0203", f"{what} is {dtype}{list(shape)}, which takes {wanted} bytes, but has {raw.size}")

    def load() -> NDArray:
        if dtype == np.bool_:
            return (raw.view(np.dtype(np.uint8)) != 0).reshape(shape)
        if dtype in _BITS:
            return _unpacked(raw.view(np.dtype(np.uint8)), dtype, count).reshape(shape)
        return raw.view(dtype).reshape(shape)

    return Weight(shape, dtype, load)


def _unpacked(data: NDArray, dtype: np.dtype, count: int) -> NDArray:
    """Return elements that share bytes as one a byte."""
    bits = _BITS[dtype]
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    codes = (data[:, None] >> shifts & np.uint8((1 << bits) - 1)).reshape(-1)[:count]
    if np.dtype(dtype).name.startswith("int"):
        half = 1 << (bits - 1)
        return (((codes ^ half).astype(np.int8)) - half).astype(dtype)
    return codes.view(dtype) if dtype.name.startswith("float") else codes.astype(dtype)


def _typed_weight(tensor: TensorProto, dtype: np.dtype, shape: tuple[int, ...], count: int, what: str, typed: list[str]) -> Weight:
    name = _TYPED_FIELDS.get(tensor.data_type, "int32_data")
    if typed and typed != [name]:
        raise Error("E0203", f"{what} is of type {type_name(tensor.data_type)} but has its data in {' and '.join(typed)}")
    data = getattr(tensor, name)
    if dtype in STORED_ONLY:
        codes = np.array(data, np.int64).astype(np.uint8)
        return _raw_weight(Raw(codes.size, lambda d: codes.view(d)), dtype, shape, count, what)
    if len(data) != count:
        raise Error("E0203", f"{what} is {dtype}{list(shape)}, which takes {count} numbers, but has {len(data)}")

    def load() -> NDArray:
        if dtype in (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)):
            return np.array(data, np.int64).astype(np.uint16).view(dtype).reshape(shape)
        wide = data if dtype.kind == "f" else np.array(data, np.uint64 if name == "uint64_data" else np.int64)
        return np.asarray(wide).astype(dtype).reshape(shape)

    return Weight(shape, dtype, load)

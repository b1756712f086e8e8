"""ONNX's element types as numpy has them."""

from __future__ import annotations

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper

FLOATS = ("DOUBLE", "FLOAT", "FLOAT16", "BFLOAT16")
NARROW_FLOATS = ("FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "FLOAT8E8M0", "FLOAT4E2M1")
INTEGERS = ("INT64", "INT32", "INT16", "INT8", "UINT64", "UINT32", "UINT16", "UINT8", "INT4", "UINT4", "INT2", "UINT2")
_BITS = {"FLOAT4E2M1": 4, "INT4": 4, "UINT4": 4, "INT2": 2, "UINT2": 2}
"""Bits of an element, of types that share bytes, the first element in the lowest bits."""


def numpy_type(name: str) -> np.dtype:
    """The dtype of arrays of an element type."""
    return np.dtype(helper.tensor_dtype_to_np_dtype(getattr(TensorProto, name)))


def constant_of(key: str, name: str, values: NDArray) -> onnx.TensorProto:
    """An initializer of an element type that holds these values, in ONNX's bytes."""
    bits = _BITS.get(name)
    if bits is None:
        raw = np.ascontiguousarray(values).tobytes()
    else:
        codes = np.ascontiguousarray(values).view(np.uint8).reshape(-1, 8 // bits) & ((1 << bits) - 1)
        raw = (codes << (bits * np.arange(8 // bits))).sum(1).astype(np.uint8).tobytes()
    return helper.make_tensor(key, getattr(TensorProto, name), values.shape, raw, raw=True)

"""How the engine holds tensors: dense in row-major order, in one of a few element types."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.formats import format_named

Storage: TypeAlias = Literal["f32", "f64", "f16", "bf16", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "bool"]
STORAGE_BYTES: dict[str, int] = {
    **{"f32": 4, "f64": 8, "f16": 2, "bf16": 2, "bool": 1},
    **{f"{sign}{bits}": bits // 8 for sign in "iu" for bits in (8, 16, 32, 64)},
}
_NARROW: dict[str, Storage] = {"Float16_b": "bf16", "Half": "f16"}
"""Formats whose values are stored as narrow as they are."""
_NUMPY: dict[str, np.dtype] = {
    **{"f32": np.dtype(np.float32), "f64": np.dtype(np.float64), "f16": np.dtype(np.float16), "bf16": np.dtype(np.uint16)},
    **{"bool": np.dtype(np.bool_)},
    **{f"{sign}{bits}": np.dtype(f"{sign}{bits // 8}") for sign in "iu" for bits in (8, 16, 32, 64)},
}


def storage_of(format: str) -> Storage | None:
    """Return how values of a data format are held; None for one that only the reference engine holds, such as texts."""
    return _NARROW.get(format) or storage_of_dtype(format_named(format).compute)


def needs_rounding(format: str) -> bool:
    """Return whether the storage holds more numbers than the format has: floating-point formats of devices, in float32."""
    return format_named(format).is_float and format not in ("Float32", "Float64", *_NARROW)


def storage_of_dtype(dtype: np.dtype) -> Storage | None:
    """Return the storage whose arrays are of a numpy dtype; None if there is none."""
    if dtype == np.bool_:
        return "bool"
    name = {"f": "f", "i": "i", "u": "u"}.get(dtype.kind, "?") + str(dtype.itemsize * 8)
    return name if name in STORAGE_BYTES else None  # pyright: ignore[reportReturnType]


def array_dtype(storage: Storage) -> np.dtype:
    """Return numpy's type of arrays that hold what the engine does; bfloat16 as its patterns, in uint16."""
    return _NUMPY[storage]


def computed(held: NDArray, storage: Storage) -> NDArray:
    """Return what the engine holds as numbers in the compute dtype."""
    if storage == "bf16":
        return (held.astype(np.uint32) << 16).view(np.float32)
    return held.astype(np.float32) if storage == "f16" else held


def stored(value: NDArray, storage: Storage) -> NDArray:
    """Return numbers that are rounded already as the engine holds them."""
    if storage == "bf16":
        return (np.ascontiguousarray(value, np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return value

"""Data formats: how numbers are stored at op borders, and what that does to values.

    Float32 Tf32 Float16 Float16_b Lf8 Fp8_e4m3           element by element
    Bfp8 Bfp4 Bfp2, Bfp8_b Bfp4_b Bfp2_b                  16 elements share an exponent of 5 bits, or of 8 (_b)
    Int32 Int8 UInt8 UInt16 RawUInt8 RawUInt16 RawUInt32  integers
    Half Float64 Int64 Int16 UInt64 Bool                  on the host alone
    Float8E4M3FN ... Float4E2M1 Int4 UInt4 Int2 UInt2     on the host alone, a byte an element: what models store, to be moved and cast
    String                                                text, between ops of the host alone; archives hold it in literals

Float16 and the 8-bit floats are the device's: without infinities, NaN and denormals.  Half is IEEE's.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.formats.base import Format, Rounding
from ttc.dialects.core.formats.block import BlockFormat
from ttc.dialects.core.formats.native import BFloat16Format, NativeFormat, SignMagnitudeFormat
from ttc.dialects.core.formats.text import STRING, StringFormat
from ttc.dialects.core.formats.words import NarrowFloatFormat, Tf32Format

__all__ = ["FORMATS", "Format", "Rounding", "format_named", "format_of"]

_FLOAT32 = np.dtype(np.float32)


def _native(name: str, storage: Any, compute: Any = None, *, device: bool = True, faces: bool = True) -> Format:
    stored = np.dtype(storage)
    return NativeFormat(name, stored, stored if compute is None else np.dtype(compute), device, faces)


def _signed(name: str, storage: Any) -> Format:
    return SignMagnitudeFormat(name, np.dtype(storage), np.dtype(storage))


def _narrow(name: str, exponent_bits: int, mantissa_bits: int) -> Format:
    word = np.dtype([("word", f"<u{(1 + exponent_bits + mantissa_bits) // 8}")])
    return NarrowFloatFormat(name, word, _FLOAT32, exponent_bits=exponent_bits, mantissa_bits=mantissa_bits)


def _block(name: str, magnitude_bits: int, wide: bool) -> Format:
    item = np.dtype([("exponent", np.uint8), ("elements", np.uint8, (2 * (magnitude_bits + 1),))])
    return BlockFormat(name, item, _FLOAT32, magnitude_bits=magnitude_bits, wide=wide)


_STORED_FLOATS = {
    "Float8E4M3FN": ml_dtypes.float8_e4m3fn,
    "Float8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "Float8E5M2": ml_dtypes.float8_e5m2,
    "Float8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "Float8E8M0FNU": ml_dtypes.float8_e8m0fnu,
    "Float4E2M1": ml_dtypes.float4_e2m1fn,
}
_STORED_INTEGERS = {"Int4": ml_dtypes.int4, "UInt4": ml_dtypes.uint4, "Int2": ml_dtypes.int2, "UInt2": ml_dtypes.uint2}

FORMATS: dict[str, Format] = {
    f.name: f
    for f in (
        _native("Float32", np.float32),
        Tf32Format("Tf32", np.dtype([("word", "<u4")]), _FLOAT32),
        _narrow("Float16", 5, 10),
        BFloat16Format("Float16_b", np.dtype(ml_dtypes.bfloat16), _FLOAT32),
        *(_block(f"Bfp{bits}", bits - 1, wide=False) for bits in (8, 4, 2)),
        *(_block(f"Bfp{bits}_b", bits - 1, wide=True) for bits in (8, 4, 2)),
        _narrow("Lf8", 5, 2),
        _narrow("Fp8_e4m3", 4, 3),
        _signed("Int32", np.int32),
        _signed("Int8", np.int8),
        _native("UInt8", np.uint8),
        _native("UInt16", np.uint16),
        _native("RawUInt8", np.uint8, faces=False),
        _native("RawUInt16", np.uint16, faces=False),
        _native("RawUInt32", np.uint32, faces=False),
        _native("Half", np.float16, np.float32, device=False),
        _native("Float64", np.float64, device=False),
        _native("Int64", np.int64, device=False),
        _native("Int16", np.int16, device=False),
        _native("UInt64", np.uint64, device=False),
        _native("Bool", np.bool_, device=False),
        *(_native(name, dtype, np.float32, device=False) for name, dtype in _STORED_FLOATS.items()),
        StringFormat("String", STRING, STRING, device=False),
        *(_native(name, dtype, np.int8 if name.startswith("I") else np.uint8, device=False) for name, dtype in _STORED_INTEGERS.items()),
    )
}

_BY_DTYPE: dict[np.dtype, Format] = {f.storage: f for f in reversed(FORMATS.values()) if f.storage.names is None}


def format_named(name: str) -> Format:
    """Return the format of that name.  Raises E0607."""
    found = FORMATS.get(name)
    if found is None:
        raise Error("E0607", f"there is no data format '{name}'", hint=nearest(name, FORMATS))
    return found


def format_of(dtype: np.dtype) -> Format:
    """Return the format that stores a source dtype unchanged.  Raises E0403."""
    found = _BY_DTYPE.get(np.dtype(dtype))
    if found is None:
        raise Error("E0403", f"no data format holds elements of type {dtype}")
    return found

"""Casts, bits of other types, and the steps between real numbers and integers that stand for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ttc.runtime.engines.native.ir.elementwise import ANY, INTEGERS, NUMBERS, elementwise, numpy_type, value_type
from ttc.runtime.engines.native.ir.quotients import divides_fast, near_quotient, quotient, rounds_right
from ttc.runtime.engines.native.ir.values import CodeValue

if TYPE_CHECKING:
    from ttc.dialects.core.plain.functions import Plain
    from ttc.runtime.engines.native.graph.storage import Storage
    from ttc.runtime.engines.native.ir.dtypes import Dtype
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer

NARROW: Mapping[str, Storage] = {"float16": "f16", "bfloat16": "bf16"}
NUMPY_NAMES = frozenset(["bool", "float32", "float64", *NARROW, *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))])
"""Dtypes that values are cast to."""
_WIDER: Mapping[Dtype, Dtype] = {"i8": "i32", "u8": "i32", "i16": "i32", "u16": "i32", "u32": "i64", "u64": "i64"}
"""By way of what floats become integers of other dtypes, so that they come round there as they do in numpy."""
_CODES = INTEGERS - {"u32", "i64", "u64"}


def _known_name(operands: Sequence[Dtype], attrs: Mapping[str, Plain]) -> str | None:
    name = attrs.get("to")
    return None if name is None or name in NUMPY_NAMES else f"cast to {name}"


def _same_bits(operands: Sequence[Dtype], attrs: Mapping[str, Plain]) -> str | None:
    """Values are of the type whose bits are meant, which numpy has as they are."""
    source, target = attrs.get("source"), attrs.get("dtype")
    names = NUMPY_NAMES - {"bool", *NARROW}
    if source not in names or target not in names or value_type(np.dtype(str(source))) != operands[0]:
        return f"bits of {source} as {target}"
    return None if np.dtype(str(source)).itemsize == np.dtype(str(target)).itemsize else "another size"


def _to_codes(operands: Sequence[Dtype], attrs: Mapping[str, Plain]) -> str | None:
    x, scale, zero = operands
    return None if x == scale == "f32" and zero in _CODES else f"{x} over {scale} as {zero}"


def _from_codes(operands: Sequence[Dtype], attrs: Mapping[str, Plain]) -> str | None:
    x, scale, zero = operands
    return None if scale == "f32" and x in _CODES and zero in _CODES else f"{x} less {zero} in {scale}"


@elementwise("cast", ANY, check=_known_name)
def cast(f: Writer, x: Value, *, to: str | None = None) -> Value:
    """x as the source's dtype of that name; floats to integers toward zero, those beyond a narrow dtype modulo its range."""
    if to is None:
        return x
    narrow = NARROW.get(to)
    if narrow is not None:
        return f.rounded(f.converted(x, "f32"), narrow)
    dtype = value_type(np.dtype(to))
    if dtype is None:
        return x
    if dtype == "f32" and isinstance(x, CodeValue) and x.zero == 0:
        return x.number
    wider = _WIDER.get(dtype) if x.type.is_float else None
    if wider is None:
        return f.converted(x, dtype)
    wrapped = f.converted(f.converted(x, wider), dtype)
    return wrapped if dtype != "u64" else f.select(x < 0, wrapped, f.converted(x, dtype))


@elementwise("bitcast", NUMBERS, check=_same_bits)
def bitcast(f: Writer, x: Value, *, source: str, dtype: str) -> Value:
    """Return the bits of x, as of type source, as another type."""
    return f.bits(x, value_type(np.dtype(dtype)) or x.type.dtype)


@elementwise("shift_left", INTEGERS)
def shift_left(f: Writer, a: Value, b: Value) -> Value:
    """a * 2^b, without the bits that leave; 0 for a b outside the width."""
    inside, count = _count(f, a, b)
    return f.select(inside, a << count, 0)


@elementwise("shift_right", INTEGERS)
def shift_right(f: Writer, a: Value, b: Value) -> Value:
    """a / 2^b, rounded down; only copies of the sign for a b outside the width."""
    inside, count = _count(f, a, b)
    return f.select(inside, a >> count, f.select(a < 0, -1, f.constant(0, a.type.dtype, a.type.lanes)) if a.type.is_signed else 0)


@elementwise("quantize", NUMBERS, joined=False, check=_to_codes)
def quantize(f: Writer, x: Value, scale: Value, zero: Value) -> Value:
    """x / scale rounded, halves to even, plus zero, brought into zero's range; NaN gives 0."""
    step, middle = f.known(scale), f.known(zero)
    if step is not None and middle is not None and zero.type.dtype in ("i8", "u8") and divides_fast(f, step):
        return _byte_of(f, f.converted(x, "f32"), step, int(middle), zero.type.dtype)
    nearest = f.whole("rint", f.converted(x, "f32") / scale)
    if zero.type.dtype == "i32":
        return f.converted(f.converted(nearest, "f64") + f.converted(zero, "f64"), "i32")
    middle, limits = f.converted(zero, "f32"), np.iinfo(numpy_type(zero.type.dtype))
    number = f.select(nearest.equals(nearest), nearest, -middle) if limits.min else nearest
    inside = f.smaller(f.larger(number, int(limits.min) - middle), int(limits.max) - middle)
    return f.converted(f.truncated(inside) + f.converted(zero, "i32"), zero.type.dtype)


def _byte_of(f: Writer, x: Value, step: float, middle: int, dtype: Dtype) -> Value:
    """`quantize` with a scale and a zero that are known: numbers are brought into range before they are divided."""
    limits = np.iinfo(numpy_type(dtype))
    least, most = (float(np.float32(limit - middle) * np.float32(step)) for limit in (int(limits.min), int(limits.max)))
    number = f.select(x.equals(x), x, float(np.float32(-middle) * np.float32(step))) if limits.min else x
    inside = f.smaller(f.larger(number, least), most)
    is_near = rounds_right(step, int(limits.max - limits.min) + 1)
    shifted = f.shifted(near_quotient(f, inside, step) if is_near else quotient(f, inside, step))
    code = f.converted(f.shifted_integer(shifted) + middle, dtype)
    return CodeValue(f, code.llvm, code.type, f.shifted_number(shifted), middle)


@elementwise("dequantize", NUMBERS, joined=False, check=_from_codes)
def dequantize(f: Writer, x: Value, scale: Value, zero: Value) -> Value:
    """(x - zero) * scale."""
    if isinstance(x, CodeValue) and f.known(zero) == x.zero:
        return x.number * scale
    wide = "i64" if "i32" in (x.type.dtype, zero.type.dtype) else "i32"
    return f.converted(f.converted(x, wide) - f.converted(zero, wide), "f32") * scale


def _count(f: Writer, a: Value, b: Value) -> tuple[Value, Value]:
    """Return whether b is inside the width of a, and b if it is."""
    width = numpy_type(a.type.dtype).itemsize * 8
    inside = (b >= 0) & (b < width)
    return inside, f.select(inside, b, 0)

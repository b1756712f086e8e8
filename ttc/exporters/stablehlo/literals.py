"""Types, constants and attributes as MLIR writes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.formats.text import STRING
from ttc.dialects.core.ir.spec import element_type
from ttc.dialects.core.records import record

SHOWN = 16
"""The most elements that are written as numbers; the bytes of larger constants are written in hexadecimal digits."""
NARROW = ("bool", "int4", "uint4", "int2", "uint2", "float4_e2m1fn")
"""Dtypes of fewer than 8 bits, which MLIR packs in other ways than numpy: their elements are always written as numbers."""


class NoHloForm(Exception):
    """Raised for an op that StableHLO has no form of; the message says why."""


@record
class HloValue:
    """A value of the text.

    Args:
        name: with `%`.
        shape: in elements.
        dtype: of the elements.
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def type(self) -> str:
        """The type as StableHLO writes it: `tensor<2x3xf32>`."""
        return tensor_text(self.shape, self.dtype)


def tensor_text(shape: Sequence[int], dtype: np.dtype) -> str:
    """Return the type of a tensor.  Raises NoHloForm for text and for sizes that are not known."""
    if dtype == STRING:
        raise NoHloForm("text is not exported")
    if min(shape, default=0) < 0:
        raise NoHloForm("shapes have to be known")
    return f"tensor<{'x'.join([*map(str, shape), str(element_type(dtype))])}>"


def dense(array: NDArray) -> str:
    """Return a constant: one number if all are the same, few as numbers, many as their bytes, the lowest of each element first."""
    kind = tensor_text(array.shape, array.dtype)
    if array.size == 0:
        return f"dense<> : {kind}"
    data = np.ascontiguousarray(array).tobytes()
    if data == data[: array.dtype.itemsize] * array.size:
        return f"dense<{_number(array.reshape(-1)[0])}> : {kind}"
    if array.size <= SHOWN or array.dtype.name in NARROW:
        return f"dense<{_nested(array)}> : {kind}"
    return f'dense<"0x{data.hex().upper()}"> : {kind}'


def _nested(array: NDArray) -> str:
    if array.ndim == 0:
        return _number(array[()])
    return f"[{', '.join(_nested(row) for row in array)}]"


def _number(value: Any) -> str:
    """Return an element as MLIR reads it: floats with a point, those that are no numbers as their bits."""
    dtype = np.asarray(value).dtype
    if dtype.kind == "b":
        return "true" if value else "false"
    if np.issubdtype(dtype, np.integer) or dtype.name.startswith(("int", "uint")):
        return str(int(value))
    if not np.isfinite(float(value)):
        return f"0x{np.asarray(value).tobytes()[::-1].hex().upper()}"
    text = repr(float(value)) if dtype == np.float64 else str(np.float32(value))
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}{'e' + exponent if exponent else ''}"


# ---- attributes --------------------------------------------------------------------------------------------------------------------


def integer(value: int) -> str:
    """Return an attribute of one integer."""
    return f"{value} : i64"


def integers(values: Sequence[int]) -> str:
    """Return an attribute of integers."""
    return f"array<i64: {', '.join(map(str, values))}>" if len(values) else "array<i64>"


def pairs(values: Sequence[tuple[int, int]]) -> str:
    """Return an attribute of two integers a dimension."""
    return dense(np.array(values, np.int64).reshape(len(values), 2))


def flag(value: bool) -> str:
    """Return an attribute that is true or false."""
    return "true" if value else "false"


def listed(**fields: Sequence[int] | int) -> str:
    """Return the fields of an attribute of StableHLO, those that are empty left out: `offset_dims = [0], index_vector_dim = 1`."""
    texts = {name: str(value) if isinstance(value, int) else str(list(value)) for name, value in fields.items()}
    return ", ".join(f"{name} = {text}" for name, text in texts.items() if text != "[]")


def quoted(text: str) -> str:
    """Return a string in quotes; quotes, backslashes and control characters are escaped."""
    escaped = (f"\\{ord(char):02X}" if char in '"\\' or ord(char) < 32 or ord(char) == 127 else char for char in text)
    return f'"{"".join(escaped)}"'


def location(names: Sequence[str]) -> str:
    """Return the location of an op that has these names in the model, with a blank before it; nothing if it has none."""
    if not names:
        return ""
    return f" loc({quoted(names[0])})" if len(names) == 1 else f" loc(fused[{', '.join(map(quoted, names))}])"

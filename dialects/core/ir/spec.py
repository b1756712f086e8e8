"""Types of tensor values: shape and dtype as plain data, and as xDSL's builtin tensor types."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

import ml_dtypes
import numpy as np
from xdsl.dialects import builtin
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats.text import STRING

DYNAMIC = -1
"""A dimension whose size depends on data; printed `?`."""


@irdl_attr_definition
class StringType(ParametrizedAttribute, TypeAttribute):
    """`!ttc.string`: the element type of tensors of text."""

    name = "ttc.string"


class Spec(NamedTuple):
    """The type of a tensor value in dialect nn: shape in elements (DYNAMIC where data decides) and numpy dtype."""

    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def is_static(self) -> bool:
        return DYNAMIC not in self.shape

    @property
    def elements(self) -> int:
        """Number of elements of a static shape."""
        count = 1
        for size in self.shape:
            count *= size
        return count

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join('?' if d == DYNAMIC else str(d) for d in self.shape)}]"


_ELEMENT_TYPES: dict[np.dtype, builtin.AnyFloat | builtin.IntegerType | StringType] = {
    STRING: StringType(),
    np.dtype(np.float32): builtin.f32,
    np.dtype(np.float64): builtin.f64,
    np.dtype(np.float16): builtin.f16,
    np.dtype(ml_dtypes.bfloat16): builtin.bf16,
    np.dtype(np.bool_): builtin.i1,
    **{np.dtype(f"int{bits}"): builtin.IntegerType(bits) for bits in (8, 16, 32, 64)},
    **{np.dtype(f"uint{bits}"): builtin.IntegerType(bits, builtin.Signedness.UNSIGNED) for bits in (8, 16, 32, 64)},
    np.dtype(ml_dtypes.int4): builtin.IntegerType(4),
    np.dtype(ml_dtypes.int2): builtin.IntegerType(2),
    np.dtype(ml_dtypes.uint4): builtin.IntegerType(4, builtin.Signedness.UNSIGNED),
    np.dtype(ml_dtypes.uint2): builtin.IntegerType(2, builtin.Signedness.UNSIGNED),
    np.dtype(ml_dtypes.float8_e4m3fn): builtin.Float8E4M3FNType(),
    np.dtype(ml_dtypes.float8_e4m3fnuz): builtin.Float8E4M3FNUZType(),
    np.dtype(ml_dtypes.float8_e5m2): builtin.Float8E5M2Type(),
    np.dtype(ml_dtypes.float8_e5m2fnuz): builtin.Float8E5M2FNUZType(),
    np.dtype(ml_dtypes.float8_e8m0fnu): builtin.Float8E8M0FNUType(),
    np.dtype(ml_dtypes.float4_e2m1fn): builtin.Float4E2M1FNType(),
}
STORED_ONLY = frozenset(dtype for dtype in _ELEMENT_TYPES if dtype.itemsize == 1 and (dtype.kind == "V" or dtype.name.startswith("float")))
"""Types that tensors are stored in, moved and converted, but that no op computes with."""
NUMBERS = {str(dtype): dtype for dtype in _ELEMENT_TYPES if dtype != STRING}
"""Dtypes of tensors of numbers by name."""
_DTYPES: dict[Attribute, np.dtype] = {type_: dtype for dtype, type_ in _ELEMENT_TYPES.items()}


def element_type(dtype: np.dtype) -> builtin.AnyFloat | builtin.IntegerType | StringType:
    """Return the IR element type of a numpy dtype.  Raises E0403."""
    found = _ELEMENT_TYPES.get(np.dtype(dtype))
    if found is None:
        raise Error("E0403", f"tensors of {dtype} are not supported")
    return found


@cache
def tensor_type(spec: Spec) -> builtin.TensorType:
    """Return the builtin tensor type of a spec; one object a spec."""
    made = builtin.TensorType(element_type(spec.dtype), [builtin.DYNAMIC_INDEX if d == DYNAMIC else d for d in spec.shape])
    _MADE[id(made)] = made, spec
    return made


_MADE: dict[int, tuple[Attribute, Spec]] = {}
"""Types made here with their specs, by identity: hashing a type takes longer than all else that is done with it."""


def spec_of(type_: Attribute) -> Spec:
    """Return the spec of a builtin tensor type.  Raises E0302."""
    made = _MADE.get(id(type_))
    return made[1] if made is not None else _read_spec(type_)


def are_lasting(types: Iterable[Attribute | None]) -> bool:
    """Return whether types are objects that stay for good, so that their identities tell them apart."""
    return all(type_ is None or id(type_) in _MADE for type_ in types)


@cache
def _read_spec(type_: Attribute) -> Spec:
    if isinstance(type_, builtin.TensorType):
        dtype = _DTYPES.get(type_.element_type)
        if dtype is not None:
            return Spec(tuple(DYNAMIC if d == builtin.DYNAMIC_INDEX else d for d in type_.get_shape()), dtype)
    raise Error("E0302", f"{type_} is not a tensor type of dialect nn")

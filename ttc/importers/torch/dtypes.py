"""PyTorch's dtypes as numpy's, and its rules of promotion."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import ml_dtypes
import numpy as np
import torch

from ttc.importers.common.unsupported import Unsupported

DTYPES: Mapping[torch.dtype, np.dtype] = MappingProxyType(
    {
        torch.float32: np.dtype(np.float32),
        torch.float64: np.dtype(np.float64),
        torch.float16: np.dtype(np.float16),
        torch.bfloat16: np.dtype(ml_dtypes.bfloat16),
        torch.bool: np.dtype(np.bool_),
        **{getattr(torch, f"{u}int{n}"): np.dtype(f"{u}int{n}") for u in ("", "u") for n in (8, 16, 32, 64)},
        torch.float8_e4m3fn: np.dtype(ml_dtypes.float8_e4m3fn),
        torch.float8_e4m3fnuz: np.dtype(ml_dtypes.float8_e4m3fnuz),
        torch.float8_e5m2: np.dtype(ml_dtypes.float8_e5m2),
        torch.float8_e5m2fnuz: np.dtype(ml_dtypes.float8_e5m2fnuz),
        torch.float8_e8m0fnu: np.dtype(ml_dtypes.float8_e8m0fnu),
    }
)
COMPLEX_DTYPES: Mapping[torch.dtype, np.dtype] = MappingProxyType(
    {torch.complex64: np.dtype(np.complex64), torch.complex128: np.dtype(np.complex128)}
)
"""Types of complex tensors, which only live at import, as pairs of real ones."""
TORCH_DTYPES: Mapping[np.dtype, torch.dtype] = MappingProxyType({ours: theirs for theirs, ours in DTYPES.items()})
EXTENSIONS = frozenset(d for d in DTYPES.values() if d.kind == "V" or d.name.startswith("float8"))
"""Types that numpy knows through ml_dtypes alone, and that PyTorch gives no arrays of."""


def dtype_of(dtype: torch.dtype) -> np.dtype:
    """Return numpy's type for a type of PyTorch's.  Raises Unsupported."""
    found = DTYPES.get(dtype)
    if found is None:
        raise Unsupported(f"tensors of {str(dtype).removeprefix('torch.')}")
    return found


def promoted_dtype(tensors: list[np.dtype], zero_dim: list[np.dtype], numbers: list[bool | int | float]) -> np.dtype:
    """Return the dtype that operands of these kinds are computed in, as `torch.result_type` defines it.

    Args:
        tensors: of operands with dimensions, which decide unless a later kind is of a higher category (bool, integer, floating point).
        zero_dim: of tensors without dimensions.
        numbers: of Python, as torch.get_default_dtype or int64.
    Raises: Unsupported for dtypes that PyTorch does not promote, as those of 8-bit floats.
    """
    plain = [torch.bool if isinstance(n, bool) else torch.int64 if isinstance(n, int) else torch.get_default_dtype() for n in numbers]
    found: torch.dtype | None = None
    for kind in (plain, [TORCH_DTYPES[d] for d in zero_dim], [TORCH_DTYPES[d] for d in tensors]):
        found = _combined(_joined(kind), found)
    if found is None:
        raise Unsupported("no operand to take a dtype from")
    return DTYPES[found]


def _joined(dtypes: list[torch.dtype]) -> torch.dtype | None:
    found: torch.dtype | None = None
    for dtype in dtypes:
        found = dtype if found is None else _promoted(found, dtype)
    return found


def _combined(higher: torch.dtype | None, lower: torch.dtype | None) -> torch.dtype | None:
    if higher is None or lower is None:
        return lower if higher is None else higher
    if higher.is_floating_point or not (higher == torch.bool or lower.is_floating_point):
        return higher
    return _promoted(higher, lower)


def _promoted(a: torch.dtype, b: torch.dtype) -> torch.dtype:
    try:
        return torch.promote_types(a, b)
    except RuntimeError as error:
        raise Unsupported(str(error)) from None

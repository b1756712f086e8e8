"""Limits of `nn.clip` as formats take them: numbers of the operand's own dtype."""

from __future__ import annotations

from math import ceil, floor, isfinite

import numpy as np

from ttc.dialects.core.plain.functions import Plain


def limits_of(attrs: dict[str, Plain], dtype: np.dtype) -> dict[str, int | float]:
    """Return the limits of a clip under "min" and "max", if present; of integers rounded inward and brought into the dtype's range."""
    found: dict[str, int | float] = {}
    for name, inward in (("min", ceil), ("max", floor)):
        limit = attrs.get(name)
        if isinstance(limit, int | float):
            found[name] = _whole(limit if not isfinite(limit) else inward(limit), dtype) if dtype.kind in "iu" else float(limit)
    return found


def _whole(limit: float, dtype: np.dtype) -> int:
    info = np.iinfo(dtype)
    return int(max(min(limit, info.max), info.min))

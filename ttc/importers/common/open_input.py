"""A model's input before its open dimensions are fixed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

import numpy as np

from ttc.dialects.core.records import record

Dims = tuple[int | str, ...]
"""The sizes of an input's dimensions; for a dynamic dimension its name, which may be empty."""


@record
class OpenInput:
    """An input as the model declares it.

    Args:
        name: as the framework calls it.
        dims: sizes, and names of dynamic dimensions.
        dtype: of the elements.
        limits: least and largest sizes of dynamic dimensions by name, where the model has such.
    """

    name: str
    dims: Dims
    dtype: np.dtype
    limits: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def nearest_size(self, dim: str, size: int) -> int:
        """Return the size nearest to one that a dynamic dimension can have."""
        least, largest = self.limits.get(dim, (size, size))
        return min(max(size, least), largest)

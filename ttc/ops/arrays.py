"""Arrays of numpy, PyTorch and plain lists, as numpy has them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error


def array_of(value: Any) -> NDArray[Any]:
    """Return an array of what a user gives; memory is shared where it can be.  Lists of numbers are float32, of integers int64.

    Raises: E0403 for what is no array of numbers.
    """
    if type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "detach"):
        from ttc.importers.torch.weights import weight_of

        return weight_of(value, "array").load()
    array = np.asarray(value)
    if array.dtype.kind in "OSUcM":
        raise Error("E0403", f"a {type(value).__name__} is no array of numbers")
    return array if hasattr(value, "dtype") or array.dtype != np.float64 else array.astype(np.float32)

"""Between PyTorch's tensors and arrays: memory is shared wherever strides allow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch._C._dynamo import guards

from ttc.importers.torch.dtypes import EXTENSIONS, TORCH_DTYPES

_SAME_WIDTH = {1: np.uint8, 2: np.int16}
_guards: Any = guards
empty_strided: Callable[[Sequence[int], Sequence[int], torch.dtype], torch.Tensor] = _guards._empty_strided_cpu
"""Returns a new tensor of these sizes and strides, as `torch.empty_strided` does, in half the time; what inductor writes calls it."""


def tensor_of(array: NDArray) -> torch.Tensor:
    """Return a tensor that shares the memory of an array which is C-contiguous, and nobody else's."""
    if not array.size:  # numpy has strides of its own for these
        return torch.empty(array.shape, dtype=TORCH_DTYPES[array.dtype])
    extension = array.dtype in EXTENSIONS
    plain = torch.from_numpy(array.view(_SAME_WIDTH[array.dtype.itemsize]) if extension else array)
    return plain.view(TORCH_DTYPES[array.dtype]) if extension else plain


def unusual_stride(like: torch.Tensor) -> tuple[int, ...] | None:
    """Return the strides of a result that is not contiguous; None for one that is, or that shows an element several times."""
    if like.is_contiguous() or any(s == 0 for s in like.stride()):
        return None
    return tuple(like.stride())

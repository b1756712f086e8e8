"""Between PyTorch's tensors and arrays: memory is shared wherever strides allow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from ttc.importers.torch.dtypes import EXTENSIONS, TORCH_DTYPES

_SAME_WIDTH = {1: np.uint8, 2: np.int16}


def tensor_of(array: NDArray, stride: Sequence[int] | None = None) -> torch.Tensor:
    """Return a tensor that shares the array's memory.

    Args:
        array: C-contiguous, and nobody else's.
        stride: elements from one index to the next by dimension, if the tensor must be laid out otherwise: then it is a copy.
    """
    if not array.size:  # numpy has strides of its own for these
        return torch.empty(array.shape, dtype=TORCH_DTYPES[array.dtype])
    extension = array.dtype in EXTENSIONS
    plain = torch.from_numpy(array.view(_SAME_WIDTH[array.dtype.itemsize]) if extension else array)
    made = plain.view(TORCH_DTYPES[array.dtype]) if extension else plain
    if stride is None:
        return made
    return torch.empty_strided(made.shape, tuple(stride), dtype=made.dtype).copy_(made)


def unusual_stride(like: torch.Tensor) -> tuple[int, ...] | None:
    """Return the strides of a result that is not contiguous; None for one that is, or that shows an element several times."""
    if like.is_contiguous() or any(s == 0 for s in like.stride()):
        return None
    return tuple(like.stride())

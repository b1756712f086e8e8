"""Parameters, buffers and constants of PyTorch as weights: views of the tensors' own memory."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.weights import Weight
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.torch.dtypes import EXTENSIONS, dtype_of

_SAME_WIDTH = {1: torch.uint8, 2: torch.int16}


def weight_of(tensor: torch.Tensor, name: str) -> Weight:
    """The weight that a tensor holds; its memory is shared if it is contiguous, else copied when the value is read.  Raises E0202."""
    if tensor.layout != torch.strided or tensor.device.type != "cpu" or tensor.is_quantized:
        what = f"{str(tensor.layout).removeprefix('torch.')} on {tensor.device}" + (", quantized" if tensor.is_quantized else "")
        raise Error("E0202", f"tensor '{name}' is {what}; only strided tensors on the CPU are supported")
    try:
        dtype = dtype_of(tensor.dtype)
    except Unsupported as reason:
        raise Error("E0202", f"tensor '{name}': {reason} are not supported") from None
    return Weight(tuple(tensor.shape), dtype, partial(array_of, tensor, dtype))


def array_of(tensor: torch.Tensor, dtype: np.dtype) -> NDArray:
    """The tensor's memory as an array of that dtype; a copy if it is not contiguous."""
    plain = tensor.detach().resolve_neg().contiguous()
    if dtype in EXTENSIONS:
        return plain.view(_SAME_WIDTH[dtype.itemsize]).numpy().view(dtype)
    return plain.numpy()[...]


def identity(tensor: torch.Tensor) -> tuple[object, ...]:
    """Equal for tensors that are the same piece of memory, read alike."""
    return (tensor.untyped_storage().data_ptr(), tensor.storage_offset(), tuple(tensor.shape), tensor.stride(), tensor.dtype)

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

_SAME_WIDTH = {1: np.dtype(np.uint8), 2: np.dtype(np.int16)}


def weight_of(tensor: torch.Tensor, name: str) -> Weight:
    """Return the weight that a tensor holds; its memory is shared if it is contiguous, else copied when the value is read. Raises E0202."""
    if tensor.layout != torch.strided or tensor.device.type != "cpu" or tensor.is_quantized:
        what = f"{str(tensor.layout).removeprefix('torch.')} on {tensor.device}" + (", quantized" if tensor.is_quantized else "")
        raise Error("E0202", f"tensor '{name}' is {what}; only strided tensors on the CPU are supported")
    try:
        dtype = dtype_of(tensor.dtype)
    except Unsupported as reason:
        raise Error("E0202", f"tensor '{name}': {reason} are not supported") from None
    return Weight(tuple(tensor.shape), dtype, partial(array_of, tensor, dtype))


class _Memory:
    """A tensor's memory, as numpy asks for it; the array keeps this, and so the tensor."""

    __slots__ = ("__array_interface__", "tensor")

    def __init__(self, tensor: torch.Tensor, dtype: np.dtype) -> None:
        self.tensor = tensor
        self.__array_interface__ = {"data": (tensor.data_ptr(), False), "shape": tuple(tensor.shape), "typestr": dtype.str, "version": 3}


def array_of(tensor: torch.Tensor, dtype: np.dtype) -> NDArray:
    """Return the tensor's memory as an array of that dtype; a copy if it is not contiguous, or a conjugate that is still to be computed.

    `Tensor.numpy` would keep PyTorch from ever giving the memory back, as it does with parameters that processes share (`fully_shard`)
    once a pass has used them.
    """
    plain = tensor.detach().resolve_conj().resolve_neg().contiguous()
    if not plain.numel():
        return np.empty(tuple(plain.shape), dtype)
    held = _SAME_WIDTH[dtype.itemsize] if dtype in EXTENSIONS else dtype
    array = np.asarray(_Memory(plain, held))
    return array if held is dtype else array.view(dtype)


def identity(tensor: torch.Tensor) -> tuple[object, ...]:
    """Return a key that is equal for tensors that are the same piece of memory, read alike."""
    return (tensor.untyped_storage().data_ptr(), tensor.storage_offset(), tuple(tensor.shape), tensor.stride(), tensor.dtype)

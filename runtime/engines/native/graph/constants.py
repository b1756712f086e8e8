"""Tensors of the program as views."""

from __future__ import annotations

import numpy as np

from ttc.runtime.engines.native.graph.storage import Storage, storage_of_dtype
from ttc.runtime.engines.native.graph.tensors import Place, PlanBuffer, View, dense
from ttc.runtime.tensors import Constants


def constant_view(constants: Constants, key: str) -> View | None:
    """Return a tensor of the program where it lies, or in the compute dtype of its format; None if only the reference engine can hold
    it.
    """
    array = np.asarray(constants.narrow(key), order="C")  # `ascontiguousarray` would give a scalar a dimension
    narrow = array.dtype.name == "bfloat16"
    storage: Storage | None = "bf16" if narrow else storage_of_dtype(array.dtype)
    if storage is None:
        array = np.asarray(constants[key], order="C")
        storage = storage_of_dtype(array.dtype)
    if storage is None:
        return None
    array = array.view(np.uint16) if narrow else array
    return dense(PlanBuffer(array.nbytes, Place.CONSTANT, key=key, array=array), storage, array.shape)

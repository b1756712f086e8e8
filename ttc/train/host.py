"""The model that a training executor was made from: its parameters and buffers, and the kind of arrays that its user works with."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error


class HostModel:
    """A model on the host: a `torch.nn.Module`, or something without tensors that could be written to, such as a file.

    Args:
        model: it; a module's tensors are read and written in place, and never replaced.
    """

    def __init__(self, model: Any) -> None:
        self._module = model if hasattr(model, "named_parameters") and hasattr(model, "named_buffers") else None
        self._watched: tuple[Any, ...] | None = None

    @property
    def is_module(self) -> bool:
        """Whether the model has tensors to read and write, so that arrays are given to the user as tensors."""
        return self._module is not None

    def read(self, names: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
        """Return the module's tensors of these names, as arrays on their memory where strides allow.  Raises E0101 for a file."""
        from ttc.importers.torch.dtypes import dtype_of
        from ttc.importers.torch.weights import array_of

        return {name: array_of(tensor, dtype_of(tensor.dtype)) for name, tensor in self._tensors().items() if name in names}

    def write(self, values: Mapping[str, NDArray[Any]]) -> None:
        """Write values into the module's own tensors.  Raises E0101 for a file."""
        import torch

        tensors = self._tensors()
        with torch.no_grad():
            for name, value in values.items():
                if name in tensors:
                    tensors[name].copy_(self.given(value).reshape(tensors[name].shape))

    def version(self) -> tuple[int, ...]:
        """Return a number that changes when PyTorch writes to a tensor of the module in place; writing through `.data` is not seen.

        It is asked at every step, so the tensors are those that `watch` found last.
        """
        if self._watched is None:
            self.watch()
        return tuple([tensor._version for tensor in self._watched or ()])  # noqa: SLF001 - torch's own counter

    def watch(self) -> None:
        """Record which tensors the module has now."""
        self._watched = tuple(self._tensors().values()) if self.is_module else ()

    def given(self, value: NDArray[Any]) -> Any:
        """Return an array as its user wants it: a tensor on its memory for a module, else the array."""
        if not self.is_module:
            return value
        from ttc.dynamo.tensors import tensor_of

        return tensor_of(np.asarray(value, order="C"))

    def _tensors(self) -> dict[str, Any]:
        if self._module is None:
            hint = "state_dict() gives the weights, load_state_dict() takes them"
            raise Error("E0101", "a model of a file has no parameters on the host", hint=hint)
        named = [*self._module.named_parameters(remove_duplicate=False), *self._module.named_buffers(remove_duplicate=False)]
        return dict(named)


def taken(value: Any) -> NDArray[Any]:
    """Return a user's value as an array: a tensor's memory is shared where strides allow."""
    if type(value).__module__.partition(".")[0] == "torch":
        from ttc.importers.torch.dtypes import dtype_of
        from ttc.importers.torch.weights import array_of

        return array_of(value, dtype_of(value.dtype))
    return np.asarray(value)


def digest(values: Mapping[str, NDArray[Any]]) -> dict[str, bytes]:
    """Return a fingerprint of 16 bytes for each value, by name."""
    return {
        name: hashlib.blake2b(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data, digest_size=16).digest()
        for name, value in values.items()
    }

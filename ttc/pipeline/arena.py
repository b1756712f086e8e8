"""Memory that two processes share, for the arrays that pass between them.

It has no name, so that nothing is left of it when both have ended, however they did: the system frees it with the last of its users.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import FORMATS

ALIGNMENT = 64
"""The alignment at which arrays begin, in bytes."""
_TYPES = {str(np.dtype(item.array_dtype)): np.dtype(item.array_dtype) for item in FORMATS.values()}


def room_for(sizes: Mapping[str, int]) -> int:
    """Return the bytes that arrays of these sizes in bytes take, each at its alignment."""
    return sum(_aligned(size) for size in sizes.values())


class SharedArena:
    """A range of shared memory, in which arrays lie one after another.

    Args:
        descriptor: of the memory; it is closed with the arena.
        size_bytes: of it.
    """

    def __init__(self, descriptor: int, size_bytes: int) -> None:
        self.descriptor = descriptor
        self.size_bytes = size_bytes
        self._map = mmap.mmap(descriptor, size_bytes)

    @staticmethod
    def new(size_bytes: int) -> SharedArena:
        """Make an arena.  Raises E0104 where the system has no such memory."""
        size = max(size_bytes, mmap.PAGESIZE)
        try:
            descriptor = os.memfd_create("ttc", os.MFD_CLOEXEC)
            os.ftruncate(descriptor, size)
            return SharedArena(descriptor, size)
        except (OSError, AttributeError) as error:
            raise Error("E0104", f"there is no shared memory of {size} bytes: {error}") from None

    def write(self, arrays: Mapping[str, NDArray[Any]]) -> list[list[Any]]:
        """Copy arrays into the memory, and return a row for each: name, dtype, shape, offset in bytes.  Raises E0805 if they do not fit."""
        rows: list[list[Any]] = []
        offset = 0
        for name, array in arrays.items():
            if offset + array.nbytes > self.size_bytes:
                raise Error("E0805", f"'{name}' of {array.nbytes} bytes does not fit into shared memory of {self.size_bytes}")
            if array.nbytes:
                np.copyto(self._view(array.dtype, array.shape, offset), array)
            rows.append([name, str(array.dtype), list(array.shape), offset])
            offset += _aligned(array.nbytes)
        return rows

    def read(self, rows: list[list[Any]], *, copied: bool) -> dict[str, NDArray[Any]]:
        """Return the arrays of rows: copies, or views that hold until the memory is written again.  Raises E0801 for other than arrays."""
        found: dict[str, NDArray[Any]] = {}
        for name, dtype, shape, offset in rows:
            if dtype not in _TYPES or offset + prod(shape) * _TYPES[dtype].itemsize > self.size_bytes:
                raise Error("E0801", f"'{name}' of type {dtype} cannot pass between processes")
            view = self._view(_TYPES[dtype], tuple(shape), offset) if prod(shape) else np.zeros(shape, _TYPES[dtype])
            found[name] = view.copy() if copied else view
        return found

    def close(self) -> None:
        """Give up the memory; views of it must be gone, or it is given up with the last of them."""
        os.close(self.descriptor)
        try:
            self._map.close()
        except BufferError:
            pass

    def _view(self, dtype: np.dtype[Any], shape: tuple[int, ...], offset: int) -> NDArray[Any]:
        return np.frombuffer(self._map, dtype, prod(shape), offset).reshape(shape)


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT

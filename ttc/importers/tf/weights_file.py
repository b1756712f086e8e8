"""The HDF5 file of a Keras model's weights, checked before Keras reads it: plain arrays of numbers that lie in the file itself."""

from __future__ import annotations

from typing import Any

import h5py
import numpy as np

from ttc.dialects.core.errors import Error

MAX_OBJECTS = 200_000
MAX_DEPTH = 64
MAX_RATIO = 1100
"""The most bytes that a stored byte may become; deflate reaches 1032."""
_PLAIN_FILTERS = frozenset(["gzip", "lzf"])


def check_weights(file: Any) -> None:
    """Check all groups and datasets of an open file.  Raises E0201 (no HDF5), E0203."""
    try:
        with h5py.File(file, "r") as root:
            _check(root)
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, RecursionError) as error:
        raise Error("E0201", f"the weights are no HDF5 file, or a damaged one: {error}") from error


def _check(root: h5py.File) -> None:
    """Without following a link out of the file, and each group once: groups may hold each other."""
    stack: list[tuple[Any, int]] = [(root, 0)]
    seen: set[Any] = set()
    count = 0
    while stack:
        group, depth = stack.pop()
        if group.id in seen or depth > MAX_DEPTH:
            raise Error("E0203", f"group '{group.name}' of the weights holds itself, or is nested more than {MAX_DEPTH} deep")
        seen.add(group.id)
        for name in group:
            count += 1
            if count > MAX_OBJECTS:
                raise Error("E0203", f"the weights have more than {MAX_OBJECTS} objects")
            if not isinstance(group.get(name, getlink=True), h5py.HardLink) or ".." in name:
                raise Error("E0203", f"'{name[:200]}' of the weights is a link, or has an unsafe name")
            item = group[name]
            if isinstance(item, h5py.Group):
                stack.append((item, depth + 1))
            elif isinstance(item, h5py.Dataset):
                _check_dataset(item)
            else:
                raise Error("E0203", f"'{name[:200]}' of the weights is neither a group nor an array")


def _check_dataset(item: h5py.Dataset) -> None:
    """Raises E0203 unless the array's numbers are in the file, and no more of them than it can hold."""
    what = f"array '{item.name}' of the weights"
    if item.external or item.is_virtual:
        raise Error("E0203", f"{what} lies in another file")
    if np.dtype(item.dtype).kind not in "fiubV" or item.dtype.hasobject or (item.dtype.kind == "V" and item.dtype.names):
        raise Error("E0203", f"{what} is of type {item.dtype}, which is no number")
    if item.compression is not None and item.compression not in _PLAIN_FILTERS:
        raise Error("E0203", f"{what} is compressed with {item.compression}")
    size = item.dtype.itemsize
    for length in item.shape or ():
        size *= int(length)
    stored = item.id.get_storage_size() * (1 if item.compression is None else MAX_RATIO)
    if item.shape is None or size > stored:
        raise Error("E0203", f"{what} is {list(item.shape or ())[:8]}, which takes {size} bytes, but has {stored}")

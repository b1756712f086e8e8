"""External data of a model: byte ranges of files beside it, opened without following anything out of the model's folder."""

from __future__ import annotations

import mmap
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.importers.common.beneath import map_beneath
from ttc.importers.onnx.tensors import Raw

_KEYS = {"location", "offset", "length", "checksum", "basepath"}


@record(frozen=False)
class ExternalFiles:
    """The data files of one model, each mapped once.

    Args:
        folder: the model's folder; nothing outside it is read.
    """

    folder: Path

    def __post_init__(self) -> None:
        self._maps: dict[str, mmap.mmap | bytes] = {}

    def raw(self, tensor: TensorProto, what: str) -> Raw:
        """Return the bytes an initializer's external data names.  Raises E0204."""
        entries = _entries(tensor, what)
        data = self._file(entries["location"], what)
        offset = _number(entries, "offset", 0, what)
        length = _number(entries, "length", len(data) - offset, what)
        if offset > len(data) or length < 0 or length > len(data) - offset:
            raise Error(
                "E0204", f"{what}: bytes {offset} to {offset + length} lie past the end of '{entries['location']}' ({len(data)} bytes)"
            )

        def view(dtype: np.dtype) -> NDArray:
            return np.frombuffer(data, dtype, length // dtype.itemsize, offset) if length else np.empty(0, dtype)

        return Raw(length, view)

    def _file(self, location: str, what: str) -> mmap.mmap | bytes:
        if location not in self._maps:
            parts = _safe_parts(location, what)
            try:
                self._maps[location] = map_beneath(self.folder, parts, f"{what}: external data '{location}'")
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or str(error)
                raise Error("E0204", f"{what}: external data '{location}' cannot be read: {reason}") from error
        return self._maps[location]


def _entries(tensor: TensorProto, what: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in tensor.external_data:
        if entry.key not in _KEYS or entry.key in found:
            raise Error("E0204", f"{what}: external data has an unknown or repeated key '{entry.key}'")
        found[entry.key] = entry.value
    if not found.get("location"):
        raise Error("E0204", f"{what}: external data names no file")
    if tensor.HasField("raw_data"):
        raise Error("E0203", f"{what} has its data twice, as raw_data and as external data")
    return found


def _number(entries: dict[str, str], key: str, default: int, what: str) -> int:
    text = entries.get(key)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise Error("E0204", f"{what}: the {key} of its external data is not a usable number: '{text[:40]}'")
    return int(text)


def _safe_parts(location: str, what: str) -> tuple[str, ...]:
    """Return the components of a relative path that stays beneath the folder.  Raises E0204."""
    path = PurePosixPath(location)
    bad = "\0" in location or "\\" in location or path.is_absolute() or ".." in path.parts or not path.parts
    if bad:
        raise Error("E0204", f"{what}: external data must lie in the model's folder, not at '{location[:200]}'")
    return path.parts

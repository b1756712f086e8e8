"""Weights as the exported program reads them: named tensors in a safetensors file, and what `prepare` makes of each."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.names import FreeNames
from ttc.dialects.core.records import record

BFLOAT16, BFLOAT8, FLOAT32, UINT32, INT32 = "bfloat16", "bfloat8_b", "float32", "uint32", "int32"
STORED = {BFLOAT16: ml_dtypes.bfloat16, BFLOAT8: ml_dtypes.bfloat16, FLOAT32: np.float32, UINT32: np.uint32}
"""How a safetensors file holds a format of the device: it has no blocks, which the device makes of 16 bits."""
HOST, DEVICE, KERNEL = "host", "device", "kernel"
"""Where `prepare` puts a weight: it stays a tensor of torch; on the device; in a tensor of TT-NN on the host, as convolutions take it."""
LONGEST = 56
"""The most characters of a weight's name in the file: lines of code hold it."""
TILES, ROW_MAJOR = "TILE_LAYOUT", "ROW_MAJOR_LAYOUT"


@record
class StoredWeight:
    """A weight of the file: its array, the device's format, its layout, where `prepare` puts it, and the dimension that chips divide."""

    array: NDArray
    format: str
    layout: str
    place: str
    rows: int | None = None

    @staticmethod
    def of(array: NDArray, format_: str, layout: str, place: str, rows: int | None = None) -> StoredWeight:
        """Make a weight of an array, which is stored as the file holds its format."""
        stored = array if place == HOST else array.astype(STORED[format_])
        return StoredWeight(np.ascontiguousarray(stored), format_, layout, place, rows)


@record(frozen=False)
class StoredWeights:
    """The weights that programs read, each stored once in each form.

    Args:
        stored: by name in the file.
        caches: shapes of variables that begin as zeros, which the file does not hold, and the dimension that chips divide.
        names: of the file.
    """

    stored: dict[str, StoredWeight]
    caches: dict[str, tuple[tuple[int, ...], int | None]]
    names: FreeNames
    _known: dict[tuple[str, ...], str]

    @staticmethod
    def empty() -> StoredWeights:
        """Return a collection without weights."""
        return StoredWeights({}, {}, FreeNames("."), {})

    def name_of(self, key: tuple[str, ...]) -> str | None:
        """Return the name of a weight in a form that was asked for before."""
        return self._known.get(key)

    def add(self, stem: str, key: tuple[str, ...], weight: StoredWeight) -> str:
        """Store a weight in a form; returns its name in the file."""
        name = self._name(stem)
        self.stored[name] = weight
        self._known[key] = name
        return name

    def add_cache(self, stem: str, key: tuple[str, ...], shape: tuple[int, ...], rows: int | None) -> str:
        """Keep a place for a variable of zeros; returns its name."""
        name = self._name(stem)
        self.caches[name] = shape, rows
        self._known[key] = name
        return name

    def _name(self, stem: str) -> str:
        return self.names.of(stem[-LONGEST:] or "constant", {**self.stored, **self.caches})

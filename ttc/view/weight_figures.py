"""Figures of the tensors that an archive holds: range, mean, spread, histogram."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttc.runtime.archive import Archive
from ttc.view.texts import clipped

BINS = 24
"""How many bars a histogram has."""
MAX_ELEMENTS = 1 << 20
"""The most elements of a tensor that are counted: of a larger one so many, evenly taken, which the figures then say."""


def weight_figures(archive: Archive) -> dict[str, dict[str, Any]]:
    """Return the figures of every tensor by key.  Raises E0703 for a tensor that cannot be read."""
    found: dict[str, dict[str, Any]] = {}
    for key, stored in archive.manifest.tensors.items():
        text = f"{'x'.join(map(str, stored.shape)) or 'scalar'} {stored.format}"
        found[clipped(key)] = {"type": clipped(text)} | figures_of(archive.tensor(key))
    return found


def figures_of(values: NDArray[Any]) -> dict[str, Any]:
    """Return minimum, maximum, mean, standard deviation and a histogram of an array; nothing for one without numbers."""
    if not values.size or values.dtype.kind == "O":
        return {}
    flat = values.reshape(-1)
    taken = flat[:: -(-flat.size // MAX_ELEMENTS)].astype(np.float64)
    finite = taken[np.isfinite(taken)]
    if not finite.size:
        return {"finite": 0}
    low, high = float(finite.min()), float(finite.max())
    counts, _ = np.histogram(finite, BINS, (low, high if high > low else low + 1))
    found: dict[str, Any] = {"min": low, "max": high, "mean": float(finite.mean()), "deviation": float(finite.std())}
    found["histogram"] = counts.tolist()
    if finite.size < taken.size:
        found["not_finite"] = int(taken.size - finite.size)
    if taken.size < flat.size:
        found["counted"] = int(taken.size)
    return found

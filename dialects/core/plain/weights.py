"""The weight store: values of constants and parameters, by key, outside the IR text.

Values are lazy: a weight of a model file stays in the file's mapping until it is read, and a derived one is computed when first asked
for and then kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import field
from math import prod

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.names import FreeNames
from ttc.dialects.core.records import record


@record(frozen=False)
class Weight:
    """One tensor of the model, whose value is loaded when it is needed.

    Args:
        shape: elements a dimension.
        dtype: of the source.
        load: gives the value; called at most once.
        derived: whether a pass computed it (its expression stands in the module as a function of the same name).
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    load: Callable[[], NDArray]
    derived: bool = False
    _value: NDArray | None = field(default=None, repr=False)

    @property
    def elements(self) -> int:
        """How many elements the tensor has."""
        return prod(self.shape)

    @property
    def size_bytes(self) -> int:
        """Bytes of the value in its source dtype."""
        return self.elements * self.dtype.itemsize

    @property
    def is_loaded(self) -> bool:
        """Whether the value was asked for, and is kept."""
        return self._value is not None

    def value(self) -> NDArray:
        """Return the value, of exactly this shape and dtype; read-only."""
        if self._value is None:
            value = self.load()
            if value.shape != self.shape or value.dtype != self.dtype:
                found = f"{value.dtype}{list(value.shape)}"
                raise Error("E0304", f"a weight is {found} where {self.dtype}{list(self.shape)} was announced")
            value.flags.writeable = False
            self._value = value
        return self._value

    def digest(self) -> str:
        """Return the SHA-256 of the value's bytes, in hexadecimal.  Raises E0901 for text."""
        if self.dtype.hasobject:
            raise Error("E0901", "the digest of text was asked for")
        loaded = self.is_loaded
        value = np.ascontiguousarray(self.value())
        found = hashlib.sha256(value.reshape(-1).view(np.uint8).data).hexdigest()
        if not loaded:
            self.release()
        return found

    def release(self) -> None:
        """Forget the value of a weight that can be loaded again."""
        if not self.derived:
            self._value = None


class WeightStore:
    """Weights by key.  Keys of a model's own weights are its names; derived keys are unique names made by `fresh`.

    Args:
        known: gives the value of a derived weight that an archive holds already, or None; it need not be computed again.
    """

    def __init__(self, known: Callable[[str, Weight], Callable[[], NDArray] | None] | None = None) -> None:
        self._weights: dict[str, Weight] = {}
        self._names = FreeNames(".")
        self._known = known

    def copy(self) -> WeightStore:
        """Return a store of the same weights, to which others can be added."""
        made = WeightStore(self._known)
        made._weights = dict(self._weights)
        return made

    def __contains__(self, key: str) -> bool:
        return key in self._weights

    def __iter__(self) -> Iterator[str]:
        return iter(self._weights)

    def __getitem__(self, key: str) -> Weight:
        found = self._weights.get(key)
        if found is None:
            hint = nearest(key, self._weights) or "give the archive or model that holds it with --weights"
            raise Error("E0304", f"there is no weight '{key}'", hint=hint)
        return found

    def add(self, key: str, weight: Weight) -> None:
        """Add a weight under its key.  Raises E0304 if the key is taken."""
        if key in self._weights:
            raise Error("E0304", f"weight '{key}' is defined twice")
        if weight.derived and self._known is not None:
            weight.load = self._known(key, weight) or weight.load
        self._weights[key] = weight

    def add_array(self, key: str, value: NDArray, *, derived: bool = False) -> None:
        """Add a value that is at hand."""
        self.add(key, Weight(value.shape, value.dtype, lambda: value, derived))

    def fresh(self, stem: str) -> str:
        """Return a key that is not taken: the stem, or the stem with a number."""
        return self._names.of(stem, self._weights)

"""The executor that has trained a module last, so that others of the same module see its weights."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, Protocol
from weakref import ReferenceType, WeakKeyDictionary, ref

from numpy.typing import NDArray


class Trained(Protocol):
    """An executor that changes weights."""

    version: int
    """A number that grows with every change of the executor's weights, and is larger than that of every change before it."""

    def weights(self) -> Mapping[str, NDArray[Any]]:
        """Return copies of parameters and states by name."""
        ...


_CLOCK = itertools.count(1)
_LAST: WeakKeyDictionary[Any, ReferenceType[Trained]] = WeakKeyDictionary()
"""The executor that has changed the weights of a module last, while both live."""


def has_changed(model: Any, executor: Trained) -> None:
    """Note that an executor has changed the weights of a module now; files are not noted."""
    executor.version = next(_CLOCK)
    if hasattr(model, "named_parameters"):
        _LAST[model] = ref(executor)


def newest(model: Any) -> Trained | None:
    """Return the executor that has changed the weights of a module last; None where there is none, or it is gone."""
    found = _LAST.get(model) if hasattr(model, "named_parameters") else None
    return None if found is None else found()

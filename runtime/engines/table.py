"""The engines there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ttc.dialects.core.errors import Error, nearest
from ttc.runtime.engines.base import Engine
from ttc.runtime.engines.reference import ReferenceEngine


def _reference(threads: int) -> Engine:
    """Its threads are those of numpy's BLAS, which take their number from the environment when numpy is loaded."""
    del threads
    return ReferenceEngine()


ENGINES: Mapping[str, Callable[[int], Engine]] = {"reference": _reference}


def engine_named(name: str, threads: int) -> Engine:
    """The engine of that name, using at most so many threads.  Raises E0803."""
    make = ENGINES.get(name)
    if make is None:
        raise Error("E0803", f"there is no engine '{name}'", hint=nearest(name, ENGINES))
    return make(threads)

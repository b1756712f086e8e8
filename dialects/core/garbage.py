"""Python's collector of cyclic garbage, which runs during a compilation where it is told to, and not by itself."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

_OPEN: list[None] = []
"""An item for each block that has begun and not ended."""


@contextmanager
def uncollected() -> Iterator[Callable[[], None]]:
    """Keep Python from searching for cyclic garbage inside the block, but where the block calls what it is given.

    By itself Python would walk all that was made, again and again, and most of it is still needed.  Between stages much is not: IR refers
    to itself, so that only a search frees it, and memory of one stage that is free serves the next.  A search walks what was made since
    the outermost block began, however much the process held before.  In a process that has set objects aside with `gc.freeze` of its own
    these stay so, and a search walks what was made since the one before it.
    """
    enabled, aside = gc.isenabled(), not _OPEN and not _has_frozen()
    _OPEN.append(None)
    gc.disable()
    if aside:
        gc.freeze()
    try:
        yield _collect
    finally:
        if aside:
            gc.unfreeze()
        _OPEN.pop()
        if enabled:
            gc.enable()


@cache
def _has_frozen() -> bool:
    """Return whether the process has set objects aside; asked once, as Python counts them one by one."""
    return gc.get_freeze_count() > 0


def _collect() -> None:
    """Search for garbage; while the collector is off, all that was made since the last search is in the first generation."""
    gc.collect(1 if _has_frozen() else 2)

"""Python's collector of cyclic garbage, which runs during a compilation where it is told to, and not by itself."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[Callable[[], None]]:
    """Keep Python from searching for cyclic garbage inside the block, but where the block calls what it is given.

    By itself Python would walk all that was made, again and again, and most of it is still needed.  Between stages much is not: IR refers
    to itself, so that only a search frees it, and memory of one stage that is free serves the next.  A search walks what was made since
    the block began, however much the process held before, unless the process has set objects aside with `gc.freeze` of its own.
    """
    enabled, outermost = gc.isenabled(), gc.get_freeze_count() == 0
    gc.disable()
    if outermost:
        gc.freeze()
    try:
        yield _collect
    finally:
        if outermost:
            gc.unfreeze()
        if enabled:
            gc.enable()


def _collect() -> None:
    gc.collect()

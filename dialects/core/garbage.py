"""Python's collector of cyclic garbage, held off where it would only cost time."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep Python from searching for cyclic garbage inside the block.

    It would walk all that was made, again and again, and what is made here lives on.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()

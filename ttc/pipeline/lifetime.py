"""Pipelines that are open when the interpreter exits are shut down before it ends."""

from __future__ import annotations

import atexit
from typing import Protocol
from weakref import WeakSet


class _Shuts(Protocol):
    def shutdown(self) -> None: ...


_OPEN: WeakSet[_Shuts] = WeakSet()


def shut_at_exit(pipeline: _Shuts) -> None:
    """Shut something down when the interpreter exits, unless it is gone by then."""
    _OPEN.add(pipeline)


@atexit.register
def _shut_all() -> None:
    for pipeline in list(_OPEN):
        pipeline.shutdown()

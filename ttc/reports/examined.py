"""What `ttc doctor` says of one thing that it has looked at."""

from __future__ import annotations

from typing import Literal, TypeAlias

from ttc.dialects.core.records import record

State: TypeAlias = Literal["ok", "warning", "error"]
OK: State = "ok"
WARNING: State = "warning"
ERROR: State = "error"
"""States: as it should be; works, but not as somebody may expect; ttc, or a part of it, does not work."""


@record
class Examined:
    """A thing that was looked at.

    Args:
        name: of the thing.
        detail: what is there.
        hint: what would help, or add something.
    """

    name: str
    state: State
    detail: str
    hint: str | None = None

"""What a name of a graph stands for at import."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from xdsl.ir import SSAValue


class Refused:
    """The value of a node that cannot be imported; what depends on it is passed over."""


@dataclass(frozen=True)
class Listed:
    """A sequence, whose length is known at import: its tensors in order."""

    items: tuple[SSAValue, ...]


REFUSED: Final = Refused()
Value: TypeAlias = "SSAValue | Listed | Refused | None"
"""None: an optional input that is absent, or an optional without an element."""

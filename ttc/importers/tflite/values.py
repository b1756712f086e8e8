"""What a tensor's index stands for at import."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import SSAValue

from ttc.importers.common.unsupported import Refused


@dataclass(frozen=True)
class Resource:
    """The variable of that name."""

    name: str


Value: TypeAlias = "SSAValue | Resource | Refused | None"
"""None: an optional operand that is absent."""

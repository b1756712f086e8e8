"""What a tensor's index stands for at import."""

from __future__ import annotations

from typing import TypeAlias

from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.records import record
from ttc.importers.common.complexes import Complex
from ttc.importers.common.unsupported import Refused


@record
class Resource:
    """The variable of that name."""

    name: str


Value: TypeAlias = "SSAValue | Complex | Resource | Refused | None"
"""None: an optional operand that is absent."""

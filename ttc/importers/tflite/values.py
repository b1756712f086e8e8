"""The values that a tensor's index stands for at import."""

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
"""A value of a graph at import.  None: an optional operand that is absent."""

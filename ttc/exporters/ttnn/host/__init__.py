"""What computes ops on the host, in calls of torch: integers, truth values, and what TT-NN has no kernel for."""

from collections.abc import Callable
from typing import TypeAlias

from ttc.dialects.core.rule_tables import RuleTable
from ttc.exporters.ttnn.op_text import Elsewhere, OpText

HostRule: TypeAlias = "Callable[[OpText], None]"
HOST_RULES: RuleTable[HostRule] = RuleTable("form in torch", __name__)
"""What writes an op as calls of torch, by mnemonic; it raises Elsewhere for one that it does not take."""


def require_arithmetic(step: OpText) -> None:
    """Raises Elsewhere for dtypes that torch holds and moves, but computes next to nothing with."""
    for value in [*step.present, *step.results]:
        if str(value.dtype) in ("uint16", "uint32", "uint64"):
            raise Elsewhere(f"torch does not compute with {value.dtype}")

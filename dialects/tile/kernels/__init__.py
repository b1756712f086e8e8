"""The reference semantics of tile ops as numpy functions, by family."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ttc.dialects.core.rule_tables import RuleTable

if TYPE_CHECKING:
    from ttc.dialects.core.plain.interpret import Kernel

KERNELS: RuleTable[Kernel] = RuleTable("numpy kernel", __name__)
KERNELS.refuse("its region is executed", "eltwise")
KERNELS.refuse("it ends a region", "yield")

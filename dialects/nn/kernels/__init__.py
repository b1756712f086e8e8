"""The reference semantics of nn ops as numpy functions, by family."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ttc.dialects.core.rule_tables import RuleTable

if TYPE_CHECKING:
    from ttc.dialects.core.plain.interpret import Kernel

KERNELS: RuleTable[Kernel] = RuleTable("numpy kernel", __name__)


def of_one(name: str, function: np.ufunc) -> None:
    """Register a function of numpy as the kernel of an op of one operand; called by itself it would write its result into a second one."""
    KERNELS.add(name, lambda x: function(x))


def of_two(name: str, function: np.ufunc) -> None:
    """Register a function of numpy as the kernel of an op of two operands."""
    KERNELS.add(name, lambda a, b: function(a, b))

"""The reference semantics of tile ops as numpy functions, by family."""

from __future__ import annotations

from ttc.dialects.core.plain.interpret import Kernel, kernel
from ttc.dialects.core.rule_tables import RuleTable
from ttc.dialects.tile.facts import find


class _Kernels(RuleTable[Kernel]):
    """Kernels of tile ops, where an op that means what the nn op of its name does has the kernel of that op."""

    def get(self, name: str) -> Kernel | None:
        stated = find(f"tile.{name}")
        return kernel(f"nn.{name}") if stated is not None and stated.as_nn else super().get(name)


KERNELS: RuleTable[Kernel] = _Kernels("numpy kernel", __name__)
KERNELS.refuse("its region is executed", "eltwise")
KERNELS.refuse("it ends a region", "yield")

"""The device's own arithmetic: registers, multiplier, destination register and packer, on top of the reference engine.

`registers` holds what the hardware does to numbers; `core` runs the work of one op with it; the other modules hold the rules of ops that
use the matrix engine, `(core, operands..., *, attrs...)`, by the stems of the dialect's files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ttc.dialects.core.rule_tables import RuleTable

if TYPE_CHECKING:
    from ttc.runtime.engines.exact.core import Rule

RULES: RuleTable[Rule] = RuleTable("exact rule", __name__)
"""How the device computes a tile op, by mnemonic; ops without a rule are computed by their numpy kernels from unpacked operands."""

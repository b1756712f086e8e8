"""How each op of dialect nn works on tensors that chips divide: rules in files of the dialect's stems.

A rule gives the dimension along which the chips divide each operand and each result, None where every chip has all of it.  Where
operands lie otherwise, `divide` moves them: constants are stored divided, others are gathered or cut.
"""

from collections.abc import Callable
from typing import TypeAlias

from ttc.dialects.core.rule_tables import RuleTable
from ttc.passes.nn.sharding.op import DividedOp, Division

ShardingRule: TypeAlias = "Callable[[DividedOp], Division | None]"
SHARDING: RuleTable[ShardingRule] = RuleTable("rule of sharding", __name__)
"""How an op is divided, by mnemonic; None where its operands' parts do not allow it. Ops that are refused are computed by every chip as a
whole.
"""

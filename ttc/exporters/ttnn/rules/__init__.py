"""What TT-NN has for each op of dialect nn: rules in files of the dialect's stems."""

from collections.abc import Callable
from typing import TypeAlias

from ttc.dialects.core.rule_tables import RuleTable
from ttc.exporters.ttnn.op_text import OpText

Rule: TypeAlias = "Callable[[OpText], None]"
RULES: RuleTable[Rule] = RuleTable("form in TT-NN", __name__)
"""What writes an op for TT-NN, by mnemonic; it raises Elsewhere, before it has written anything, for one that TT-NN does not take so."""

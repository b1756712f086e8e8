"""What StableHLO has for each op of dialect nn: rules in files of the dialect's stems."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ttc.dialects.core.rule_tables import RuleTable
from ttc.exporters.stablehlo.literals import HloValue
from ttc.exporters.stablehlo.writer import HloWriter

HloRule: TypeAlias = "Callable[[HloWriter], HloValue | Sequence[HloValue]]"
HLO_RULES: RuleTable[HloRule] = RuleTable("form in StableHLO", __name__)
"""What writes an op as text and returns its results, by mnemonic; it raises NoHloForm for an op that StableHLO has no such form of."""

"""What StableHLO has for each op of dialect nn: rules in files of the dialect's stems."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ttc.dialects.core.rule_tables import RuleTable
from ttc.exporters.stablehlo.literals import HloValue
from ttc.exporters.stablehlo.writer import HloWriter

HloRule: TypeAlias = "Callable[[HloWriter], HloValue | Sequence[HloValue]]"
HLO_RULES: RuleTable[HloRule] = RuleTable("form in StableHLO", __name__)
"""By mnemonic: writes the text of the op and returns its results, or raises NoHloForm for one that StableHLO has not like this."""

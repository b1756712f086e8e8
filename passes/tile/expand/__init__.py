"""Composite tile ops in the vocabulary of kernel set `buda`, by family."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ttc.dialects.core.rule_tables import RuleTable

if TYPE_CHECKING:
    from ttc.passes.tile.expand.expansion import Rule

EXPANSIONS: RuleTable[Rule] = RuleTable("expansion", __name__)
"""What expands a composite tile op, by its mnemonic."""

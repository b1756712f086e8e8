"""The tables of all families: types of the form to what builds their work, tile ops to what reads them."""

from __future__ import annotations

from ttc.dialects.core.rule_tables import RuleTable
from ttc.dialects.netlist.buda.work.building import Build
from ttc.dialects.netlist.buda.work.reading import Read

BUILDS: RuleTable[Build] = RuleTable("work of a Buda op", "ttc.dialects.netlist.buda.work")
"""What builds the work of an op, by the op's type in the form."""
BUILDS.refuse("it has no result", "drainer")

READS: RuleTable[Read] = RuleTable("Buda op of a work", "ttc.dialects.netlist.buda.work")
"""What reads a work, by the full name of the tile op that the work ends in before its relu, rounding and padding."""

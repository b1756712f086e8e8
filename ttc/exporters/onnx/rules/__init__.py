"""What ONNX has for each op of dialect nn: rules in files of the dialect's stems."""

from collections.abc import Callable
from typing import TypeAlias

from ttc.dialects.core.rule_tables import RuleTable
from ttc.exporters.onnx.writer import NodeWriter

NodeRule: TypeAlias = "Callable[[NodeWriter], None]"
NODE_RULES: RuleTable[NodeRule] = RuleTable("form in ONNX", __name__)
"""By mnemonic: writes the nodes of the op, or raises NoNode for one that ONNX has not like this."""

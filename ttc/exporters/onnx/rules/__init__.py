"""What ONNX has for each op of dialect nn: rules in files of the dialect's stems."""

from collections.abc import Callable
from typing import TypeAlias

from ttc.dialects.core.rule_tables import RuleTable
from ttc.exporters.onnx.writer import NodeWriter

NodeRule: TypeAlias = "Callable[[NodeWriter], None]"
NODE_RULES: RuleTable[NodeRule] = RuleTable("form in ONNX", __name__)
"""What writes the ONNX nodes of an op, by mnemonic; it raises NoNode for an op that ONNX has no such form of."""

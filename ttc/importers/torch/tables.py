"""The mappings by PyTorch's overload: the entries of `ROWS` in the `ops_*` modules.

A key is an overload's name: `aten.add.Tensor`, `prims.convert_element_type.default`, or for higher-order ops `higher_order.cond`.  The
row is a function of the builder and the op's arguments: positional ones in the schema's order, keyword-only ones by name, defaults filled
in, without those that change no value (IGNORED).  Tensors are nn values (or Python numbers where PyTorch wraps those), dtypes are numpy's,
lists are tuples, None stays None.  The result is an nn value or a tuple of them, with None for results that are not supported
(`b.outputs[i]` is empty where nothing reads result i).  Subgraphs of higher-order ops are functions of their operands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ttc.dialects.core.rule_tables import RuleTable

Row: TypeAlias = Callable[..., Any]
Rows: TypeAlias = Mapping[str, Row]
IGNORED = frozenset(("device", "layout", "pin_memory", "memory_format", "generator", "non_blocking"))
"""Keyword-only arguments that say where or how a tensor is stored."""

ROWS: RuleTable[Row] = RuleTable("row", "ttc.importers.torch", prefix="ops_", holds="ROWS")
"""The function of each overload that is mapped."""
rows = ROWS.rules

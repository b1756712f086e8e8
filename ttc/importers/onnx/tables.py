"""The mappings by ONNX op: functions in the `ops_*` modules, registered by their op and the opset from which they hold.

`@MAPPINGS.rule("Softmax-13")` stands over what maps Softmax from opset 13 on.  Its parameters are the inputs and attributes of the op's
schema, its result an nn value or a tuple of them.  Ops that are not of ONNX's own domain are named with theirs: `ai.onnx.ml.Scaler-1`.
Where the onnx package has no schema of an op (`is_signed`), the signature of its mapping is the schema: see `signatures`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeAlias

from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.rule_tables import RuleTable

Mapping: TypeAlias = Callable[..., "SSAValue | tuple[SSAValue, ...]"]
MAPPINGS: RuleTable[Mapping] = RuleTable("ONNX mapping", "ttc.importers.onnx", prefix="ops_")
SIGNED_DOMAINS = frozenset(["com.microsoft"])
"""Domains without schemas in the onnx package.  Models may use them without importing them, as in onnxruntime."""
_SIGNED_OPS = frozenset(["SimplifiedLayerNormalization"])
"""Ops that onnxruntime adds to ONNX's own domain."""


def is_signed(op: str, domain: str) -> bool:
    """Return whether the signature of an op's mapping is its schema."""
    return domain in SIGNED_DOMAINS or (not domain and op in _SIGNED_OPS)


@cache
def mappings(domain: str = "") -> dict[str, dict[int, Mapping]]:
    """Return all mappings of a domain: op type -> opset -> function."""
    found: dict[str, dict[int, Mapping]] = {}
    for name, apply in MAPPINGS.rules().items():
        place, _, row = name.rpartition(".")
        op, _, opset = row.partition("-")
        if place == domain:
            found.setdefault(op, {})[int(opset)] = apply
    return found


def mapping(op: str, opset: int, domain: str = "") -> Mapping | None:
    """Return the newest mapping of an op that holds at the opset of its domain."""
    rows = mappings(domain).get(op, {})
    newest = max((version for version in rows if version <= opset), default=None)
    return None if newest is None else rows[newest]

"""Small constants of a model that its archive keeps."""

from __future__ import annotations

from typing import ClassVar

from ttc.dialects.core.ir.attributes import WeightAttr
from ttc.dialects.core.ir.entries import module_attr, set_module_attr
from ttc.dialects.core.ir.leaves import ConstantOp
from ttc.dialects.core.records import record
from ttc.passes.base import Pass, Rewriter, Unit

LARGEST_BYTES = 16 << 10
TOTAL_BYTES = 48 << 10


@record
class KeepSources(Pass):
    """List the small constants of a model, which passes may read and fold away, so that its archive keeps them.

    Their names become the module's attribute ttc.sources.  With them an archive stands in for the model when compilation resumes from
    the end of stage import: everything else is in it, or derived by expressions whose values are.  At most 16 KB a constant and 48 KB
    in all, the smallest first.

    Before:
        (%x: tensor<32xi64>)
        %w = ttc.constant() {value = #ttc.weight<"w", tensor<32xi64>>} : () -> tensor<32xi64>
        %1 = nn.add(%x, %w) : (tensor<32xi64>, tensor<32xi64>) -> tensor<32xi64>
        return %1 : tensor<32xi64>
    After:
        (%x: tensor<32xi64>)
        %w = ttc.constant() {value = #ttc.weight<"w", tensor<32xi64>>} : () -> tensor<32xi64>
        %1 = nn.add(%x, %w) : (tensor<32xi64>, tensor<32xi64>) -> tensor<32xi64>
        return %1 : tensor<32xi64>
    Missed:
        constants beyond these sizes; compilation then resumes with the model itself.
    """

    name: ClassVar[str] = "keep-sources"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        if module_attr(unit.module, "sources") is not None:
            return
        found: dict[str, tuple[WeightAttr, ConstantOp]] = {}
        for op in unit.module.walk():
            if isinstance(op, ConstantOp) and isinstance(op.value, WeightAttr):
                found.setdefault(op.value.key.data, (op.value, op))
        room = TOTAL_BYTES
        kept: list[tuple[str, tuple[int, ...], str]] = []
        for key, (value, op) in sorted(found.items(), key=lambda item: (size_bytes(item[1][0]), item[0])):
            room -= size_bytes(value)
            if size_bytes(value) > LARGEST_BYTES or room < 0:
                break
            if rewriter.allow("keep-source", op):
                kept.append((key, value.spec.shape, str(value.spec.dtype)))
        if kept:
            set_module_attr(unit.module, "sources", tuple(kept))


def size_bytes(value: WeightAttr) -> int:
    """Return bytes of a weight in its source's dtype."""
    return value.spec.elements * value.spec.dtype.itemsize

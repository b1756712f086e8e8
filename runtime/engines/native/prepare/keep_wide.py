"""The step that holds values in bfloat16 in float32 between ops, where that is better."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ttc.runtime.engines.native.graph.nodes import Flat
from ttc.runtime.engines.native.prepare.rewriter import Allow, always

if TYPE_CHECKING:
    from ttc.runtime.engines.native.codegen.features import Cpu


def keep_wide(flat: Flat, cpu: Cpu, allow: Allow = always) -> None:
    """Hold bfloat16 between ops of precision `bfloat16` in float32, on a CPU that multiplies no narrower: nothing is converted.

    What a queue gets is rounded, and so are the results of ops of other precisions and formats.
    """
    if cpu.multiplies_pairs:
        return
    written = {value for value, _ in flat.writes}
    for node in flat.nodes:
        narrow = node.op.precision == "bfloat16" and all(type_.format == "Float16_b" for type_ in node.work.results)
        node.wide = narrow and written.isdisjoint(node.results) and allow("widen", node)

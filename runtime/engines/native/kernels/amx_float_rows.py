"""Dense rows of floats that a product in tiles of AMX brings into parts by itself, group by group (see `amx_parts`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.graph.storage import Storage
from ttc.runtime.engines.native.kernels.amx_pack import SplitRows
from ttc.runtime.engines.native.kernels.gemm_rows import DenseRows

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer
    from ttc.runtime.engines.native.kernels.words import Words


@dataclass(frozen=True)
class FloatRows(DenseRows):
    """Rows at a fixed stride, of dense channels of an element type (f32, bf16 or f16).

    Parts stay in the second-level cache this way.  Where several tasks meet the same rows, a job before them makes the parts once.
    """

    source: Storage

    def emit_parts(self, f: Writer, words: Words, base: Value, span: tuple[Value, Value], parts: int, rows: tuple[Value, Value]) -> None:
        """Write rows [first, first + count) of the left operand in so many parts.  rows: address of the first, bytes from row to row."""
        (first, count), (target, step) = span, rows
        kernel = SplitRows(self.source, 0, parts)
        with f.loop(0, count) as r:
            kernel.emit_row(f, words["depth"], f.at(base, (first + r) * words["a_row"], "i8"), f.at(target, r * step, "i8"))

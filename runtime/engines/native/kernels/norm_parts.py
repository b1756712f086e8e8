"""Normalizations of rows that are multiplied in tiles next: each row is brought into parts while it is near (see `amx_parts`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.kernels.amx_pack import SplitRows
from ttc.runtime.engines.native.kernels.norm import NormRows
from ttc.runtime.engines.native.kernels.words import Words

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer


@dataclass(frozen=True)
class NormParts(NormRows):
    """Normalizes a row a task, as `NormRows`, and writes it in parts, too, as `SplitRows`.

    parts: 2 or 3.  Words, further: `parts`, the address of the first row of parts, and `parts_row`, bytes from each to the next.
    """

    parts: int = 3

    @property
    def names(self) -> tuple[str, ...]:
        return (*super().names, "parts", "parts_row")

    def end_row(self, f: Writer, words: Words, bases: dict[str, Value], place: Value) -> None:
        target = f.at(words.pointer("parts"), place * words["parts_row"], "i8")
        SplitRows(self.target, 0, self.parts).emit_row(f, words["length"], bases["y"], target)

"""What kernels have in common that rewrite operands of products."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.graph.storage import Storage
from ttc.runtime.engines.native.kernels.kernel import JobKernel
from ttc.runtime.engines.native.kernels.words import Words, bases_at, batch_names

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer

TENSORS = ("source", "target")


@dataclass(frozen=True)
class RowKernel(JobKernel):
    """The base of kernels that rewrite rows of channels, which lie anywhere.

    Args:
        source: element type: f32, bf16 or f16.
        batch: dimensions that number the rows.

    A task: a row.  Words: `names`; strides in bytes.
    """

    source: Storage
    batch: int

    @property
    def names(self) -> tuple[str, ...]:
        return (*TENSORS, "depth", *batch_names(TENSORS, self.batch))

    def emit_job(self, f: Writer, words: Words) -> None:
        with f.loop(f.begin, f.end) as task:
            source, target = bases_at(f, words, TENSORS, self.batch, task)
            self.emit_row(f, words["depth"], source, target)

    @abstractmethod
    def written_bytes(self, depth: int) -> int:
        """Return the bytes written for a row of so many channels."""

    @abstractmethod
    def emit_row(self, f: Writer, depth: Value, source: Value, target: Value) -> None:
        """Rewrite one row of so many channels."""

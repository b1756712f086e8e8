"""Whether numbers of steps are in their range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.graph.storage import Storage
from ttc.runtime.engines.native.kernels.kernel import JobKernel
from ttc.runtime.engines.native.kernels.words import Words

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.writer import Writer


@dataclass(frozen=True)
class CheckLengths(JobKernel):
    """Sets the status if one of `count` integers, which lie one after the other, is not in [0, most].  One task."""

    source: Storage

    @property
    def names(self) -> tuple[str, ...]:
        return ("lengths", "count", "most", "status")

    def emit_job(self, f: Writer, words: Words) -> None:
        """Emit checks that lengths lie in range; see `JobKernel.emit_job`."""
        with f.loop(f.begin, f.end), f.loop(0, words["count"]) as i:
            length = f.converted(f.load(f.at(words.pointer("lengths"), i, self.source), self.source), "i64")
            with f.when((length < 0) | (length > words["most"])):
                f.store(f.constant(1, "i64"), words.pointer("status"))

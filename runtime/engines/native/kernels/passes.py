"""Several elementwise regions over the same elements in one job, piece by piece."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.kernels.eltwise import Eltwise
from ttc.runtime.engines.native.kernels.kernel import JobKernel
from ttc.runtime.engines.native.kernels.words import Words

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.writer import Writer


@dataclass(frozen=True)
class Passes(JobKernel):
    """Computes several elementwise regions, each over a piece of the elements before the next piece, which then is in the cache.

    Args:
        parts: in order; their tasks are the same places.

    Words: those of the parts, one after the other; the name of each has the number of its part in front.
    """

    parts: tuple[Eltwise, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{part_prefix(i)}{name}" for i, part in enumerate(self.parts) for name in part.names)

    def emit_job(self, f: Writer, words: Words) -> None:
        parts = [words.part(part_prefix(i)) for i in range(len(self.parts))]
        with f.loop(f.begin, f.end) as task:
            for part, own in zip(self.parts, parts, strict=True):
                part.emit_task(f, own, task)


def part_prefix(number: int) -> str:
    """Return what the names of a part's words begin with."""
    return f"part{number}_"

"""What a lowering makes of a node: jobs, each the work of one kernel in a run; or a refusal."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.graph.nodes import Node
from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.kernels.kernel import Kernel

if TYPE_CHECKING:
    from ttc.runtime.engines.native.kernels.words import Word


class NotTaken(Exception):
    """Raised for a node that a lowering does not take; the message says why, in few words."""


@dataclass(eq=False)
class Job:
    """A kernel's work in a run.

    Args:
        words: see `Word`.
        tasks: numbered from 0; each thread has a share of neighbours, which it takes in chunks; see `threads_code`.
        chunk: tasks that a thread takes at a time; 0: chosen by their number.
        written: views that it writes; all other views among the words are read.
        scratch: bytes of memory that a thread needs.
        flops, moved_bytes: what it does, for reports.
    """

    kernel: Kernel
    words: tuple[Word, ...]
    tasks: int
    written: tuple[View, ...]
    node: Node
    chunk: int = 0
    scratch: int = 0
    flops: int = 0
    moved_bytes: int = 0
    depends: tuple[View, ...] = field(default=(), repr=False)

    @property
    def read(self) -> list[View]:
        """The views that the job reads."""
        written = {id(view.buffer) for view in self.written}
        return [w for w in (*self.words, *self.depends) if isinstance(w, View) and id(w.buffer) not in written]

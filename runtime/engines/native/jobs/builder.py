"""The jobs of one node in order, and memory for what they hand on to each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.graph.nodes import Node
from ttc.runtime.engines.native.graph.storage import STORAGE_BYTES, Storage
from ttc.runtime.engines.native.graph.tensors import STATUS, PlanBuffer, View, dense
from ttc.runtime.engines.native.jobs.job import Job, NotTaken
from ttc.runtime.engines.native.kernels.kernel import JobKernel
from ttc.runtime.engines.native.kernels.words import Word, words_of

if TYPE_CHECKING:
    from ttc.runtime.engines.native.codegen.features import Cpu


class JobBuilder:
    """Collects the jobs that compute one node.

    Args:
        node: the op.
        cpu: what kernels may use.

    Its `jobs` are those collected so far, in the order in which they run.
    """

    def __init__(self, node: Node, cpu: Cpu) -> None:
        self.node = node
        self.cpu = cpu
        self.jobs: list[Job] = []

    def temp(self, shape: Sequence[int], storage: Storage) -> View:
        """Return row-major memory that lives as long as jobs name it."""
        count = 1
        for size in shape:
            count *= size
        return dense(PlanBuffer(count * STORAGE_BYTES[storage]), storage, shape)

    @property
    def status(self) -> View:
        """Return an i64 that kernels set to another value than 0 where data is out of range: the run then ends as one of the reference
        engine.
        """
        return STATUS

    # ---- work --------------------------------------------------------------------------------------------------------------------------

    def job(
        self,
        kernel: JobKernel,
        words: Mapping[str, Word],
        *,
        tasks: int,
        written: Sequence[View],
        chunk: int = 0,
        scratch: int = 0,
        flops: int = 0,
        moved_bytes: int = 0,
        depends: Sequence[View] = (),
    ) -> None:
        """Add a job after those there are.  words: by the kernel's names.  depends: views that it reads beside those among the words.

        What is made of constants alone is made once, when the plan is, and is a constant itself: weights are packed so.
        """
        if tasks <= 0:
            return
        if not all(view.is_inside for view in (*words.values(), *written, *depends) if isinstance(view, View)):
            raise NotTaken("a view outside its memory")
        given = words_of(kernel.names, words)
        self.jobs.append(Job(kernel, given, tasks, tuple(written), self.node, chunk, scratch, flops, moved_bytes, tuple(depends)))

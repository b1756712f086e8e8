"""Which results a run may write over the entries that they replace, and the order of steps in which most results can be.

A result is written straight into memory that the caller names if no step can fail once it is begun, and if what lies there, should it be an
entry, is not needed any more: steps have read it before, or read an element just where they write one, as an elementwise kernel does.  A
job that copies elements of the entry to where they lie is then left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ttc.dialects.core.records import record
from ttc.runtime.engines.native.graph.storage import array_dtype
from ttc.runtime.engines.native.graph.tensors import STATUS, PlanBuffer, View
from ttc.runtime.engines.native.kernels.eltwise import Eltwise
from ttc.runtime.engines.native.kernels.gemm import Gemm
from ttc.runtime.engines.native.kernels.movement import Movement
from ttc.runtime.engines.native.kernels.packing_gemm import PackingGemm
from ttc.runtime.engines.native.planning.prepared import InPlace, Written
from ttc.runtime.engines.native.planning.python_step import PythonStep
from ttc.runtime.engines.native.planning.step_order import Wish, in_order
from ttc.runtime.engines.native.planning.steps import Step, buffers_of, can_fail

if TYPE_CHECKING:
    from ttc.runtime.engines.native.jobs.job import Job

_MOST_PIECES = 64
"""The most pieces of a result that jobs write one by one: each is compared with all others."""


@record
class StepUse:
    """One step: buffers that it reads, those that decide whether it runs among them, and that it writes."""

    step: Step
    reads: tuple[PlanBuffer, ...]
    writes: tuple[PlanBuffer, ...]
    conditional: bool


@dataclass
class _Access:
    """Numbers of the steps that read and write a buffer of the caller."""

    reads: list[int] = field(default_factory=list)
    writes: list[int] = field(default_factory=list)


def use_of(step: Step, truths: Sequence[View]) -> StepUse:
    """Return what a step uses.  truths: the values that decide whether it runs."""
    reads, writes = buffers_of(step)
    conditions = (view.buffer for view in truths)
    return StepUse(step, tuple(dict.fromkeys((*reads, *conditions))), tuple(dict.fromkeys(writes)), bool(truths))


def may_be_in_place(written: Sequence[Written], bound: Mapping[str, View | None]) -> bool:
    """Return whether a plan may write results in place: not if Python holds values, or converts results, for which memory may not
    suffice.
    """
    views = [item.view for item in written]
    converted = any(
        view is not None and (array_dtype(view.storage) != i.dtype or view.storage == "bf16")
        for view, i in zip(views, written, strict=True)
    )
    return not converted and None not in views and None not in bound.values()


def reordered(
    uses: Sequence[StepUse], written: Sequence[Written], bound: Mapping[str, View | None], pairs: Mapping[str, str]
) -> list[StepUse]:
    """Return the steps in an order in which results can be written over entries, as far as possible; unchanged if all can be already.

    Args:    pairs: by the queue of a result, the queue of the entry that it replaces.
    """
    places, wishes = InPlaces(uses, written, bound), list[Wish]()
    for item in written:
        entry = bound.get(pairs.get(item.queue, ""))
        if item.in_place and item.view is not None and entry is not None:
            wishes.extend(places.wish(item.view.buffer, entry.buffer))
    if all(wish.first > places.last_failure and max(wish.readers, default=-1) < wish.first for wish in wishes):
        return list(uses)
    fails = [number for number, use in enumerate(uses) if can_fail(use.step)]
    return [uses[number] for number in in_order(uses, wishes, fails)]


def overlaid(uses: Sequence[StepUse], lifetimes: Mapping[PlanBuffer, tuple[int, int]]) -> dict[PlanBuffer, PlanBuffer]:
    """Return buffers that may have the place of another, by buffer: their first step computes them element by element, from one that no
    later step needs.

    Args:    lifetimes: first and last step that uses each buffer that may share a place.
    """
    places, found = InPlaces(uses, (), {}), dict[PlanBuffer, PlanBuffer]()
    taken: set[PlanBuffer] = set()
    for number, use in enumerate(uses):
        if use.conditional or isinstance(use.step, PythonStep):
            continue
        for result in (buffer for buffer in use.writes if lifetimes.get(buffer, (-1, -1))[0] == number):
            dying = (buffer for buffer in use.reads if lifetimes.get(buffer, (-1, -1))[1] == number and buffer not in taken)
            entry = next((x for x in dying if x.size_bytes == result.size_bytes and places.computes_over(number, result, x)), None)
            if entry is not None:
                found[result] = entry
                taken.add(entry)
    return found


class InPlaces:
    """What is known of results that are written in place.

    Args:
        uses: the steps in their order.
        bound: entries by queue; None for those that Python holds.
    """

    def __init__(self, uses: Sequence[StepUse], written: Sequence[Written], bound: Mapping[str, View | None]) -> None:
        self._uses = uses
        self._written = written
        self._bound = bound
        self._accesses: dict[PlanBuffer, _Access] = {}
        for number, use in enumerate(uses):
            for buffer in use.reads:
                self._access(buffer).reads.append(number)
            for buffer in use.writes:
                self._access(buffer).writes.append(number)
        for item in written:
            if item.view is not None and not item.in_place:
                self._access(item.view.buffer).reads.append(len(uses))
        self.last_failure = max((number for number, use in enumerate(uses) if can_fail(use.step)), default=-1)

    @property
    def begin(self) -> int:
        """The number of the step from which on results may be written in place: it and all that follow are run at one go."""
        conditional = max((number for number, use in enumerate(self._uses) if use.conditional), default=-1)
        return max(self.last_failure, conditional) + 1

    def found(self) -> dict[str, InPlace]:
        """The results that may be written in place, by queue."""
        begin, queues = self.begin, {view.buffer: queue for queue, view in self._bound.items() if view is not None}
        jobs = self._job_numbers()
        found: dict[str, InPlace] = {}
        for item in self._written:
            writes = [] if item.view is None or not item.in_place else self._access(item.view.buffer).writes
            if item.view is None or not writes or writes[0] < begin:
                continue
            over = {
                queues[entry]: copies for entry in self._candidates(writes, queues) if (copies := self._over(item.view, entry)) is not None
            }
            numbered = {queue: tuple(jobs[number] for number in copies) for queue, copies in over.items()}
            found[item.queue] = InPlace(writes[0], numbered)
        return found

    def last_reads(self) -> dict[str, int]:
        """The last step that reads its entry, by queue."""
        return {queue: max(self._access(view.buffer).reads, default=-1) for queue, view in self._bound.items() if view is not None}

    def wish(self, result: PlanBuffer, entry: PlanBuffer) -> Iterator[Wish]:
        """Yield the wish that a result be begun only when nothing reads an entry any more, except where the result writes it."""
        writes = self._access(result).writes
        if writes:
            beside = {number for number in writes if self._same_place(number, result, entry) is not None}
            yield Wish(
                writes[0], tuple(number for number in self._access(entry).reads if number not in beside and number < len(self._uses))
            )

    def _access(self, buffer: PlanBuffer) -> _Access:
        return self._accesses.setdefault(buffer, _Access())

    def _job_numbers(self) -> list[int]:
        """Return how many jobs there are before each step."""
        counts = [0]
        for use in self._uses:
            counts.append(counts[-1] + (not isinstance(use.step, PythonStep)))
        return counts

    def _candidates(self, writes: Sequence[int], queues: Mapping[PlanBuffer, str]) -> dict[PlanBuffer, None]:
        """Entries that the steps read which write a result."""
        return dict.fromkeys(buffer for number in writes for buffer in self._uses[number].reads if buffer in queues)

    def _over(self, result: View, entry: PlanBuffer) -> tuple[int, ...] | None:
        """Return the steps that copy an entry to the same places of a result; None if the result may not lie over the entry."""
        writes = self._access(result.buffer).writes
        late = [number for number in self._access(entry).reads if number >= writes[0]]
        if result.buffer.size_bytes != entry.size_bytes or not set(late) <= set(writes) or not self._pieces_apart(writes, late):
            return None
        kinds = {number: self._same_place(number, result.buffer, entry) for number in late}
        return None if None in kinds.values() else tuple(number for number, kind in kinds.items() if kind == "copy")

    def _pieces_apart(self, writes: Sequence[int], late: Sequence[int]) -> bool:
        """Return whether steps that read an entry where they write find it there: no step before them has written to that place."""
        if late == [writes[0]]:
            return True
        if len(writes) > _MOST_PIECES:
            return False
        before = [(other, number) for number in late for other in writes if other < number]
        return all(_apart(a, b) for other, number in before for a in self._targets(other) for b in self._targets(number))

    def _targets(self, number: int) -> Sequence[View]:
        step = self._uses[number].step
        return [] if isinstance(step, PythonStep) else [view for view in step.written if view.buffer is not STATUS.buffer]

    def computes_over(self, number: int, result: PlanBuffer, entry: PlanBuffer) -> bool:
        """Return whether a step reads each element of an entry but to compute the same one of a result."""
        return self._same_place(number, result, entry) == "compute"

    def _same_place(self, number: int, result: PlanBuffer, entry: PlanBuffer) -> str | None:
        """`copy` or `compute` for a job that reads each element of an entry but to write the same one of a result; None for others."""
        step = self._uses[number].step
        if isinstance(step, PythonStep) or entry in self._uses[number].writes:
            return None
        targets, sources = self._targets(number), [view for view in step.read if view.buffer is entry]
        if len(targets) != 1 or targets[0].buffer is not result or not all(_lies_like(view, targets[0]) for view in sources):
            return None
        if isinstance(step.kernel, Movement) and step.kernel.raw:
            return "copy"
        return "compute" if _is_elementwise(step, sources) else None


def _is_elementwise(job: Job, sources: Sequence[View]) -> bool:
    """Return whether a job reads an element of these views just before it writes the one of its result, and at no other time.

    Matrix products hold sums in registers and scratch memory; what is added to them is read when they are done.
    """
    if isinstance(job.kernel, Gemm) and type(job.kernel) in (Gemm, PackingGemm):
        factors = [word for name, word in zip(job.kernel.names, job.words, strict=True) if name in ("a", "b")]
        return not any(view is factor for view in sources for factor in factors)
    return isinstance(job.kernel, Eltwise)


def _lies_like(source: View, target: View) -> bool:
    """Return whether elements lie in one buffer where the same elements lie in the other."""
    return (source.shape, source.item_bytes, source.offset, source.merged()) == (
        target.shape,
        target.item_bytes,
        target.offset,
        target.merged(),
    )


def _apart(a: View, b: View) -> bool:
    """Return whether two views of a buffer are known to have no element in common: runs one after the other, or of other columns."""
    (first, last), (start, end) = sorted((_extent(a), _extent(b)))
    if last < start:
        return True
    rows, others = a.merged(), b.merged()
    if (
        len(rows) != 2
        or len(others) != 2
        or rows[0][1] != others[0][1]
        or a.item_bytes != b.item_bytes
        or {rows[1][1], others[1][1]} != {1}
    ):
        return False
    pitch = rows[0][1]
    spans = sorted((view.offset % pitch, view.offset % pitch + columns) for view, (_, (columns, _)) in ((a, rows), (b, others)))
    return spans[0][1] <= spans[1][0] and spans[1][1] <= pitch


def _extent(view: View) -> tuple[int, int]:
    """Return the first and the last byte of a view."""
    steps = [(size - 1) * stride for size, stride in zip(view.shape, view.strides, strict=True)]
    low, high = sum(min(step, 0) for step in steps), sum(max(step, 0) for step in steps)
    return (view.offset + low) * view.item_bytes, (view.offset + high + 1) * view.item_bytes - 1

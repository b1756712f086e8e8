"""The step that makes elementwise jobs which follow each other over the same elements one job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from ttc.runtime.engines.native.graph.tensors import PlanBuffer, View
from ttc.runtime.engines.native.jobs.job import Job
from ttc.runtime.engines.native.kernels.eltwise import SHARES, Eltwise
from ttc.runtime.engines.native.kernels.passes import Passes, part_prefix
from ttc.runtime.engines.native.kernels.words import Word, words_of
from ttc.runtime.engines.native.planning.in_place import use_of
from ttc.runtime.engines.native.planning.prepared import InPlace
from ttc.runtime.engines.native.planning.steps import Step
from ttc.runtime.engines.native.prepare.draft import Draft
from ttc.runtime.engines.native.prepare.lay_out import replaced
from ttc.runtime.engines.native.prepare.rewriter import Allow, always

MOST_PARTS = 6
"""The most jobs that become one: their pieces stay in the second-level cache, and their code is compiled once for each such row of jobs."""


def join_passes(draft: Draft, allow: Allow = always) -> None:
    """Join elementwise jobs in the steps of a draft, and number anew what is said of steps by number.

    Jobs are joined that read or write a tensor in common, if none of them needs another element of what the others write than the one in
    its place, not even where a result lies over the entry that it replaces.
    """
    groups = _groups(draft, _Places(draft), allow)
    if len(groups) == len(draft.steps):
        return
    numbers = [*(number for number, group in enumerate(groups) for _ in group), len(groups)]
    jobs = _job_numbers(draft.steps, numbers)
    uses = {id(use.step): use for use in draft.uses}
    draft.steps = [_joined(group) for group in groups]
    draft.uses = [uses.get(id(step)) or use_of(step, ()) for step in draft.steps]
    draft.in_place = {
        queue: InPlace(numbers[place.first], {entry: tuple(jobs[job] for job in copies) for entry, copies in place.over.items()})
        for queue, place in draft.in_place.items()
    }
    draft.last_reads = {queue: number if number < 0 else numbers[number] for queue, number in draft.last_reads.items()}
    draft.begin = numbers[draft.begin]


@dataclass(frozen=True)
class _Pass:
    """An elementwise job.

    Args:
        words: by name.
        memory: of the result, then of each operand.
    """

    job: Job
    kernel: Eltwise
    words: Mapping[str, Word]
    memory: tuple[PlanBuffer, ...]

    @cached_property
    def loop(self) -> tuple[int, ...]:
        """Return the sizes that it goes over: rows, columns, leading dimensions."""
        return tuple(_number(self.words[name]) for name in ("rows", "columns", *(f"size_batch{i}" for i in range(self.kernel.lead))))

    @cached_property
    def accesses(self) -> tuple[tuple[PlanBuffer, tuple[int, ...]], ...]:
        """Return, for the result, then each operand: the memory, and how its elements lie in the loop."""
        found: list[tuple[PlanBuffer, tuple[int, ...]]] = []
        for name, spread, memory in zip(self.kernel.tensors, (False, *self.kernel.spread), self.memory, strict=True):
            view, steps = self.words[name], (f"{name}_row", *(f"{name}_batch{i}" for i in range(self.kernel.lead)))
            assert isinstance(view, View)
            found.append((memory, (view.offset * view.item_bytes, view.item_bytes, spread, *(_number(self.words[step]) for step in steps))))
        return tuple(found)

    def over(self, loop: tuple[int, ...]) -> _Pass | None:
        """Return the same job over a loop; None if it is over another one, and not over one row of as many elements."""
        if self.loop == loop:
            return self
        rows, columns, *lead = loop
        if lead or self.kernel.lead or self.loop != (1, rows * columns):
            return None
        words = {**self.words, "rows": rows, "columns": columns}
        for name, spread in zip(self.kernel.tensors, (False, *self.kernel.spread), strict=True):
            view = words[name]
            assert isinstance(view, View)
            words[f"{name}_row"] = 0 if spread else columns * view.item_bytes
        return replace(self, words=words)

    @property
    def is_cut(self) -> bool:
        """Return whether the words tell how this very loop is cut into tasks."""
        return self.words["rows"] == self.job.words[self.kernel.names.index("rows")]

    def clashes(self, later: _Pass) -> bool:
        """Return whether piece by piece it and a later job would not do what they do one after the other."""
        (result, place), (other, target) = self.accesses[0], later.accesses[0]
        before = any(buffer is result and lies != place for buffer, lies in later.accesses)
        return before or any(buffer is other and lies != target for buffer, lies in self.accesses)

    def shares(self, other: _Pass) -> bool:
        """Return whether both go over a tensor in common."""
        return not set(self.memory).isdisjoint(other.memory)


def _number(word: Word) -> int:
    """Return a word that is an integer."""
    assert isinstance(word, int)
    return word


@dataclass
class _Places:
    """Memory of buffers: a result that may lie over an entry is in the same as that."""

    draft: Draft
    same: dict[PlanBuffer, PlanBuffer] = field(default_factory=dict)

    def __post_init__(self) -> None:
        views = {item.queue: item.view for item in self.draft.written}
        for queue, place in self.draft.in_place.items():
            own = [views[queue], *(self.draft.bound[entry] for entry in place.over)]
            found = [self.of(view.buffer) for view in own if view is not None]
            self.same |= {buffer: found[0] for buffer in found if buffer is not found[0]}

    def of(self, buffer: PlanBuffer) -> PlanBuffer:
        """Return one buffer for all that may lie in the same memory."""
        while buffer in self.same:
            buffer = self.same[buffer]
        return buffer

    def pass_of(self, step: Step) -> _Pass | None:
        """Return the step as an elementwise job; None for others."""
        if not isinstance(step, Job) or not isinstance(step.kernel, Eltwise) or step.node.conditions:
            return None
        kernel = step.kernel
        words = dict(zip(kernel.names, step.words, strict=True))
        views = [words[name] for name in kernel.tensors]
        return _Pass(step, kernel, words, tuple(self.of(view.buffer) for view in views if isinstance(view, View)))


def _groups(draft: Draft, places: _Places, allow: Allow) -> list[list[Step | _Pass]]:
    """Return the steps in order; elementwise jobs that are joined, as a group."""
    found: list[list[Step | _Pass]] = []
    needed = _last_reads_of_replaced(draft)
    for number, step in enumerate(draft.steps):
        own = places.pass_of(step)
        last = [part for part in found[-1] if isinstance(part, _Pass)] if found else []
        is_apart = number == draft.begin or needed.get(number, -1) >= number - len(last)
        longer = None if own is None or is_apart else _longer(last, own)
        if own is not None and longer is not None and allow("join", own.job.node):
            found[-1] = [*longer]
        else:
            found.append([step if own is None else own])
    return found


def _last_reads_of_replaced(draft: Draft) -> dict[int, int]:
    """By number of the step that begins a result: the last step that reads the entry which it replaces, and may not write over before."""
    found: dict[int, int] = {}
    pairs = replaced(draft.netlist, draft.variables, draft.written)
    for queue, place in draft.in_place.items():
        entry = pairs.get(queue)
        if entry is not None and entry not in place.over:
            found[place.first] = max(draft.last_reads.get(entry, -1), found.get(place.first, -1))
    return found


def _longer(group: Sequence[_Pass], own: _Pass) -> list[_Pass] | None:
    """The group with a job at its end, all over one loop; None if they cannot be one."""
    if not 0 < len(group) < MOST_PARTS or not any(part.shares(own) for part in group):
        return None
    loop = max(group[0].loop, own.loop)  # that of more rows
    parts = [alike for part in (*group, own) if (alike := part.over(loop)) is not None]
    if len(parts) <= len(group) or any(part.clashes(parts[-1]) for part in parts[:-1]):
        return None
    return parts


def _joined(group: Sequence[Step | _Pass]) -> Step:
    """Return one step in the place of a group."""
    parts = [part for part in group if isinstance(part, _Pass)]
    if len(group) == 1:
        return parts[0].job if parts else group[0]  # pyright: ignore[reportReturnType]: what is no pass is a step
    finest = max((part for part in parts if part.is_cut), key=lambda part: part.job.tasks)
    kernel = Passes(tuple(part.kernel for part in parts))
    shares = {name: finest.words[name] for name in SHARES}
    words = {f"{part_prefix(i)}{name}": word for i, part in enumerate(parts) for name, word in {**part.words, **shares}.items()}
    node, *others = (part.job.node for part in parts)
    views = {(view.buffer, view.offset, view.shape, view.strides): view for view in words.values() if isinstance(view, View)}
    return Job(
        kernel,
        words_of(kernel.names, words),
        finest.job.tasks,
        tuple(view for part in parts for view in part.job.written),
        replace(node, parts=tuple(part for each in (node, *others) for part in (each.parts or (each,)))),
        finest.job.chunk,
        flops=sum(part.job.flops for part in parts),
        moved_bytes=sum(view.distinct_bytes for view in views.values()),
    )


def _job_numbers(steps: Sequence[Step], numbers: Sequence[int]) -> dict[int, int]:
    """New numbers of jobs by their old ones.  numbers: new numbers of all steps, and of the end."""
    found: dict[int, int] = {}
    before, last = -1, -1
    for step, number in zip(steps, numbers, strict=False):
        if isinstance(step, Job):
            before += number != last
            found[len(found)] = before
        last = number
    return found

"""The step that lets normalizations write their rows in parts, where products in tiles read them so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, replace

from ttc.runtime.engines.native.graph.tensors import Place, PlanBuffer, View
from ttc.runtime.engines.native.jobs.job import Job
from ttc.runtime.engines.native.kernels.amx_pack import SplitRows, row_bytes
from ttc.runtime.engines.native.kernels.norm import NormRows
from ttc.runtime.engines.native.kernels.norm_parts import NormParts
from ttc.runtime.engines.native.kernels.words import Word, words_of
from ttc.runtime.engines.native.planning.steps import Step, buffers_of
from ttc.runtime.engines.native.prepare.rewriter import Allow, always


def with_parts_inside(steps: Sequence[Step], allow: Allow = always) -> list[Step]:
    """Return the steps of a run in which normalizations write parts, without the jobs that did."""
    writers = Counter(buffer for step in steps for buffer in dict.fromkeys(buffers_of(step)[1]))
    norms: dict[PlanBuffer, int] = {}
    found: list[Step] = []
    for step in steps:
        place = _place(step, norms, writers) if isinstance(step, Job) else None
        norm = None if place is None else found[place]
        joined = _joined(norm, step) if isinstance(norm, Job) and isinstance(step, Job) else None
        if place is not None and joined is not None and allow("parts-inside", joined.node):
            found[place] = joined
            continue
        if isinstance(step, Job) and type(step.kernel) is NormRows:
            norms[step.written[0].buffer] = len(found)
        found.append(step)
    return found


def _place(job: Job, norms: dict[PlanBuffer, int], writers: Counter[PlanBuffer]) -> int | None:
    """Return the place of the normalization whose rows a job brings into parts, if nothing else writes either."""
    if not isinstance(job.kernel, SplitRows):
        return None
    (target,), sources = job.written, [view.buffer for view in job.read]
    alone = target.buffer.place is Place.ARENA and all(writers[buffer] == 1 for buffer in (target.buffer, *sources))
    return norms.get(sources[0]) if alone and len(sources) == 1 else None


def _joined(norm: Job, split: Job) -> Job | None:
    """Return one job for both; None unless the rows of one are those of the other, one after the other."""
    kernel, parts = norm.kernel, split.kernel
    if type(kernel) is not NormRows or not isinstance(parts, SplitRows) or norm.node.conditions != split.node.conditions:
        return None
    words: dict[str, Word] = dict(zip(kernel.names, norm.words, strict=True))
    given: dict[str, Word] = dict(zip(parts.names, split.words, strict=True))
    y, source, target = words["y"], given["source"], given["target"]
    if not (isinstance(y, View) and isinstance(source, View) and isinstance(target, View)):
        return None
    same = source.storage == y.storage and (source.offset, source.elements) == (y.offset, y.elements) and source.is_dense and y.is_dense
    if not same or given["depth"] != words["length"] or split.tasks != norm.tasks or not target.is_dense:
        return None
    length = words["length"]
    if not isinstance(length, int):
        return None
    own = {item.name: getattr(kernel, item.name) for item in fields(kernel)}
    made = NormParts(**own, parts=parts.parts)
    words |= {"parts": target, "parts_row": row_bytes(length, parts.parts)}
    moved = norm.moved_bytes + target.elements * target.item_bytes
    return replace(norm, kernel=made, words=words_of(made.names, words), written=(*norm.written, *split.written), moved_bytes=moved)

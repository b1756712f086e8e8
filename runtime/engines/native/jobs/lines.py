"""How lowerings find lines in strided tensors: dimensions ordered and joined, for kernels along rows or over columns."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from ttc.dialects.core.records import record
from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.jobs.job import NotTaken
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.jobs.products import dims_of
from ttc.runtime.engines.native.kernels.lines import LineKernel
from ttc.runtime.engines.native.kernels.words import batch_words

if TYPE_CHECKING:
    from ttc.runtime.engines.native.kernels.words import Word

TASK_BYTES = 32 << 10
"""About how many bytes a task over lines reads and writes: they stay in the first- or second-level cache, and take microseconds."""


@record
class LineAxis:
    """A dimension of several tensors: its size, and the stride of each in bytes."""

    size: int
    strides: tuple[int, ...]


def axes_of(shape: Sequence[int], views: Sequence[View], only: Sequence[int]) -> list[LineAxis]:
    """Return some dimensions, in order, neighbours joined where all tensors walk both in one stride; none of size 1."""
    return [LineAxis(size, tuple(strides)) for size, *strides in dims_of(shape, views, only)]


def lead_words(axes: Sequence[LineAxis], tensors: Sequence[str]) -> dict[str, Word]:
    """Return the words of leading dimensions, as of a batch."""
    return batch_words(tensors, [(axis.size, *axis.strides) for axis in axes])


def fold_words(axes: Sequence[LineAxis]) -> dict[str, Word]:
    """Return the words that `kernels.lines.fold_names` names, of the first tensor's strides."""
    words = {}
    for i, axis in enumerate(axes):
        words |= {f"size_fold{i}": axis.size, f"step_fold{i}": axis.strides[0]}
    return words


def chunk_of(bytes_of_task: int) -> int:
    """Return how many tasks a thread takes at a time."""
    return max(TASK_BYTES // max(bytes_of_task, 1), 1)


@record
class Lines:
    """Lines along one axis of two tensors.

    Args:
        lead: dimensions of the places where lines, or rows of neighbouring lines, begin.
        length: elements of a line.
        steps: from one to the next, in bytes, of each tensor.
        columns: neighbouring lines that are dense in memory; 0: lines are dense themselves.
    """

    lead: tuple[LineAxis, ...]
    length: int
    steps: tuple[int, ...]
    columns: int


def along(n: Lowering, x: View, y: View, axis: int) -> tuple[View, Lines]:
    """Return lines of x, copied if it lies in another way than dense, and of the dense y of its shape (its stride along the axis may be
    0).
    """
    lead = axes_of(x.shape, (x, y), range(axis))
    inner = axes_of(x.shape, (x, y), range(axis + 1, len(x.shape)))
    steps = (x.strides[axis] * x.item_bytes, y.strides[axis] * y.item_bytes)
    if not inner and (steps[0] == x.item_bytes or x.shape[axis] == 1):
        return x, Lines(tuple(lead), x.shape[axis], steps, 0)
    if inner and inner[-1].strides == (x.item_bytes, y.item_bytes):
        return x, Lines((*lead, *inner[:-1]), x.shape[axis], steps, inner[-1].size)
    if x.is_dense:
        raise NotTaken("no dense dimension")
    return along(n, n.densified(x), y, axis)


def submit_lines(n: Lowering, kernel: LineKernel, lines: Lines, tensors: tuple[View, View], flops: int, scratch: int = 0) -> None:
    """Add the job of a kernel over lines."""
    x, y = tensors
    columns = max(lines.columns, 1)
    line_bytes = lines.length * (x.item_bytes + (y.item_bytes if lines.steps[1] else 0))
    piece = min(columns, max(TASK_BYTES // line_bytes // kernel.COLUMNS * kernel.COLUMNS, kernel.COLUMNS))
    pieces = -(-columns // piece)
    words = {"x": x, "y": y, "length": lines.length, "x_step": lines.steps[0], "y_step": lines.steps[1]}
    words |= {"columns": columns, "pieces": pieces, "piece": piece, **lead_words(lines.lead, ("x", "y"))}
    tasks = pieces * prod(axis.size for axis in lines.lead)
    moved = x.elements * x.item_bytes + y.elements * y.item_bytes
    chunk = chunk_of(line_bytes * piece)
    n.job(kernel, words, tasks=tasks, written=[y], chunk=chunk, scratch=scratch, flops=flops, moved_bytes=moved)

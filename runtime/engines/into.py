"""Results of a run in memory that the caller chose."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import islice, pairwise, takewhile
from operator import itemgetter
from typing import TypeAlias

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error

Span: TypeAlias = tuple[int, int, str]
"""The address of a result's first byte, that after its last one, and its queue."""


def write_into(found: Mapping[str, NDArray], into: Mapping[str, NDArray]) -> dict[str, NDArray]:
    """Copy results into the caller's memory.

    Args:    found: the results of a run, by queue; they may show memory of `into`, as results that are entries do.
             into: see `Plan.run`.
    Returns: the results, those of `into` as the arrays given there; no other one shares memory with these.
    Raises:  E0601 for a queue that the run does not write, E0602 for memory that does not fit its result or overlaps other memory given
             for a result, MemoryError.  Nothing has been written then.
    """
    if not into:
        return dict(found)
    for queue, memory in into.items():
        value = found.get(queue)
        check_memory(queue, memory, None if value is None else value.shape, None if value is None else value.dtype)
    spans = spans_of(into)
    kept = {queue: _apart(spans_within(spans, value), queue, value, into) for queue, value in found.items()}
    for queue, memory in into.items():
        if kept[queue] is not memory:
            np.copyto(memory, kept[queue], casting="no")
    return {**kept, **into}


def check_memory(queue: str, memory: NDArray, shape: tuple[int, ...] | None, dtype: np.dtype | None) -> None:
    """Check memory for a result of this shape and dtype, written in row-major order; None: no result goes to the queue.

    Raises: E0601, E0602.
    """
    if shape is None:
        raise Error("E0601", f"there is memory for queue '{queue}', which the graph does not write", queue)
    if memory.shape != shape or memory.dtype != dtype:
        given = f"{memory.dtype}{list(memory.shape)}"
        raise Error("E0602", f"the result of queue '{queue}' is {dtype}{list(shape)}; it cannot be written into {given}", queue)
    if not memory.flags.carray:
        raise Error("E0602", f"the memory for queue '{queue}' is read-only, not aligned or not contiguous in row-major order", queue)


def spans_of(into: Mapping[str, NDArray]) -> list[Span]:
    """Return the memory of results in the order of addresses.  Raises E0602 if some of it overlaps."""
    spans = sorted((*byte_bounds(memory), queue) for queue, memory in into.items() if memory.size)
    for (_, end, one), (start, _, other) in pairwise(spans):
        if start < end:
            raise Error("E0602", f"the memory for queues '{one}' and '{other}' overlaps", one)
    return spans


def spans_within(spans: Sequence[Span], value: NDArray) -> list[str]:
    """Return queues whose memory an array shows.  spans: see `spans_of`."""
    if not value.size:
        return []
    start, end = byte_bounds(value)
    at = max(bisect_right(spans, start, key=itemgetter(0)) - 1, 0)
    near = takewhile(lambda span: span[0] < end, islice(spans, at, None))
    return [queue for _, last, queue in near if start < last]


def _apart(near: Sequence[str], queue: str, value: NDArray, into: Mapping[str, NDArray]) -> NDArray:
    """Return a result whose memory nothing else is written to: a copy where it is not so yet.  near: queues whose memory it shows."""
    if list(near) == [queue] and _lies_at(value, into[queue]):
        return into[queue]
    return value.copy() if near else value


def _lies_at(value: NDArray, memory: NDArray) -> bool:
    """Return whether a value is that very memory, element by element."""
    return value.ctypes.data == memory.ctypes.data and value.flags.c_contiguous

"""Copies, and rounding to formats that storage alone does not give."""

from __future__ import annotations

from ttc.runtime.engines.native.kernels.movement import CopyRows
from ttc.runtime.engines.native.lowering import Lowering, NotTaken
from ttc.runtime.engines.native.tensors import View


def copied(n: Lowering, view: View) -> View:
    """The elements of a view in row-major memory of their own."""
    target = n.temp(view.shape, view.storage)
    copy(n, view, target)
    return target


def copy(n: Lowering, source: View, target: View) -> None:
    """Write the elements of one view into another of its shape."""
    dims = _common([(s, a, b) for s, a, b in zip(source.shape, source.strides, target.strides, strict=True) if s != 1])
    *outer, (length, a, b) = dims or [(1, 1, 1)]
    tasks = 1
    for size, _, _ in outer:
        tasks *= size
    words = [source, target, length, a, b, *(number for dim in outer for number in dim)]
    moved = source.elements * (source.item_bytes + target.item_bytes)
    kernel = CopyRows(source.storage, target.storage, len(outer), (a, b) == (1, 1))
    n.job(kernel, words, tasks=tasks, written=[target], moved_bytes=moved)


def round_in_place(n: Lowering, view: View, format: str) -> None:
    """Round elements to a format whose values float32 holds.  Raises NotTaken where there is no kernel for it."""
    raise NotTaken(f"rounding to {format}")


def _common(dims: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Neighbouring dimensions joined where both tensors walk them in one stride."""
    found: list[tuple[int, int, int]] = []
    for size, a, b in dims:
        if found and found[-1][1] == a * size and found[-1][2] == b * size:
            found[-1] = (found[-1][0] * size, a, b)
        else:
            found.append((size, a, b))
    return found

"""Cutting a range into equal parts, give or take one, and products into tasks of such parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.kernels.words import Words

Count = TypeVar("Count", int, "Value")
"""An int, or a number in generated code."""
CHUNKS = ("row_chunks", "panel_chunks", "by_rows")
"""Words of a product: into how many chunks its rows and its panels are cut, and whether tasks are numbered row by row of such chunks."""


@dataclass(frozen=True)
class Shares:
    """Parts of range(count): the first `longer` of them have `least` + 1 elements, the others `least`."""

    least: Value
    longer: Value

    def span(self, index: Value) -> tuple[Value, Value]:
        """Return the first element of part number `index`, and the one behind its last."""
        f = index.f
        return tuple(i * self.least + f.smaller(i, self.longer) for i in (index, index + 1))  # pyright: ignore[reportReturnType]


def shares_of(count: Value, parts: Value) -> Shares:
    """Return equal parts of a range, found by one division."""
    least = count // parts
    return Shares(least, count - least * parts)


def chunks_of_task(words: Words, task: Value) -> tuple[Value, Value, Value]:
    """Return what a task of a product computes: the element of the batch, and numbers of a chunk of rows and of a chunk of panels.

    Threads have neighbouring tasks.  These meet the same rows where they are numbered `by_rows`, else the same panels.
    """
    f, by_rows = task.f, words["by_rows"].differs(0)
    rows, panels = words["row_chunks"], words["panel_chunks"]
    inner, outer = f.select(by_rows, panels, rows), f.select(by_rows, rows, panels)
    low, rest = task % inner, task // inner
    high = rest % outer
    return rest // outer, f.select(by_rows, high, low), f.select(by_rows, low, high)

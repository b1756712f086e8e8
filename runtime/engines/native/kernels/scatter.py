"""Kernels that write where indices say, one update after the other.  An index outside its dimension sets the status."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from ttc.runtime.engines.native.graph.storage import Storage
from ttc.runtime.engines.native.kernels.gather import checked
from ttc.runtime.engines.native.kernels.kernel import JobKernel
from ttc.runtime.engines.native.kernels.words import Words

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer

Reduction: TypeAlias = Literal["none", "add", "mul", "max", "min"]


@dataclass(frozen=True)
class ScatterRows(JobKernel):
    """Combines y[indices[i, 0], ..., indices[i, keys - 1], :] with updates[i, :], for i one after the other.

    Args:
        target, updates, index: element types.
        keys: indices that name a row.
        reduction: how; `none`: it is replaced.
        lanes: elements of a vector; at most those of a row.

    One task.  Words: `names`; strides of y in elements; its rows, and all else, are dense.
    """

    target: Storage
    updates: Storage
    index: Storage
    keys: int
    reduction: Reduction
    lanes: int

    @property
    def names(self) -> tuple[str, ...]:
        keys = (f"{what}{i}" for i in range(self.keys) for what in ("size", "stride"))
        return ("target", "indices", "updates", "status", "rows", "columns", *keys)

    def emit_job(self, f: Writer, words: Words) -> None:
        """Emit the updates of rows at indices; see `JobKernel.emit_job`."""
        columns, whole = words["columns"], words["columns"] - words["columns"] % self.lanes
        with f.loop(f.begin, f.end), f.loop(0, words["rows"]) as row:
            entry, y = f.at(words.pointer("indices"), row * self.keys, self.index), words.pointer("target")
            for i in range(self.keys):
                index = checked(f, f.load(f.at(entry, i, self.index), self.index), words[f"size{i}"], words.pointer("status"))
                y = f.at(y, index * words[f"stride{i}"], self.target)
            update = f.at(words.pointer("updates"), row * columns, self.updates)
            with f.loop(0, whole, self.lanes) as c:
                combine(f, self, f.at(y, c, self.target), f.at(update, c, self.updates), self.lanes)
            with f.loop(whole, columns) as c:
                combine(f, self, f.at(y, c, self.target), f.at(update, c, self.updates), 1)


@dataclass(frozen=True)
class ScatterElements(JobKernel):
    """Combines y[i..., c], with indices[i..., c] as the place in one dimension, with updates[i..., c], one after the other.

    Args:
        target, updates, index: element types.
        batch: dimensions i.
        reduction: how; `none`: it is replaced.

    A task: `rows` rows c, none of which meets an element of another task's.  Words: `names`; strides of y in elements, 0 along the
    dimension of `size` elements and of stride `along` that the indices are about; updates and indices are dense.
    """

    target: Storage
    updates: Storage
    index: Storage
    batch: int
    reduction: Reduction

    @property
    def names(self) -> tuple[str, ...]:
        dims = (f"batch{i}{what}" for i in range(self.batch) for what in ("", "_target"))
        return ("target", "indices", "updates", "status", "rows", "size", "along", "columns", "column_target", *dims)

    def emit_job(self, f: Writer, words: Words) -> None:
        """Emit the updates of single elements at indices; see `JobKernel.emit_job`."""
        columns, rows = words["columns"], words["rows"]
        with f.loop(f.begin * rows, f.end * rows) as row:
            y, rest = words.pointer("target"), row
            for i in reversed(range(self.batch)):
                size = words[f"batch{i}"]
                y, rest = f.at(y, rest % size * words[f"batch{i}_target"], self.target), rest // size
            with f.loop(row * columns, (row + 1) * columns) as place:
                index = checked(
                    f, f.load(f.at(words.pointer("indices"), place, self.index), self.index), words["size"], words.pointer("status")
                )
                element = f.at(y, (place - row * columns) * words["column_target"] + index * words["along"], self.target)
                combine(f, self, element, f.at(words.pointer("updates"), place, self.updates), 1)


def combine(f: Writer, kernel: ScatterRows | ScatterElements, place: Value, update: Value, lanes: int) -> None:
    """Return some elements combined with their updates."""
    value = f.read(update, kernel.updates, lanes)
    if kernel.reduction != "none":
        held = f.read(place, kernel.target, lanes)
        match kernel.reduction:
            case "add":
                value = held + value
            case "mul":
                value = held * value
            case "max":
                value = f.maximum(held, value)
            case "min":
                value = f.minimum(held, value)
    f.write(value, place, kernel.target)

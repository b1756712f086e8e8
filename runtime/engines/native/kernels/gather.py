"""Kernels that read where indices say.  An index outside its dimension sets the status; what is read then does not matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.graph.storage import Storage
from ttc.runtime.engines.native.kernels.kernel import JobKernel
from ttc.runtime.engines.native.kernels.words import Words

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer


@dataclass(frozen=True)
class Gather(JobKernel):
    """Reads rows at indices: y[n, i, :] = x[n, indices[n, i, 0], ..., indices[n, i, keys - 1], :].

    Args:
        source, target, index: element types.
        keys: indices that name a row.
        lanes: elements of a vector; at most those of a row.

    A task is a row.  Words: `names`; strides in elements; rows lie one after the other in y, and so do their elements, those of x and the
    indices of a row.  `rows`: i, `source_batch`, `index_batch`: strides along n.
    """

    source: Storage
    target: Storage
    index: Storage
    keys: int
    lanes: int

    @property
    def names(self) -> tuple[str, ...]:
        keys = (f"{what}{i}" for i in range(self.keys) for what in ("size", "stride"))
        return ("source", "indices", "target", "status", "rows", "columns", "source_batch", "index_batch", *keys)

    def emit_job(self, f: Writer, words: Words) -> None:
        """Emit the copies of rows, index by index; see `JobKernel.emit_job`."""
        source, columns, status = words.pointer("source"), words["columns"], words.pointer("status")
        with f.loop(f.begin, f.end) as task:
            batch, row = task // words["rows"], task % words["rows"]
            entry = f.at(words.pointer("indices"), batch * words["index_batch"] + row * self.keys, self.index)
            offset = batch * words["source_batch"]
            for i in range(self.keys):
                index = checked(f, f.load(f.at(entry, i, self.index), self.index), words[f"size{i}"], status)
                offset = offset + index * words[f"stride{i}"]
            x, y = f.at(source, offset, self.source), f.at(words.pointer("target"), task * columns, self.target)
            with f.loop(0, columns, self.lanes) as start:
                c = f.smaller(start, columns - self.lanes)
                f.write(f.read(f.at(x, c, self.source), self.source, self.lanes), f.at(y, c, self.target), self.target)


@dataclass(frozen=True)
class GatherElements(JobKernel):
    """Reads elements at indices: y[i..., c] = x[i..., c] but for one dimension of x, whose place is indices[i..., c].

    Args:
        source, target, index: element types.
        batch: dimensions i.

    A task is a row c.  Words: `names`; strides of x in elements, 0 along the dimension of `size` elements and of stride `along` that the
    indices are about; y and the indices are dense.
    """

    source: Storage
    target: Storage
    index: Storage
    batch: int

    @property
    def names(self) -> tuple[str, ...]:
        dims = (f"batch{i}{what}" for i in range(self.batch) for what in ("", "_source"))
        return ("source", "indices", "target", "status", "size", "along", "columns", "column_source", *dims)

    def emit_job(self, f: Writer, words: Words) -> None:
        """Emit the reads of single elements at indices; see `JobKernel.emit_job`."""
        columns, status = words["columns"], words.pointer("status")
        with f.loop(f.begin, f.end) as task:
            x, rest = words.pointer("source"), task
            for i in reversed(range(self.batch)):
                size = words[f"batch{i}"]
                x, rest = f.at(x, rest % size * words[f"batch{i}_source"], self.source), rest // size
            entries = f.at(words.pointer("indices"), task * columns, self.index)
            y = f.at(words.pointer("target"), task * columns, self.target)
            with f.loop(0, columns) as c:
                index = checked(f, f.load(f.at(entries, c, self.index), self.index), words["size"], status)
                value = f.read(f.at(x, c * words["column_source"] + index * words["along"], self.source), self.source)
                f.write(value, f.at(y, c, self.target), self.target)


@dataclass(frozen=True)
class CheckIndices(JobKernel):
    """Sets the status unless all of indices[i, 0], ..., indices[i, keys - 1] lie in their dimensions; a job of it may come early.

    Args:
        index: element type.
        keys: indices of a row.

    One task.  Words: `names`; the indices are dense.
    """

    index: Storage
    keys: int

    @property
    def names(self) -> tuple[str, ...]:
        return ("indices", "status", "rows", *(f"size{i}" for i in range(self.keys)))

    def emit_job(self, f: Writer, words: Words) -> None:
        """Emit checks that indices lie in range; see `JobKernel.emit_job`."""
        with f.loop(f.begin, f.end), f.loop(0, words["rows"]) as row:
            entry = f.at(words.pointer("indices"), row * self.keys, self.index)
            for i in range(self.keys):
                checked(f, f.load(f.at(entry, i, self.index), self.index), words[f"size{i}"], words.pointer("status"))


def checked(f: Writer, index: Value, size: Value, status: Value) -> Value:
    """Return an index as an i64 in [0, size): negative ones count from the end; 0, and the status is set, for one outside."""
    wide = f.converted(index, "i64" if index.type.is_signed else "u64")
    if index.type.is_signed:
        wide = wide + f.select(wide < 0, size, f.constant(0, "i64"))
    inside = f.converted(wide, "u64") < f.converted(size, "u64")
    with f.when(f.inverted(inside)):
        f.store(f.constant(1, "i64"), status)
    return f.select(inside, f.converted(wide, "i64"), f.constant(0, "i64"))


def key_words(sizes: Sequence[int], strides: Sequence[int]) -> dict[str, int]:
    """Return the words of the dimensions that keys index."""
    found: dict[str, int] = {}
    for i, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        found |= {f"size{i}": size, f"stride{i}": stride}
    return found

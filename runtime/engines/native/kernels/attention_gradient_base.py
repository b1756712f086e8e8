"""What the kernels of attention's gradient share: their words, tasks, and what they do to masks and results."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import nullcontext
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, ClassVar

from ttc.runtime.engines.native.graph.storage import Storage
from ttc.runtime.engines.native.graph.tensors import ALIGNMENT
from ttc.runtime.engines.native.kernels.kernel import JobKernel
from ttc.runtime.engines.native.kernels.vectors import vectors_of
from ttc.runtime.engines.native.kernels.words import Words, bases_at, batch_names

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer

LEAST_EXPONENT = -87.0
"""A number whose exponential is not denormal; those of lower ones are taken for 0."""
_SIZES = ("rows", "keys", "depth", "columns", "chunks", "key_block", "scale")


@dataclass(frozen=True, kw_only=True)
class GradientKernel(JobKernel):
    """The base of kernels of attention's gradient, which leave the last sums over tasks of what queries get to `QuerySums`.

    Args:
        q, k, v, y, dy, dk, dv: element types.
        mask: that of the mask, if there is one.
        batch: dimensions of the batch.

    Tasks: (element of the batch, chunk of keys), the latter faster.  Words: `names`; strides in bytes, the last dimension of each tensor
    is dense, `at_*` offsets into scratch memory (`places`).  Tensors: log_sums is a column of float32; partial of float32 takes sums of
    r k by chunks of keys, see `partial_shape`.
    """

    GROUP: ClassVar[int]
    """Query rows whose scores are held at a time."""
    PLACES: ClassVar[tuple[str, ...]]
    """Parts of the scratch memory."""

    q: Storage
    k: Storage
    v: Storage
    y: Storage
    dy: Storage
    dk: Storage
    dv: Storage
    mask: Storage | None = None
    batch: int = 0

    @property
    def tensors(self) -> tuple[str, ...]:
        """The names of what a job reads and writes."""
        found = ("q", "k", "v", "y", "log_sums", "dy", "dk", "dv", "partial")
        return found if self.mask is None else (*found, "mask")

    @property
    def names(self) -> tuple[str, ...]:
        rows, places = (f"{name}_row" for name in self.tensors), (f"at_{name}" for name in self.PLACES)
        return (*_SIZES, *self.tensors, *rows, *places, *batch_names(self.tensors, self.batch))

    @abstractmethod
    def partial_shape(self, rows: int, depth: int) -> tuple[int, int]:
        """Return the shape of what one chunk of keys gives to all queries."""

    @abstractmethod
    def parts(self, rows: int, depth: int, columns: int, key_block: int) -> dict[str, int]:
        """Return the float32 that each part of the scratch memory has room for."""

    def places(self, rows: int, depth: int, columns: int, key_block: int) -> tuple[dict[str, int], int]:
        """Return offsets in scratch memory by the words' names, and its size in bytes."""
        found: dict[str, int] = {}
        end = 0
        for name, count in self.parts(rows, depth, columns, key_block).items():
            found[f"at_{name}"] = end
            end += -(-count * 4 // ALIGNMENT) * ALIGNMENT
        return found, end


class GradientCode:
    """The code of one kernel.  A subclass says what is done to a block of keys and a group of queries."""

    def __init__(self, f: Writer, words: Words, spec: GradientKernel, lanes: int) -> None:
        self.f, self.words, self.kernel, self.lanes = f, words, spec, lanes
        self.rows, self.keys, self.depth, self.columns, self.chunks, self.key_block = (words[name] for name in _SIZES[:6])
        self.scale = words.real("scale")
        self.places = {name: f.at(f.scratch, words[f"at_{name}"], "i8") for name in spec.PLACES}

    @abstractmethod
    def partial_floats(self) -> Value:
        """Return the float32 that one chunk gives to all queries."""

    @abstractmethod
    def prepare(self, bases: dict[str, Value]) -> None:
        """Do what is done once a task."""

    @abstractmethod
    def begin(self, bases: dict[str, Value], key: Value, count: Value) -> None:
        """Pack a block of keys, and clear their cotangents."""

    @abstractmethod
    def group(self, bases: dict[str, Value], rows: tuple[Value, Value], keys: tuple[Value, Value]) -> None:
        """Take a group of queries against a block of keys: first of each, and how many."""

    @abstractmethod
    def end(self, bases: dict[str, Value], key: Value, count: Value) -> None:
        """Write the cotangents of a block of keys."""

    def tasks(self) -> None:
        """Write the loop over tasks."""
        f, tensors = self.f, self.kernel.tensors
        with f.loop(f.begin, f.end) as task:
            bases = dict(zip(tensors, bases_at(f, self.words, tensors, self.kernel.batch, task // self.chunks), strict=True))
            chunk = task % self.chunks
            bases["partial"] = f.at(bases["partial"], chunk * self.partial_floats(), "f32")
            self.clear(bases["partial"], self.partial_floats())
            self.prepare(bases)
            first, last = chunk * self.keys // self.chunks, (chunk + 1) * self.keys // self.chunks
            with f.loop(first, last, self.key_block) as key:
                count = f.smaller(last - key, self.key_block)
                self.begin(bases, key, count)
                with f.loop(0, self.rows, self.kernel.GROUP) as row:
                    rows = f.smaller(self.rows - row, self.kernel.GROUP)
                    with nullcontext() if self.kernel.mask is None else f.when(self._is_seen(bases, (row, rows), (key, count))):
                        self.group(bases, (row, rows), (key, count))
                self.end(bases, key, count)

    def _is_seen(self, bases: dict[str, Value], rows: tuple[Value, Value], keys: tuple[Value, Value]) -> Value:
        """Return whether the mask leaves any of these scores, or the sum of a row is NaN."""
        f, storage = self.f, self.kernel.mask or "f32"
        (row, count), (key, width) = rows, keys
        low, zero, one = f.constant(-inf, "f32", self.lanes), f.constant(0.0, "f32", self.lanes), f.constant(1.0, "f32", self.lanes)
        seen = f.variable(zero)
        with f.loop(row, row + count) as r:
            line = f.at(f.at(bases["mask"], r * self.words["mask_row"], "i8"), key, storage)
            for i, inside in vectors_of(f, width, self.lanes):
                found = f.select(f.read(f.at(line, i, storage), storage, self.lanes, inside).equals(low), zero, one)
                seen.set(f.larger(found if inside is None else f.select(inside, found, zero), seen.get()))
            total = f.load(f.at(bases["log_sums"], r * self.words["log_sums_row"], "i8"), "f32")
            seen.set(f.select(total.equals(total), seen.get(), one))
        return f.folded("larger", seen.get()).differs(0.0)

    def give(
        self, name: str, bases: dict[str, Value], keys: tuple[Value, Value], source: tuple[Value, Value, Value], *, scaled: bool = False
    ) -> None:
        """Write the cotangents of a block's keys or values.  source: the first row, float32 from row to row, and how many count.

        scaled: whether they are multiplied by the scale.
        """
        f, storage = self.f, getattr(self.kernel, name)
        (key, count), (start, width, elements) = keys, source
        with f.loop(0, count) as r:
            line, target = f.at(start, r * width, "f32"), f.at(bases[name], (key + r) * self.words[f"{name}_row"], "i8")
            for i, inside in vectors_of(f, elements, self.lanes):
                found = f.load(f.at(line, i, "f32"), "f32", self.lanes)
                f.write(found * self.scale if scaled else found, f.at(target, i, storage), storage, inside)

    def clear(self, start: Value, count: Value) -> None:
        """Fill so many float32, whole vectors, with zeros."""
        f = self.f
        with f.loop(0, count, self.lanes) as i:
            f.store(f.constant(0.0, "f32", self.lanes), f.at(start, i, "f32"))

    @staticmethod
    def parts(count: Value, size: int) -> Value:
        """Return how many parts of a size hold so many."""
        return (count + (size - 1)) // size

    def whole(self, count: Value, size: int) -> Value:
        """Return the next multiple of a size."""
        return self.parts(count, size) * size

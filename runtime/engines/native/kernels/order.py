"""Places of elements in order.

An element and its place are one integer of 64 bits: an integer of 32 whose order is that of the elements, then the place, so that of equal
elements the first comes first.  Few places are put where they belong one by one, as most elements come behind all of them; otherwise
sorted runs are merged, twice as long each time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.graph.storage import Storage
from ttc.runtime.engines.native.kernels.kernel import JobKernel
from ttc.runtime.engines.native.kernels.words import Words, bases_at, batch_names

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer

_SIGN, _LAST = 1 << 31, (1 << 32) - 1
_ENTRY_BYTES = 8


@dataclass(frozen=True)
class Order(JobKernel):
    """Orders lines of x: y[j] is the place of what is number j in order; NaN comes last. A task is a line.

    Args:
        source: element type of x, of 32 bits at most.
        target: i32 or i64.
        largest: whether the largest comes first.
        few: whether places are put in order one by one.
        lead: dimensions of the places of lines.

    Words: `names`; strides in bytes.  `count`: of places wanted, at least 1 and at most `length`.  Scratch: `scratch_bytes`.
    """

    source: Storage
    target: Storage
    largest: bool
    few: bool
    lead: int

    @property
    def names(self) -> tuple[str, ...]:
        return ("x", "y", "length", "count", "x_step", "y_step", *batch_names(("x", "y"), self.lead))

    def scratch_bytes(self, length: int, count: int) -> int:
        """Return the bytes of scratch memory that one thread needs."""
        return _ENTRY_BYTES * (count if self.few else 2 * length)

    def emit_job(self, f: Writer, words: Words) -> None:
        """Emit the sort of each line; see `JobKernel.emit_job`."""
        with f.loop(f.begin, f.end) as place:
            x, y = bases_at(f, words, ("x", "y"), self.lead, place)
            found = self._chosen(f, words, x) if self.few else self._merged(f, words, x)
            with f.loop(0, words["count"]) as j:
                index = f.load(f.at(found, j, "u64"), "u64") & _LAST
                f.store(f.converted(index, self.target), f.at(y, j * words["y_step"], "i8"))

    def _chosen(self, f: Writer, words: Words, x: Value) -> Value:
        """Address of the first `count` entries in order: each new one moves those behind it."""
        count, entries = words["count"], f.scratch
        known = f.variable(f.constant(0, "i64"))
        with f.loop(0, words["length"]) as i:
            entry = self._entry(f, words, x, i)
            last = f.load(f.at(entries, count - 1, "u64"), "u64")
            with f.when((known.get() < count) | (entry < last)):
                place = f.variable(f.smaller(known.get(), count - 1))
                with f.while_() as stop:
                    stop(place.get().equals(0))
                    before = f.load(f.at(entries, place.get() - 1, "u64"), "u64")
                    stop(before < entry)
                    f.store(before, f.at(entries, place.get(), "u64"))
                    place.set(place.get() - 1)
                f.store(entry, f.at(entries, place.get(), "u64"))
                known.set(f.smaller(known.get() + 1, count))
        return entries

    def _merged(self, f: Writer, words: Words, x: Value) -> Value:
        """Address of all entries in order."""
        length = words["length"]
        source, target = f.variable(f.scratch), f.variable(f.at(f.scratch, length, "u64"))
        width = f.variable(f.constant(1, "i64"))
        with f.loop(0, length) as i:
            f.store(self._entry(f, words, x, i), f.at(source.get(), i, "u64"))
        with f.while_() as stop:
            stop(width.get() >= length)
            with f.loop(0, length, width.get() * 2) as start:
                middle = f.smaller(start + width.get(), length)
                _merge(f, (source.get(), target.get()), start, middle, f.smaller(middle + width.get(), length))
            before = source.get()
            source.set(target.get())
            target.set(before)
            width.set(width.get() * 2)
        return source.get()

    def _entry(self, f: Writer, words: Words, x: Value, index: Value) -> Value:
        """Return the element and its place, as one number."""
        found = f.read(f.at(x, index * words["x_step"], "i8"), self.source)
        key = self._key(f, found)
        return (f.converted(key, "u64") << 32) | f.converted(index, "u64")

    def _key(self, f: Writer, x: Value) -> Value:
        """Return an integer whose order is that of the elements."""
        if not x.type.is_float:
            wide = f.converted(x, "i32" if x.type.is_signed else "u32")
            wide = f.inverted(wide) if self.largest else wide
            return f.bits(wide, "u32") ^ _SIGN if x.type.is_signed else wide
        x = (-x if self.largest else x) + 0.0  # one zero alone
        bits = f.bits(x, "u32")
        key = f.select(f.bits(x, "i32") < 0, f.inverted(bits), bits | _SIGN)
        return f.select(x.equals(x), key, _LAST)


def _merge(f: Writer, runs: tuple[Value, Value], start: Value, middle: Value, end: Value) -> None:
    """Merge entries [start, middle) and [middle, end) of one list into another."""
    source, target = runs
    left, right = f.variable(start), f.variable(middle)
    with f.loop(start, end) as place:
        a = f.load(f.at(source, f.smaller(left.get(), middle - 1), "u64"), "u64")
        b = f.load(f.at(source, f.smaller(right.get(), end - 1), "u64"), "u64")
        first = (right.get() >= end) | ((left.get() < middle) & (a < b))
        f.store(f.select(first, a, b), f.at(target, place, "u64"))
        taken = f.converted(first, "i64")
        left.set(left.get() + taken)
        right.set(right.get() + (1 - taken))

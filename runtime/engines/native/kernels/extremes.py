"""Places of the largest or smallest elements of lines: first their value, then the first or last place that has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ttc.runtime.engines.native.kernels.lines import Line, LineKernel, over_columns
from ttc.runtime.engines.native.kernels.reduce import folded, limit

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer
    from ttc.runtime.engines.native.kernels.words import Words

_NOWHERE = (1 << 31) - 1


@dataclass(frozen=True)
class Place(LineKernel):
    """y = the place of the extreme of a line of fewer than 2^31 elements; NaN is the most extreme.

    Args:
        fn: which extreme.
        last: whether the last of equal ones is meant.
    """

    fn: Literal["max", "min"]
    last: bool

    def emit_row(self, f: Writer, words: Words, x: Value, y: Value) -> None:
        zero, length = f.constant(0, "i64"), words["length"]
        best = [f.variable(self._least(f, lanes)) for lanes in (f.lanes, 1)]
        place = [f.variable(self._nowhere(f, lanes)) for lanes in (f.lanes, 1)]

        def compare(column: Value, lanes: int, mask: Value | None) -> None:
            into = best[lanes == 1]
            into.set(self._extreme(f, into.get(), self._load(f, x, column, lanes, mask)))

        for variable in best:
            variable.set(self._least(f, variable.type.lanes))
        over_columns(f, zero, length, compare)
        extreme = self._extreme(f, folded(f, best[0].get(), lambda a, b: self._extreme(f, a, b)), best[1].get())

        def find(column: Value, lanes: int, mask: Value | None) -> None:
            into = place[lanes == 1]
            value = f.read(f.at(x, column, self.source), self.source, lanes, mask)
            number = f.spread(f.converted(column, "i32"), lanes)
            found = self._is_it(value, f.spread(extreme, lanes))
            found = found if mask is None else found & mask
            into.set(self._nearer(f, into.get(), found, number + f.lane_numbers(lanes, "i32") if lanes > 1 else number))

        for variable in place:
            variable.set(self._nowhere(f, variable.type.lanes))
        over_columns(f, zero, length, find)
        join = f.larger if self.last else f.smaller
        found = join(folded(f, place[0].get(), join), place[1].get())
        self._store(f, found, y, None)

    def emit_lines(self, line: Line) -> None:
        f = line.f
        best, place = f.variable(self._least(f, line.lanes)), f.variable(self._nowhere(f, line.lanes))
        best.set(self._least(f, line.lanes))
        place.set(self._nowhere(f, line.lanes))
        with f.loop(0, line.length) as i:
            best.set(self._extreme(f, best.get(), f.read(line.x_at(i), self.source, line.lanes, line.mask)))
        extreme = best.get()
        with f.loop(0, line.length) as i:
            found = self._is_it(f.read(line.x_at(i), self.source, line.lanes, line.mask), extreme)
            place.set(self._nearer(f, place.get(), found, f.spread(f.converted(i, "i32"), line.lanes)))
        self._store(f, place.get(), line.y, line.mask)

    def _store(self, f: Writer, place: Value, y: Value, mask: Value | None) -> None:
        from ttc.runtime.engines.native.ir.regions import landed

        f.write(landed(f, place, self.target), y, self.target, mask)

    def _load(self, f: Writer, x: Value, column: Value, lanes: int, mask: Value | None) -> Value:
        value = f.read(f.at(x, column, self.source), self.source, lanes, mask)
        return value if mask is None else f.select(mask, value, self._least(f, lanes))

    def _least(self, f: Writer, lanes: int) -> Value:
        """What every element is as extreme as, at least."""
        return limit(f, self.source, self.fn == "max", lanes)

    def _nowhere(self, f: Writer, lanes: int) -> Value:
        return f.constant(-1 if self.last else _NOWHERE, "i32", lanes)

    def _extreme(self, f: Writer, a: Value, b: Value) -> Value:
        return f.maximum(a, b) if self.fn == "max" else f.minimum(a, b)

    def _is_it(self, value: Value, extreme: Value) -> Value:
        """Whether an element is what was found; a NaN is, as nothing else then equals the extreme."""
        same = value.equals(extreme)
        return same | value.differs(value) if value.type.is_float else same

    def _nearer(self, f: Writer, place: Value, found: Value, number: Value) -> Value:
        """The place of an element, if it is one, and before (after) the place so far."""
        other = f.select(found, number, self._nowhere(f, number.type.lanes))
        return (f.larger if self.last else f.smaller)(place, other)

"""Places of the largest or smallest elements of lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ttc.runtime.engines.native.kernels.lines import Line, LineKernel, over_columns
from ttc.runtime.engines.native.kernels.reduce import folded, limit

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import LocalVariable, Value
    from ttc.runtime.engines.native.ir.writer import Writer
    from ttc.runtime.engines.native.kernels.words import Words

_PART = 4096
"""Elements of a part of a row."""
_NOWHERE = (1 << 31) - 1


@dataclass(frozen=True)
class ExtremePlaceKernel(LineKernel):
    """Finds the place y of the extreme of a line of fewer than 2^31 elements; NaN is the most extreme.

    Args:
        fn: which extreme.
        last: whether the last of equal ones is meant.
    """

    fn: Literal["max", "min"]
    last: bool

    def emit_row(self, f: Writer, words: Words, x: Value, y: Value) -> None:
        """Emit the search, part by part of a row: where a part has a new extreme, its place is looked for while the part is in the
        cache.
        """
        length = words["length"]
        best, place = f.variable(self._least(f, 1)), f.variable(self._nowhere(f, 1))
        best.set(self._least(f, 1))
        place.set(self._nowhere(f, 1))
        found = [f.variable(self._least(f, lanes)) for lanes in (f.lanes, 1)]
        places = [f.variable(self._nowhere(f, lanes)) for lanes in (f.lanes, 1)]
        with f.loop(0, length, _PART) as first:
            last = f.smaller(first + _PART, length)
            extreme = self._extreme_of(f, x, (first, last), found)
            with f.when(first.equals(0) | self._is_better(extreme, best.get())):
                best.set(extreme)
                place.set(self._place_of(f, x, (first, last), extreme, places))
        self._store(f, place.get(), y, None)

    def _extreme_of(self, f: Writer, x: Value, span: tuple[Value, Value], found: list[LocalVariable]) -> Value:
        """Take the extreme of elements [first, last) into what was found before."""
        for variable in found:
            variable.set(self._least(f, variable.type.lanes))

        def compare(column: Value, lanes: int, mask: Value | None) -> None:
            into = found[lanes == 1]
            value = f.read(f.at(x, column, self.source), self.source, lanes, mask)
            value = value if mask is None else f.select(mask, value, self._least(f, lanes))
            into.set(self._extreme(f, into.get(), value))

        over_columns(f, *span, compare)
        return self._extreme(f, folded(f, found[0].get(), lambda a, b: self._extreme(f, a, b)), found[1].get())

    def _place_of(self, f: Writer, x: Value, span: tuple[Value, Value], extreme: Value, places: list[LocalVariable]) -> Value:
        """Return the first or last of elements [first, last) that is the extreme."""
        for variable in places:
            variable.set(self._nowhere(f, variable.type.lanes))

        def find(column: Value, lanes: int, mask: Value | None) -> None:
            into = places[lanes == 1]
            value = f.read(f.at(x, column, self.source), self.source, lanes, mask)
            number = f.spread(f.converted(column, "i32"), lanes)
            number = number + f.lane_numbers(lanes, "i32") if lanes > 1 else number
            found = value.equals(f.spread(extreme, lanes))
            found = found | value.differs(value) if value.type.is_float else found  # where one is NaN, nothing equals the extreme
            other = f.select(found if mask is None else found & mask, number, self._nowhere(f, lanes))
            into.set(self._nearer(f, into.get(), other))

        over_columns(f, *span, find)
        return self._nearer(f, folded(f, places[0].get(), lambda a, b: self._nearer(f, a, b)), places[1].get())

    def emit_lines(self, line: Line) -> None:
        f, lanes = line.f, line.lanes
        best, place = f.variable(self._least(f, lanes)), f.variable(f.constant(0, "i32", lanes))
        best.set(f.read(line.x_at(f.constant(0, "i64")), self.source, lanes, line.mask))
        place.set(f.constant(0, "i32", lanes))
        with f.loop(1, line.length) as i:
            value = f.read(line.x_at(i), self.source, lanes, line.mask)
            better = self._is_better(value, best.get())
            best.set(f.select(better, value, best.get()))
            place.set(f.select(better, f.spread(f.converted(i, "i32"), lanes), place.get()))
        self._store(f, place.get(), line.y, line.mask)

    def _store(self, f: Writer, place: Value, y: Value, mask: Value | None) -> None:
        from ttc.runtime.engines.native.ir.regions import landed

        f.write(landed(f, place, self.target), y, self.target, mask)

    def _least(self, f: Writer, lanes: int) -> Value:
        """Return what every element is as extreme as, at least."""
        return limit(f, self.source, self.fn == "max", lanes)

    def _nowhere(self, f: Writer, lanes: int) -> Value:
        return f.constant(-1 if self.last else _NOWHERE, "i32", lanes)

    def _extreme(self, f: Writer, a: Value, b: Value) -> Value:
        return f.maximum(a, b) if self.fn == "max" else f.minimum(a, b)

    def _is_better(self, value: Value, best: Value) -> Value:
        """Return whether a later element is to be taken instead."""
        if self.last:
            better = value >= best if self.fn == "max" else value <= best
            return better | value.differs(value) if value.type.is_float else better
        better = value > best if self.fn == "max" else value < best
        return better | (value.differs(value) & best.equals(best)) if value.type.is_float else better

    def _nearer(self, f: Writer, a: Value, b: Value) -> Value:
        """Return the first of two places, or the last."""
        return f.larger(a, b) if self.last else f.smaller(a, b)

"""The works of all chips, from those of one: each chip's own copies on its parts of constants, and sums and joins between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import cast

from ttc.dialects.core.ir.locations import chip_mark
from ttc.dialects.core.plain.functions import LEAVES, Function, Plain, TensorType, Work, numbered
from ttc.dialects.core.records import record
from ttc.dialects.nn.base import ops as nn_ops
from ttc.passes.nn.sharding.divide import ALL_GATHER, ALL_REDUCE, PARTITION, PARTS, REDUCE_SCATTER, ROW_PARTS, ROWS

Taken = dict[int, tuple[int, int]]
"""The first place that is taken of a dimension, and how many; others are taken whole."""


@record(frozen=False, eq=False)
class ChipWorks:
    """Makes one function of the works of all chips.

    Args:
        source: the program of one chip, whose constants are divided.
        part: what each of several chips computes, with works between chips.
        chips: by whose numbers the source names of works say where they run; those that divide the columns of the same rows stand together.
        rows: how many parts of the rows there are.
    """

    source: Function
    part: Function
    chips: tuple[int, ...]
    rows: int = 1
    works: list[Work] = field(default_factory=list)
    kinds: list[TensorType] = field(default_factory=list)
    places: dict[int, list[int]] = field(default_factory=dict)
    leaves: dict[int, Work] = field(default_factory=dict)
    shares: dict[tuple[int, int], int] = field(default_factory=dict)
    """What each chip gives each of the sum at hand, by both."""
    taken: dict[tuple[str, tuple[tuple[int, tuple[int, int]], ...]], int] = field(default_factory=dict)

    def function(self) -> Function:
        """Return the function of all chips, without works that nothing reads; the first chip gives the results."""
        part = self.part
        self.kinds = list(part.inputs)
        self.places = {number: [number] * len(self.chips) for number in range(len(part.inputs))}
        self.leaves = {number: work for work, number in numbered(part) if work.op in LEAVES}
        cut = self._cut_products(part)
        for work, number in numbered(part):
            if number not in self.leaves and number not in cut:
                self._add(work, number, cut)
        outputs = tuple(self._place(number, 0) for number in part.outputs)
        return without_unread(Function(part.inputs, tuple(self.works), outputs))

    def _cut_products(self, part: Function) -> dict[int, Work]:
        """Return products by constants whose sums are scattered by columns: each chip computes the columns of another by themselves."""
        reads = Counter(number for work in part.works for number in work.operands)
        made = {number: work for work, number in numbered(part) if work.op == "nn.matmul" and work.operands[1] in self.leaves}
        found: dict[int, Work] = {}
        for work in part.works:
            first = work.operands[0] if work.op == REDUCE_SCATTER else None
            if first in made and reads[first] == 1 and work.attrs["dim"] == len(work.results[0].shape) - 1:
                found[cast("int", first)] = made[first]
        return found

    def _add(self, work: Work, number: int, cut: Mapping[int, Work]) -> None:
        """Add what each chip does of a work."""
        kind = nn_ops().get(work.op.removeprefix("nn."))
        for place, chip in enumerate(self.chips):
            if place and kind is not None and kind.EFFECT:
                made = self.places[number][0]  # what others see happens once
            elif work.op in _BETWEEN:
                made = _BETWEEN[work.op](self, work, place, cut)
            else:
                made = self._emit(work.op, [None if n is None else self._place(n, place) for n in work.operands], work.attrs, work, chip)
            for index in range(len(work.results)):
                self.places.setdefault(number + index, []).append(made + index)

    # ---- works between chips -------------------------------------------------------------------------------------------------------------

    @property
    def columns(self) -> int:
        """How many chips divide columns."""
        return len(self.chips) // self.rows

    def _group(self, work: Work, place: int) -> list[int]:
        """Return the places of the chips between which a work is, of which one is given, in the order of their parts."""
        row, column = divmod(place, self.columns)
        if work.attrs.get("over") == ROWS:
            return list(range(column, len(self.chips), self.columns))
        return list(range(row * self.columns, (row + 1) * self.columns))

    def _gathered(self, work: Work, place: int, _: Mapping[int, Work]) -> int:
        number, dim, chip = cast("int", work.operands[0]), cast("int", work.attrs["dim"]), self.chips[place]
        parts = [self._place(number, other) for other in self._group(work, place)]
        size, total = self.kinds[parts[0]].shape[dim], work.results[0].shape[dim]
        if size * len(parts) > total:  # the last part is filled up
            parts[-1] = self._slice(parts[-1], {dim: (0, total - size * (len(parts) - 1))}, work, chip)
        return self._emit("nn.concat", parts, {"axis": work.attrs["dim"]}, work, self.chips[place])

    def _reduced(self, work: Work, place: int, _: Mapping[int, Work]) -> int:
        number, group = cast("int", work.operands[0]), self._group(work, place)
        own = group.index(place)
        return self._sum([self._place(number, other) for other in (*group[own:], *group[:own])], work, place)

    def _scattered(self, work: Work, place: int, cut: Mapping[int, Work]) -> int:
        group = self._group(work, place)
        count, own = len(group), group.index(place)
        if not own:  # the first share of each chip is its own, the next one that of the next chip: all chips do the same
            pairs = [(source, (source + turn) % count) for turn in range(count) for source in range(count)]
            for source, target in pairs:
                self.shares[group[source], group[target]] = self._share_of_sum(work, cut, group[source], target)
        return self._sum([self.shares[group[own - turn], place] for turn in range(count)], work, place)

    def _own_part(self, work: Work, place: int, _: Mapping[int, Work]) -> int:
        whole, group, dim = self._place(cast("int", work.operands[0]), place), self._group(work, place), cast("int", work.attrs["dim"])
        lacking = work.results[0].shape[dim] * len(group) - self.kinds[whole].shape[dim]
        if lacking:
            whole = self._filled(whole, {dim: lacking}, work, self.chips[place])
        return self._slice(whole, _share(work, group.index(place)), work, self.chips[place])

    def _share_of_sum(self, work: Work, cut: Mapping[int, Work], source: int, target: int) -> int:
        """Return what a chip gives another one of its sums: those columns of its product alone, or a slice of all of it.

        source: the place of the chip; target: which of the parts it is.
        """
        number, share = cast("int", work.operands[0]), _share(work, target)
        product = cut.get(number)
        if product is None:
            return self._slice(self._place(number, source), share, work, self.chips[source])
        left, right = (cast("int", operand) for operand in product.operands[:2])
        columns = len(self.leaves[right].results[0].shape) - (2 if product.attrs["transpose_b"] else 1)
        weight = self._leaf(self.leaves[right], source, dict.fromkeys((columns,), *share.values()))
        operands = [self._place(left, source), weight, *(None for _ in product.operands[2:])]
        return self._emit(product.op, operands, product.attrs, replace(product, results=work.results), self.chips[source])

    def _sum(self, parts: Sequence[int], work: Work, place: int) -> int:
        """Return the sum of what all chips have."""
        total = parts[0]
        for part in parts[1:]:
            total = self._emit("nn.add", [total, part], {}, work, self.chips[place])
        return total

    # ---- values --------------------------------------------------------------------------------------------------------------------------

    def _place(self, number: int, place: int) -> int:
        """Return the number of a value on one chip; a part of a constant is taken when it is first read."""
        return self._leaf(self.leaves[number], place, {}) if number in self.leaves else self.places[number][place]

    def _leaf(self, leaf: Work, place: int, more: Taken) -> int:
        """Return the number of a chip's part of a constant, and of that the part which is asked for."""
        parts, size = dict(more), leaf.results[0].shape
        for split, number in self._numbers(leaf, place).items():
            parts[split] = number * size[split], size[split]
        name = self._name(leaf)
        limits = dict(enumerate(self.originals[name].results[0].shape))
        if "columns" in leaf.attrs:
            dim, first, limits[dim] = cast("tuple[int, int, int]", leaf.attrs["columns"])
            start, taken = parts.get(dim, (0, limits[dim]))
            parts[dim] = first + start, taken
            limits[dim] += first
        whole, key = (name, ()), (name, tuple(sorted(parts.items())))
        if whole not in self.taken:
            self.taken[whole] = self._append(self.originals[name])
        if key not in self.taken:
            there = {dim: (start, min(count, limits[dim] - start)) for dim, (start, count) in parts.items()}
            found = self._slice(self.taken[whole], there, leaf, None)
            lacking = {dim: count - there[dim][1] for dim, (_, count) in parts.items() if count > there[dim][1]}
            self.taken[key] = self._filled(found, lacking, leaf, None) if lacking else found
        return self.taken[key]

    def _numbers(self, leaf: Work, place: int) -> dict[int, int]:
        """Return for each dimension of a constant that is divided which part of it a chip has."""
        row, column = divmod(place, self.columns)
        split, rows = (cast("int | None", leaf.attrs.get(name)) for name in (PARTS, ROW_PARTS))
        found = {} if split is None else {split: column}
        if rows is not None:
            found[rows] = found[rows] * self.rows + row if rows in found else row
        return found

    @cached_property
    def originals(self) -> dict[str, Work]:
        """Constants and parameters as the program has them, by name."""
        return {self._name(work): work for work in self.source.works if work.op in LEAVES and "columns" not in work.attrs}

    def _name(self, leaf: Work) -> str:
        """Return what tells one constant from another: the key of a weight, or what is written out."""
        if "key" in leaf.attrs:
            return str(leaf.attrs["key"])
        kind, split, rows = leaf.results[0], leaf.attrs.get(PARTS), leaf.attrs.get(ROW_PARTS)
        counts = [(self.columns if dim == split else 1) * (self.rows if dim == rows else 1) for dim in range(len(kind.shape))]
        shape = [size * count for size, count in zip(kind.shape, counts, strict=True)]
        return f"{leaf.attrs['values']} {shape} {kind.format}"

    def _slice(self, number: int, parts: Taken, work: Work, chip: int | None) -> int:
        """Add a slice; chip: where it is taken, None for one of a constant."""
        kind = self.kinds[number]
        starts, sizes = (tuple(parts.get(dim, (0, size))[which] for dim, size in enumerate(kind.shape)) for which in (0, 1))
        attrs: dict[str, Plain] = {"starts": starts, "sizes": sizes, "steps": (1,) * len(sizes)}
        made = Work("nn.slice", (number,), attrs, (TensorType(sizes, kind.format, kind.layout),), location=work.location)
        return self._append(made if chip is None else replace(made, location=(*made.location, chip_mark(chip))))

    def _filled(self, number: int, lacking: Mapping[int, int], work: Work, chip: int | None) -> int:
        """Add zeros behind some dimensions.  chip: where that is done, None for a constant."""
        kind = self.kinds[number]
        after = tuple(lacking.get(dim, 0) for dim in range(len(kind.shape)))
        shape = tuple(size + more for size, more in zip(kind.shape, after, strict=True))
        attrs: dict[str, Plain] = {"before": (0,) * len(shape), "after": after, "value": 0.0, "mode": "constant"}
        made = Work("nn.pad", (number,), attrs, (TensorType(shape, kind.format, kind.layout),), location=work.location)
        return self._append(made if chip is None else replace(made, location=(*made.location, chip_mark(chip))))

    def _emit(self, op: str, operands: Sequence[int | None], attrs: dict[str, Plain], like: Work, chip: int) -> int:
        """Add a work on a chip, with the types and places in the source of another one."""
        return self._append(replace(like, op=op, operands=tuple(operands), attrs=attrs, location=(*like.location, chip_mark(chip))))

    def _append(self, work: Work) -> int:
        first = len(self.kinds)
        self.works.append(work)
        self.kinds += work.results
        return first


_BETWEEN = {
    ALL_GATHER: ChipWorks._gathered,
    ALL_REDUCE: ChipWorks._reduced,
    REDUCE_SCATTER: ChipWorks._scattered,
    PARTITION: ChipWorks._own_part,
}
"""What makes a chip's part of a work between chips."""


def _share(work: Work, place: int) -> Taken:
    """Return the part of a dimension that a chip has of the result of a work between chips."""
    dim = cast("int", work.attrs["dim"])
    size = work.results[0].shape[dim]
    return {dim: (place * size, size)}


def without_unread(function: Function) -> Function:
    """Return the function without works that nothing reads."""
    read = set(function.outputs)
    kept: list[tuple[Work, int]] = []
    for work, number in reversed(list(numbered(function))):
        kind = nn_ops().get(work.op.removeprefix("nn."))
        if (kind is not None and kind.EFFECT) or any(number + index in read for index in range(len(work.results))):
            read.update(operand for operand in work.operands if operand is not None)
            kept.append((work, number))
    place = {number: number for number in range(len(function.inputs))}
    works: list[Work] = []
    for work, number in reversed(kept):
        works.append(replace(work, operands=tuple(None if operand is None else place[operand] for operand in work.operands)))
        first = len(place)
        place |= {number + index: first + index for index in range(len(work.results))}
    return Function(function.inputs, tuple(works), tuple(place[number] for number in function.outputs))

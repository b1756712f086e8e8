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
from ttc.passes.nn.sharding.divide import ALL_GATHER, ALL_REDUCE, PARTITION, REDUCE_SCATTER, Dividing

Parts = dict[int, tuple[int, int]]
"""The first place that is taken of a dimension, and how many; others are taken whole."""


@record(frozen=False, eq=False)
class ChipWorks:
    """Makes one function of the works of all chips.

    found: what one chip computes, with works between chips; chips: by whose numbers the source names of works say where they run.
    """

    found: Dividing
    chips: tuple[int, ...]
    works: list[Work] = field(default_factory=list)
    kinds: list[TensorType] = field(default_factory=list)
    places: dict[int, list[int]] = field(default_factory=dict)
    leaves: dict[int, Work] = field(default_factory=dict)
    shares: dict[tuple[int, int], int] = field(default_factory=dict)
    """What each chip gives each of the sum at hand, by both."""
    taken: dict[tuple[str, tuple[tuple[int, tuple[int, int]], ...]], int] = field(default_factory=dict)

    def function(self) -> Function:
        """Return the function of all chips, without works that nothing reads; the first chip gives the results."""
        part = Function(self.found.function.inputs, tuple(self.found.part), self.found.outputs)
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

    def _gathered(self, work: Work, place: int, _: Mapping[int, Work]) -> int:
        parts = [self._place(cast("int", work.operands[0]), other) for other in range(len(self.chips))]
        return self._emit("nn.concat", parts, {"axis": work.attrs["dim"]}, work, self.chips[place])

    def _reduced(self, work: Work, place: int, _: Mapping[int, Work]) -> int:
        count, number = len(self.chips), cast("int", work.operands[0])
        return self._sum([self._place(number, (place + turn) % count) for turn in range(count)], work, place)

    def _scattered(self, work: Work, place: int, cut: Mapping[int, Work]) -> int:
        count = len(self.chips)
        if not place:  # the first share of each chip is its own, the next one that of the next chip: all chips do the same
            pairs = [(source, (source + turn) % count) for turn in range(count) for source in range(count)]
            self.shares = {pair: self._share_of_sum(work, cut, *pair) for pair in pairs}
        return self._sum([self.shares[(place - turn) % count, place] for turn in range(count)], work, place)

    def _own_part(self, work: Work, place: int, _: Mapping[int, Work]) -> int:
        whole = self._place(cast("int", work.operands[0]), place)
        return self._slice(whole, _share(work, place), work, self.chips[place])

    def _share_of_sum(self, work: Work, cut: Mapping[int, Work], source: int, target: int) -> int:
        """Return what a chip gives another one of its sums: those columns of its product alone, or a slice of all of it."""
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

    def _leaf(self, leaf: Work, place: int, more: Parts) -> int:
        """Return the number of a chip's part of a constant, and of that the part which is asked for."""
        parts, size = dict(more), leaf.results[0].shape
        split = cast("int | None", leaf.attrs.get("parts"))
        if split is not None:
            parts[split] = place * size[split], size[split]
        name = self._name(leaf)
        if "columns" in leaf.attrs:
            dim, first, count = cast("tuple[int, int, int]", leaf.attrs["columns"])
            start, taken = parts.get(dim, (0, count))
            parts[dim] = first + start, taken
        whole, key = (name, ()), (name, tuple(sorted(parts.items())))
        if whole not in self.taken:
            self.taken[whole] = self._append(self.originals[name])
        if key not in self.taken:
            self.taken[key] = self._slice(self.taken[whole], parts, leaf, None)
        return self.taken[key]

    @cached_property
    def originals(self) -> dict[str, Work]:
        """Constants and parameters as the program has them, by name."""
        return {self._name(work): work for work in self.found.function.works if work.op in LEAVES and "columns" not in work.attrs}

    def _name(self, leaf: Work) -> str:
        """Return what tells one constant from another: the key of a weight, or what is written out."""
        if "key" in leaf.attrs:
            return str(leaf.attrs["key"])
        kind, split = leaf.results[0], leaf.attrs.get("parts")
        shape = [size * len(self.chips) if dim == split else size for dim, size in enumerate(kind.shape)]
        return f"{leaf.attrs['values']} {shape} {kind.format}"

    def _slice(self, number: int, parts: Parts, work: Work, chip: int | None) -> int:
        """Add a slice; chip: where it is taken, None for one of a constant."""
        kind = self.kinds[number]
        starts, sizes = (tuple(parts.get(dim, (0, size))[which] for dim, size in enumerate(kind.shape)) for which in (0, 1))
        attrs: dict[str, Plain] = {"starts": starts, "sizes": sizes, "steps": (1,) * len(sizes)}
        made = Work("nn.slice", (number,), attrs, (TensorType(sizes, kind.format, kind.layout),), location=work.location)
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


def _share(work: Work, place: int) -> Parts:
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

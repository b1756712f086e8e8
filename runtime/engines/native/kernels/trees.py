"""Ensembles of decision trees: nodes packed into records, and rows that walk several trees, or several rows that walk one, at once.

A node's record holds the split, the place of its feature in a row, and the places of its two branches; a leaf is a record behind all nodes
whose branches lead to itself, so that a walk ends when no tree moves on.  A row is laid out twice, as it is and negated: a node where NaN
takes the first branch asks -x <= -split of the number below, with its branches exchanged, so that one comparison decides for every node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from ttc.dialects.core.kernels.trees import COLUMNS
from ttc.runtime.engines.native.graph.storage import STORAGE_BYTES, Storage
from ttc.runtime.engines.native.kernels.kernel import JobKernel
from ttc.runtime.engines.native.kernels.words import Words

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer

Computed = Literal["f32", "f64"]
WALKS = 8
"""How many walks, of rows and trees, go on at once: their loads do not wait for each other."""
ROWS = 16
"""The most rows of a task: a multiple of `WALKS`."""
_BITS: dict[Computed, Literal["i32", "i64"]] = {"f32": "i32", "f64": "i64"}
_INFINITY, _NAN = float("inf"), float("nan")


def record_bytes(computed: Computed) -> int:
    """Return bytes of a record: the split, then three numbers of 4 bytes."""
    return 16 if computed == "f32" else 24


@dataclass(frozen=True)
class PackTrees(JobKernel):
    """Packs records of nodes and leaves, and the places of roots, filled up with a leaf that has no weight.

    What is not there becomes a leaf, so that no walk leaves the records or runs for ever, and sets the word `bad`, which `WalkTrees`
    reports.

    Args:
        computed: type of splits in records.
        split, weight: element types.
        is_single: whether a leaf's record holds its only weight, in place of a split.
        empty: that weight of the leaf which fills up roots.

    One task.  Words: `names`.
    """

    computed: Computed
    split: Storage
    weight: Storage
    is_single: bool
    empty: str

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the words of a job: addresses, and the numbers of features, nodes, leaves, trees, and of trees filled up."""
        return ("nodes", "splits", "roots", "weights", "records", "places", "bad", "features", "count", "leaves", "trees", "filled")

    def emit_job(self, f: Writer, words: Words) -> None:
        """Emit the packing of nodes, with checks that they form trees; see `JobKernel.emit_job`."""
        bad = words.pointer("bad")
        f.store(f.constant(0, "i64"), bad)
        with f.loop(0, words["count"]) as node:
            self._node(f, words, node)
        with f.loop(0, words["leaves"]) as leaf:
            weight = f.constant(0, self.computed)
            if self.is_single:
                weight = f.read(f.at(words.pointer("weights"), leaf, self.weight), self.weight)
            self._leaf(f, words, words["count"] + leaf, weight)
        last = words["count"] + words["leaves"]
        self._leaf(f, words, last, f.constant(float(self.empty), self.computed))
        with f.loop(0, words["filled"]) as tree:
            place = f.variable(last)
            with f.when(tree < words["trees"]):
                root = f.converted(f.load(f.at(words.pointer("roots"), tree, "i32"), "i32"), "i64")
                place.set(self._place(f, words, root, f.constant(0, "i64"), last))
            f.store(f.converted(place.get(), "i32"), f.at(words.pointer("places"), tree, "i32"))

    def _node(self, f: Writer, words: Words, node: Value) -> None:
        given = f.at(words.pointer("nodes"), node * COLUMNS, "i32")
        feature, nan, *branches = (f.converted(f.load(f.at(given, i, "i32"), "i32"), "i64") for i in range(COLUMNS))
        split = f.converted(f.read(f.at(words.pointer("splits"), node, self.split), self.split), self.computed)
        takes_nan, features = nan.differs(0), words["features"]
        known = f.converted(feature, "u64") < f.converted(features, "u64")
        self._report(f, words, known)
        feature = f.select(known, feature, f.constant(0, "i64"))
        first, second = (self._place(f, words, branch, node + 1, words["count"] + words["leaves"]) for branch in branches)
        place = feature + f.select(takes_nan, features, f.constant(0, "i64"))
        split = f.select(takes_nan, self._below(f, -split), split)
        first, second = f.select(takes_nan, second, first), f.select(takes_nan, first, second)
        self._record(f, words, node, split, place, first, second)

    def _place(self, f: Writer, words: Words, branch: Value, first: Value, otherwise: Value) -> Value:
        """Give the place of a branch among the records; `otherwise`, and a report, for one before `first` or to nothing."""
        is_node = branch >= 0
        leaf = -branch - 1
        known = f.select(is_node, (branch >= first) & (branch < words["count"]), leaf < words["leaves"])
        self._report(f, words, known)
        return f.select(known, f.select(is_node, branch, words["count"] + leaf), otherwise)

    def _below(self, f: Writer, value: Value) -> Value:
        """Return the largest number below; infinity for NaN, which nothing is to be above; NaN below all numbers."""
        bits = f.bits(value, _BITS[self.computed])
        smallest = f.bits(f.constant(0, _BITS[self.computed]) - ((1 << (8 * STORAGE_BYTES[self.computed] - 1)) - 1), self.computed)
        moved = f.bits(f.select(value > 0.0, bits - 1, bits + 1), self.computed)
        moved = f.select(value.equals(0.0), smallest, moved)
        moved = f.select(value.equals(-_INFINITY), f.constant(_NAN, self.computed), moved)
        return f.select(value.differs(value), f.constant(_INFINITY, self.computed), moved)

    def _leaf(self, f: Writer, words: Words, place: Value, weight: Value) -> None:
        self._record(f, words, place, f.converted(weight, self.computed), f.constant(0, "i64"), place, place)

    def _record(self, f: Writer, words: Words, place: Value, split: Value, feature: Value, first: Value, second: Value) -> None:
        record = f.at(words.pointer("records"), place * record_bytes(self.computed), "i8")
        f.store(split, record)
        numbers = f.at(record, STORAGE_BYTES[self.computed], "i8")
        for i, number in enumerate((feature, second, first)):
            f.store(f.converted(number, "i32"), f.at(numbers, i, "i32"))

    def _report(self, f: Writer, words: Words, known: Value) -> None:
        with f.when(f.inverted(known)):
            f.store(f.constant(1, "i64"), words.pointer("bad"))


@dataclass(frozen=True)
class WalkTrees(JobKernel):
    """Computes y[n, t] from the weights for target t of the leaves that row n reaches.

    Args:
        source, target, weight: element types of x, y and the weights.
        computed: type of splits and sums.
        aggregate: sum, min or max.
        is_single: whether records hold the only weight of each leaf, for the only target.
        trees: that a row walks at once, `WALKS` over a power of two; as many rows do as make up `WALKS`.
        has_targets: whether a tensor says what the weights of a leaf are for.

    A task is `block` rows.  Words: `names`.  Scratch: the rows, twice as long, and their results.
    """

    NAMES: ClassVar = ("x", "records", "places", "weights", "y", "status", "bad", "rows", "block", "features", "count", "leaves", "filled")
    source: Storage
    target: Storage
    weight: Storage
    computed: Computed
    aggregate: str
    is_single: bool
    trees: int
    has_targets: bool

    @property
    def together(self) -> int:
        """How many rows walk at once; a task has memory for a multiple of them."""
        return WALKS // self.trees

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the words of a job: addresses; rows, rows of a task, features, nodes, leaves, trees filled up; trees, weights,
        targets.
        """
        return (*self.NAMES, "trees", "width", "of", *(("targets",) if self.has_targets else ()))

    def emit_job(self, f: Writer, words: Words) -> None:
        """Emit the walks of rows down the trees; see `JobKernel.emit_job`."""
        with f.when(f.load(words.pointer("bad"), "i64").differs(0)):
            f.store(f.constant(1, "i64"), words.pointer("status"))
        places = f.static_array("i32", WALKS)
        with f.loop(f.begin, f.end) as task:
            first = task * words["block"]
            rows = f.smaller(words["block"], words["rows"] - first)
            totals = f.at(f.scratch, self._whole(words["block"]) * words["features"] * 2, self.computed)
            self._lay_out(f, words, first, rows, totals)
            with f.loop(0, words["filled"], self.trees) as tree, f.loop(0, rows, self.together) as row:
                x = f.at(f.scratch, row * words["features"] * 2, self.computed)
                reached = self._walk(f, words, x, f.at(words.pointer("places"), tree, "i32"))
                for i in range(self.together):
                    total = f.at(totals, (row + i) * words["of"], self.computed)
                    leaves = reached[i * self.trees : (i + 1) * self.trees]
                    if self.is_single:
                        self._add_single(f, words, leaves, total)
                        continue
                    for j, place in enumerate(leaves):
                        f.store(f.converted(place, "i32"), f.at(places, j, "i32"))
                    self._add(f, words, places, f.smaller(words["trees"] - tree, self.trees), total)
            self._finish(f, words, first, rows, totals)

    def _whole(self, rows: Value) -> Value:
        """Return the rows rounded up to those that walk at once: they are in memory, whether they are of a task or not."""
        return (rows + (self.together - 1)) // self.together * self.together

    def _lay_out(self, f: Writer, words: Words, first: Value, rows: Value, totals: Value) -> None:
        features = words["features"]
        with f.loop(0, rows) as row:
            x = f.at(words.pointer("x"), (first + row) * features, self.source)
            target = f.at(f.scratch, row * features * 2, self.computed)
            with f.loop(0, features) as i:
                value = f.converted(f.read(f.at(x, i, self.source), self.source), self.computed)
                f.store(value, f.at(target, i, self.computed))
                f.store(-value, f.at(target, features + i, self.computed))
        nothing = f.constant(0.0 if self.aggregate == "sum" else _NAN, self.computed)
        with f.loop(0, rows * words["of"]) as i:
            f.store(nothing, f.at(totals, i, self.computed))

    def _walk(self, f: Writer, words: Words, x: Value, roots: Value) -> list[Value]:
        """Return places of the leaves that some rows reach in some trees, row by row."""
        records, size = words.pointer("records"), record_bytes(self.computed)
        firsts = [f.converted(f.load(f.at(roots, i, "i32"), "i32"), "i64") for i in range(self.trees)]
        at = [f.variable(first) for _ in range(self.together) for first in firsts]
        rows = [f.at(x, i * 2 * words["features"], self.computed) if i else x for i in range(self.together)]
        with f.while_() as stop:
            moved = f.constant(0, "i64")
            for i, place in enumerate(at):
                record = f.at(records, place.get() * size, "i8")
                numbers = f.at(record, STORAGE_BYTES[self.computed], "i8")
                feature = f.converted(f.load(numbers, "i32"), "i64")
                holds = f.load(f.at(rows[i // self.trees], feature, self.computed), self.computed) <= f.load(record, self.computed)
                following = f.converted(f.load(f.at(numbers, f.converted(holds, "i64") + 1, "i32"), "i32"), "i64")
                moved = moved | (following ^ place.get())
                place.set(following)
            stop(moved.equals(0))
        return [place.get() for place in at]

    def _add_single(self, f: Writer, words: Words, reached: list[Value], total: Value) -> None:
        records, sum_ = words.pointer("records"), f.load(total, self.computed)
        for place in reached:
            weight = f.load(f.at(records, place * record_bytes(self.computed), "i8"), self.computed)
            sum_ = self._together(f, sum_, weight)
        f.store(sum_, total)

    def _add(self, f: Writer, words: Words, places: Value, trees: Value, total: Value) -> None:
        """Add the weights of leaves; those that fill up roots, which come last, and what led to nothing have none."""
        width = words["width"]
        with f.loop(0, trees) as tree:
            leaf = f.converted(f.load(f.at(places, tree, "i32"), "i32"), "i64") - words["count"]
            with f.when(leaf < words["leaves"]), f.loop(0, width) as column:
                weight = f.read(f.at(words.pointer("weights"), leaf * width + column, self.weight), self.weight)
                target = column
                if self.has_targets:
                    target = f.converted(f.load(f.at(words.pointer("targets"), leaf * width + column, "i32"), "i32"), "i64")
                    with f.when((target < -1) | (target >= words["of"])):
                        f.store(f.constant(1, "i64"), words.pointer("status"))
                with f.when(f.converted(target, "u64") < f.converted(words["of"], "u64")):
                    place = f.at(total, target, self.computed)
                    f.store(self._together(f, f.load(place, self.computed), f.converted(weight, self.computed)), place)

    def _together(self, f: Writer, total: Value, weight: Value) -> Value:
        if self.aggregate == "sum":
            return total + weight
        better = weight < total if self.aggregate == "min" else weight > total
        return f.select(total.differs(total) | better, weight, total)

    def _finish(self, f: Writer, words: Words, first: Value, rows: Value, totals: Value) -> None:
        y = f.at(words.pointer("y"), first * words["of"], self.target)
        with f.loop(0, rows * words["of"]) as i:
            total = f.load(f.at(totals, i, self.computed), self.computed)
            total = total if self.aggregate == "sum" else f.select(total.differs(total), f.constant(0.0, self.computed), total)
            f.write(total, f.at(y, i, self.target), self.target)

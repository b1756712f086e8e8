"""A program for chips that divide the tensors of its layers: what one chip computes, with the collectives between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

from ttc.dialects.core.plain.functions import LEAVES, Function, Plain, TensorType, Work
from ttc.dialects.core.records import record
from ttc.passes.nn.sharding import SHARDING
from ttc.passes.nn.sharding.elementwise import ONE, SEVERAL
from ttc.passes.nn.sharding.op import TILE, Dim, DividedOp, Division
from ttc.passes.nn.sharding.shape import parted

ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER, PARTITION = "mesh.all_reduce", "mesh.reduce_scatter", "mesh.all_gather", "mesh.partition"
"""Works between chips: the sum of what all have, a part of that, all of what each has a part of, and the own part of what all have;
attribute `dim`."""
BETWEEN = (ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER, PARTITION)
PARTS, ROW_PARTS = "parts", "row_parts"
"""Attributes of constants: the dimension along which those chips have parts that divide columns, and those that divide rows."""
ROWS, COLUMNS = "rows", "columns"
KEEP_COLUMNS = frozenset(f"nn.{name}" for name in (*ONE, *SEVERAL))
VIEWS = ("nn.reshape", "nn.transpose")
"""Ops that leave elements as they are."""
KEEP_ROWS = KEEP_COLUMNS | {"nn.layer_norm", "nn.rms_norm", "nn.reshape"}
"""Ops that work on the rows, or the columns, of a sum that a chip has; all others read all of it."""


@record(frozen=False, eq=False)
class PartedValue:
    """A value of the program while chips get their parts.

    Args:
        forms: its numbers in the new program, by the dimension along which it is divided.
        split: the dimension along which it was made.
        starts: the products whose columns it is made of.
        leaf: the constant or variable that it is.
        is_scattered: whether it is divided because a sum over chips was: what cannot work on the parts gathers them again.
        view: the op that rearranges elements of another value into it, and that value: all of it is made of all of the other.
    """

    forms: dict[Dim, int]
    split: Dim = None
    starts: frozenset[int] = frozenset()
    leaf: Work | None = None
    is_scattered: bool = False
    view: tuple[Work, PartedValue] | None = None


def rows_divided(function: Function, chips: int) -> Dividing:
    """Return the attempt to divide the rows that products, norms and what follows work on; what needs all rows gathers them.

    function: of one chip, which may hold works between those that divide columns; its weights stay as they are.
    """
    found = Dividing(function, (None,) * len(function.outputs), chips, frozenset(), None, by_rows=True)
    found.run()
    return found


def divided(function: Function, updates: Sequence[str | None], chips: int, scatter: str | None, *, joins: bool = False) -> Dividing:
    """Return the attempt in which no product had to be taken back, of a function whose products are cut (`cut.with_products_cut`).

    Products are divided by columns as long as what follows can work on the parts; those that cannot are taken back, and every chip
    computes all of them.  Arguments as of `Dividing`.
    """
    whole_ones: frozenset[int] = frozenset()
    while True:
        found = Dividing(function, updates, chips, whole_ones, scatter, joins)
        found.run()
        if not found.taken_back:
            return found
        whole_ones |= found.taken_back


@record(frozen=False, eq=False)
class Dividing:
    """One attempt to divide a program.

    Args:
        updates: the name of the state or parameter whose new value each output is, if any.
        whole_ones: places of products that are not divided by columns.
        scatter: what chips may get of sums, `ROWS` or `COLUMNS`; None: all of them.
        joins: whether outputs that are divided are joined.
        by_rows: whether rows are divided instead of columns of products; they are gathered where that is needed, and outputs are joined.
        whole, part: works of all chips and of one.
        taken_back: products by columns whose parts had to be gathered.
        kept: names of products that every chip computes.
        made: types of the new program's values for all chips, with the names of their ops.
    """

    function: Function
    updates: Sequence[str | None]
    chips: int
    whole_ones: frozenset[int]
    scatter: str | None
    joins: bool = False
    by_rows: bool = False
    whole: list[Work] = field(default_factory=list)
    part: list[Work] = field(default_factory=list)
    values: list[PartedValue] = field(default_factory=list)
    taken_back: set[int] = field(default_factory=set)
    kept: list[str] = field(default_factory=list)
    outputs: tuple[int, ...] = ()
    started: int = 0
    made: list[tuple[TensorType, tuple[str, ...]]] = field(default_factory=list)

    def run(self) -> None:
        """Divide all works, and give variables their new values as they lie."""
        function = self.function
        self.made = [(kind, ()) for kind in function.inputs]
        self.values = [PartedValue({None: number}) for number in range(len(self.made))]
        reads = [number for work in function.works for number in work.operands] + list(function.outputs)
        for index, work in enumerate(function.works):
            if work.op in LEAVES:
                self.values.append(PartedValue({}, leaf=work))
            else:
                self._divide(index, work, reads)
        states = {str(value.leaf.attrs["sym"]): value for value in self.values if value.leaf is not None and value.leaf.op == "ttc.state"}
        found = []
        for updated, number in zip(self.updates, function.outputs, strict=True):
            value = self.values[number]
            state = states.get(updated or "")
            if state is not None and not state.forms:
                self._lying(state, None)
            want = value.split if state is None else next(iter(state.forms))
            if (self.joins or self.by_rows) and want is not None:
                value.starts, want = frozenset(), None  # its columns are joined once: nothing is taken back
            found.append(self._lying(value, want))
        self.outputs = tuple(found)

    def count(self, *ops: str) -> int:
        """Return how many works of some kinds there are."""
        return sum(work.op in ops for work in self.part)

    def _divide(self, index: int, work: Work, reads: list[int | None]) -> None:
        """Add what one chip does of an op."""
        read = [None if number is None else self.values[number] for number in work.operands]
        types = self.function.value_types
        scattered = _keeps_part(work, read, self.scatter)
        step = DividedOp(
            work,
            tuple(() if number is None else types[number].shape for number in work.operands),
            tuple(None if value is None or (value.is_scattered and not scattered) else value.split for value in read),
            tuple(_is(value, constant=True) for value in read),
            tuple(_is(value, constant=False) and reads.count(number) == 1 for value, number in zip(read, work.operands, strict=True)),
            self.chips,
            index not in self.whole_ones,
            self.by_rows,
            self.joins or self.by_rows,
        )
        division = self._division(step)
        part, wanted = self._part_of_sum(step) if division.partial else None, division.operands
        if part == len(step.shape) - 1 and step.has(2):
            wanted = (*wanted[:2], step.alongside(2, -1))
        operands = tuple(
            None if value is None else self._lying(value, want, owned=own)
            for value, want, own in zip(read, wanted, step.variables, strict=True)
        )
        starts = frozenset(start for value in read if value is not None and value.split is not None for start in value.starts)
        if division.partial:
            self._add_sums(work, operands, part)
            return
        self.started += division.starts
        if step.work.op == "nn.matmul" and step.constants[1] and not any(dim is not None for dim in division.results):
            self.kept.append(", ".join(work.location) or work.op)
        first = self._add(work, operands, division)
        for place, dim in enumerate(division.results):
            own = frozenset() if dim is None else starts | ({index} if division.starts else set())
            view = (work, read[0]) if work.op in VIEWS and read[0] is not None and self.by_rows else None
            self.values.append(PartedValue({dim: first + place}, dim, own, is_scattered=scattered and dim is not None, view=view))

    def _division(self, step: DividedOp) -> Division:
        """Return how an op is divided; where it is not as it lies, or where its parts would not be equal, every chip does all of it."""
        if step.work.op in BETWEEN:
            division = _between_others(step)
        else:
            rule = SHARDING.of(step.work.op.removeprefix("nn."))
            division = None if rule is None else rule(step)
        every = Division((None,) * len(step.shapes), (None,) * len(step.work.results))
        if division is None:
            return every
        wanted = [shape[dim] for shape, dim in zip(step.shapes, division.operands, strict=True) if dim is not None]
        wanted += [kind.shape[dim] for kind, dim in zip(step.work.results, division.results, strict=True) if dim is not None]
        return division if division.filled or all(step.divides(size) for size in wanted) else every

    def _lying(self, value: PartedValue, want: Dim, *, owned: bool = False) -> int:
        """Return the number of a value that is divided along a dimension, or that every chip has all of."""
        if want in value.forms:
            return value.forms[want]
        if value.leaf is not None and self._is_stored(value.leaf, want, owned):
            leaf = value.leaf
            attrs = {} if want is None else {ROW_PARTS if self.by_rows else PARTS: want}
            value.forms[want] = self._append(
                leaf, replace(leaf, attrs={**leaf.attrs, **attrs}, results=(self._kind(leaf.results[0], want),))
            )
            return value.forms[want]
        if want is None and value.view is not None:
            work, source = value.view
            value.forms[None] = self._add(work, (self._lying(source, None),), Division((None,), (None,)))
        elif want is None:
            self.taken_back |= value.starts
            value.forms[None] = self._between(ALL_GATHER, value.forms[value.split], value.split, None)
        else:
            value.forms[want] = self._between(PARTITION, self._lying(value, None), want, want)
        return value.forms[want]

    def _is_stored(self, leaf: Work, want: Dim, owned: bool) -> bool:
        """Return whether a leaf can be kept as it is wanted."""
        if want is None:
            return True
        filled = leaf.results[0].shape[want] % self.chips > 0
        return owned if leaf.op == "ttc.state" else not filled or ("key" in leaf.attrs and leaf.attrs.get(PARTS) != want)

    def _between(self, op: str, number: int, dim: Dim, split: Dim) -> int:
        """Add a work between chips."""
        kind, location = self.made[number]
        attrs: dict[str, Plain] = {"dim": dim, **({"over": ROWS} if self.by_rows else {})}
        work = Work(op, (number,), attrs, (kind,), location=location)
        return self._append(work, replace(work, results=(self._kind(kind, split),)))

    def _part_of_sum(self, step: DividedOp) -> Dim:
        """Return the dimension along which chips get parts of a sum, whole tiles each: what works on parts behind it takes a part of its
        time, and what is sent is the same.  None where each gets all of it."""
        rank, tall = len(step.shape), step.has(2) and len(step.shapes[2]) > 1
        if self.scatter is None or rank < 2 or (tall and self.scatter == ROWS):
            return None
        dim = rank - (2 if self.scatter == ROWS else 1)
        return dim if step.divides(step.shape[dim]) and step.shape[dim] // self.chips % TILE == 0 else None

    def _add_sums(self, work: Work, operands: tuple[int | None, ...], part: Dim) -> None:
        """Add a product of parts, the sum over all chips, or rows of it, and the bias behind it."""
        product = replace(work, operands=(*operands[:2], None)[: len(operands)])
        number = self._append(product, product)
        number = self._between(ALL_REDUCE if part is None else REDUCE_SCATTER, number, part, part)
        if len(operands) > 2 and operands[2] is not None:
            bias = Work("nn.add", (number, operands[2]), {}, work.results, location=work.location)
            number = self._append(bias, replace(bias, results=(self._kind(bias.results[0], part),)))
        self.values.append(PartedValue({part: number}, part, is_scattered=part is not None))

    def _add(self, work: Work, operands: tuple[int | None, ...], division: Division) -> int:
        """Add an op as all chips do it, and as one does; returns the number of its first result."""
        kinds = tuple(self._kind(kind, dim) for kind, dim in zip(work.results, division.results, strict=True))
        part = replace(work, operands=operands, attrs={**work.attrs, **division.attrs}, results=kinds)
        return self._append(replace(work, operands=operands), part)

    def _append(self, whole: Work, part: Work) -> int:
        first = len(self.made)
        self.whole.append(whole)
        self.part.append(part)
        self.made += [(kind, whole.location) for kind in whole.results]
        return first

    def _kind(self, kind: TensorType, dim: Dim) -> TensorType:
        return kind if dim is None else TensorType(parted(kind.shape, dim, self.chips), kind.format, kind.layout)


def _keeps_part(work: Work, read: Sequence[PartedValue | None], scatter: str | None) -> bool:
    """Return whether an op works on the part that a chip has of a sum: all that is divided of what it reads is so."""
    divided = [value.is_scattered for value in read if value is not None and value.split is not None]
    return work.op in (KEEP_ROWS if scatter == ROWS else KEEP_COLUMNS) and bool(divided) and all(divided)


def _between_others(step: DividedOp) -> Division | None:
    """Keep rows divided in a work between the chips that divide columns, unless it is along them."""
    split = step.splits[0]
    return None if split is None or split == step.work.attrs["dim"] else Division((split,), (split,))


def _is(value: PartedValue | None, *, constant: bool) -> bool:
    """Return whether a value is a constant, or a variable."""
    return value is not None and value.leaf is not None and (value.leaf.op != "ttc.state") == constant

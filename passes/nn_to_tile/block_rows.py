"""The pass that cuts rows, of which data decide how many there are, into blocks of fixed sizes, for which there are kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import count
from math import prod
from typing import Any, ClassVar

from xdsl.ir import Block, Operation, SSAValue

from ttc.dialects.core.batch_axis import OUTERMOST
from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats.text import STRING
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.ir.spec import DYNAMIC, Spec, spec_of, tensor_type
from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.core.records import record
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.batching import carriage
from ttc.dialects.nn.batching.op import BatchedOp, Carriage
from ttc.dialects.nn.blocks import RowBlocksOp
from ttc.dialects.nn.control import ControlOp, RequireOp, YieldOp
from ttc.dialects.nn.dynamic import DynamicExpandOp
from ttc.dialects.nn.index import GatherNdOp, GatherOp
from ttc.dialects.nn.pieces import SliceOp
from ttc.dialects.nn.selection import RangeOp
from ttc.dialects.nn.shape import ExpandOp, ReshapeOp, ShapeOfOp
from ttc.dialects.nn.unary import CastOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.match import constant_scalar, users

FEWEST = 6
"""The least number of ops that are worth the call of a plan, and the copies around it."""
MANY = 999_983
"""Stands for a number of rows that no static dimension has."""
LARGEST, ELEMENTS = (256, 1 << 14), 1 << 16
"""Bounds on the rows of the largest block, which has so many that the widest value has ELEMENTS elements."""
STEPS = (6, 4, 2, 0)
"""Powers of two by which the blocks are smaller than the largest."""


@record
class BlockRows(Pass):
    """Put ops that treat each row by itself, where data decide how many rows there are, into regions for blocks of fixed numbers of rows.

    With `fewest` 3 and `steps` 8 and 4:

    Before:
        (%a: tensor<9x2xf32>, %c: tensor<9xi1>)
        %x = nn.compress(%a, %c) {axis = 0} : (tensor<9x2xf32>, tensor<9xi1>) -> tensor<?x2xf32>
        %0 = nn.exp(%x) : (tensor<?x2xf32>) -> tensor<?x2xf32>
        %1 = nn.sin(%0) : (tensor<?x2xf32>) -> tensor<?x2xf32>
        %2 = nn.cos(%1) : (tensor<?x2xf32>) -> tensor<?x2xf32>
        return %2 : tensor<?x2xf32>
    After:
        (%a: tensor<9x2xf32>, %c: tensor<9xi1>)
        %x = nn.compress(%a, %c) {axis = 0} : (tensor<9x2xf32>, tensor<9xi1>) -> tensor<?x2xf32>
        %0 = nn.row_blocks(%x) {rows = 1} : (tensor<?x2xf32>) -> tensor<?x2xf32> {
        ^bb0(%d: tensor<64x2xf32>):
          %1 = nn.exp(%d) : (tensor<64x2xf32>) -> tensor<64x2xf32>
          %2 = nn.sin(%1) : (tensor<64x2xf32>) -> tensor<64x2xf32>
          %3 = nn.cos(%2) : (tensor<64x2xf32>) -> tensor<64x2xf32>
          nn.yield(%3) : (tensor<64x2xf32>) -> ()
        } {
        ^bb0(%b: tensor<1024x2xf32>):
          %4 = nn.exp(%b) : (tensor<1024x2xf32>) -> tensor<1024x2xf32>
          %5 = nn.sin(%4) : (tensor<1024x2xf32>) -> tensor<1024x2xf32>
          %6 = nn.cos(%5) : (tensor<1024x2xf32>) -> tensor<1024x2xf32>
          nn.yield(%6) : (tensor<1024x2xf32>) -> ()
        }
        return %0 : tensor<?x2xf32>
    Missed:
        fewer ops in a row than pay; an op that is not known to treat rows by themselves, or that reads rows which may be others.

    Args:
        fewest: ops that are worth it.
        steps: powers of two by which the blocks are smaller than the largest.
    """

    name: ClassVar[str] = "block-rows"
    fewest: int = FEWEST
    steps: tuple[int, ...] = STEPS

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        for function in entry_functions(unit.module):
            for block in list(_blocks(function)):
                self._cut(block, unit.weights, rewriter)

    def _cut(self, block: Block, weights: WeightStore, rewriter: Rewriter) -> None:
        rows = _Rows()
        _drop_gathers_of_all(block, weights, rewriter)
        groups = list(_groups(block, rows))
        for group in groups:
            if len(group.ops) < self.fewest:
                rewriter.missed(group.ops[0], f"{len(group.ops)} ops on rows of which data decide the number stay by themselves")
            elif rewriter.allow("block-rows", group.ops[-1]):
                group.build(rewriter, rows, self.steps)


def _blocks(op: Operation) -> Iterator[Block]:
    """Yield the blocks of a function, and of the loops and branches in it; those inside first."""
    for region in op.regions:
        for inner in region.block.ops:
            if isinstance(inner, ControlOp):
                yield from _blocks(inner)
        yield region.block


class _Rows:
    """Which values of a block have the same rows, as far as is known: a number for each set of such values."""

    def __init__(self) -> None:
        self._known: dict[SSAValue, int] = {}
        self._numbers = count()

    def of(self, value: SSAValue) -> int | None:
        """Return the set of a value whose dimension 0 alone depends on data; None for others."""
        spec = spec_of(value.type)
        if spec.rank == 0 or spec.shape[0] != DYNAMIC or DYNAMIC in spec.shape[1:] or spec.dtype == STRING:
            return None
        if value not in self._known:
            self._known[value] = next(self._numbers)
        return self._known[value]

    def note(self, op: Operation, rows: int | None) -> None:
        """Remember that results of an op are of a set."""
        if rows is not None:
            self._known.update((result, rows) for result in op.results if self.of(result) is not None)

    def handed_on(self, op: Operation) -> int | None:
        """Return the set that the result of an op is of, which reads other rows than those it makes."""
        if isinstance(op, RequireOp):
            return self.of(op.operands[0])
        if isinstance(op, GatherOp) and op.plain_attrs()["axis"] == 0:
            return self.of(op.operands[1])
        return None


@record(frozen=False, eq=False)
class _Group:
    """Ops that follow one another on the same rows."""

    rows: int
    ops: list[NNOp] = field(default_factory=list)

    def build(self, rewriter: Rewriter, rows: _Rows, steps: Sequence[int]) -> None:
        """Put the ops into regions."""
        last, members = self.ops[-1], set(self.ops)
        read = list(dict.fromkeys(v for op in self.ops for v in _read(op) if v.owner not in members))
        read.sort(key=lambda value: rows.of(value) is None)
        made = [v for op in self.ops for v in op.results if any(_reads(user, v) and user not in members for user in users(v))]
        cut = sum(rows.of(value) is not None for value in read)
        largest = _largest(self.ops)
        blocks = [_block(self.ops, read, cut, made, largest >> step) for step in steps]
        new = RowBlocksOp.build_with(*read, location=rewriter.location(self.ops), blocks=blocks, rows=cut)
        rewriter.insert(last, new)
        for old, result in zip(made, new.results, strict=True):
            result.name_hint = old.name_hint
            old.replace_all_uses_with(result)
        for op in reversed(self.ops):
            _drop(op, rewriter)


def _drop(op: Operation, rewriter: Rewriter) -> None:
    """Erase an op that nothing reads but what asks for the shape of its results, which nothing reads."""
    for result in op.results:
        for user in users(result):
            rewriter.erase_dead(user)
    rewriter.erase_dead(op)


def _groups(block: Block, rows: _Rows) -> Iterator[_Group]:
    """Yield groups of ops of a block, in order, each as long as nothing else reads its results."""
    open_: dict[int, _Group] = {}
    home: dict[Operation, _Group] = {}
    for op in list(block.ops):
        number = _number(op, rows) if isinstance(op, NNOp) else None
        for value in op.operands:
            group = home.get(value.owner) if isinstance(value.owner, Operation) else None
            if group is not None and group.rows != number and open_.get(group.rows) is group and not _asks_for_rows(op):
                yield open_.pop(group.rows)
        if number is None:
            rows.note(op, rows.handed_on(op))
        elif isinstance(op, NNOp):
            home[op] = group = open_.setdefault(number, _Group(number))
            group.ops.append(op)
            rows.note(op, number)
    yield from open_.values()


def _drop_gathers_of_all(block: Block, weights: WeightStore, rewriter: Rewriter) -> None:
    """Use values in place of their rows 0, 1, ... up to the last."""
    rows = _Rows()
    for op in list(block.ops):
        if not isinstance(op, NNOp):
            continue
        source = _counted(op.operands[1], weights) if isinstance(op, GatherOp | GatherNdOp) else None
        attrs = op.plain_attrs()
        if source is not None and not attrs.get("axis", attrs.get("batch_dims")) and op.results[0].type == op.operands[0].type:
            number = rows.of(op.operands[0])
            if number is not None and number == rows.of(source) and rewriter.allow("gather-all-rows", op):
                indices = op.operands[1].owner
                rewriter.replace(op, op.operands[0])
                if isinstance(indices, Operation):
                    rewriter.erase_dead(indices)
                continue
        number = _number(op, rows)
        rows.note(op, rows.handed_on(op) if number is None else number)


def _counted(indices: SSAValue, weights: WeightStore) -> SSAValue | None:
    """Return the value whose rows indices count from 0; None for others."""
    owner = _without_views(indices)
    if not isinstance(owner, RangeOp) or [constant_scalar(v, weights) for v in (owner.operands[0], owner.operands[2])] != [0, 1]:
        return None
    picked = _without_views(owner.operands[1])
    if isinstance(picked, SliceOp) and picked.plain_attrs()["starts"] == (0,) and spec_of(picked.results[0].type).elements == 1:
        picked = picked.operands[0].owner
    return picked.operands[0] if isinstance(picked, ShapeOfOp) else None


def _without_views(value: SSAValue) -> Operation | Block:
    """Return what makes the elements of a value, which reshapes and casts hand on."""
    owner = value.owner
    while isinstance(owner, ReshapeOp | CastOp):
        owner = owner.operands[0].owner
    return owner


def _asks_for_rows(op: Operation) -> bool:
    """Return whether an op gives a shape that only ops ask for which regions need not ask."""
    return isinstance(op, ShapeOfOp) and all(_source_of_rows(user) is not None for user in users(op.results[0]))


def _source_of_rows(op: Operation) -> SSAValue | None:
    """Return the value whose rows an op expands one element to; None for other ops."""
    if not isinstance(op, DynamicExpandOp) or not isinstance(op.operands[1].owner, ShapeOfOp) or spec_of(op.operands[0].type).elements != 1:
        return None
    found = op.operands[1].owner.operands[0]
    return found if spec_of(found.type).shape == spec_of(op.results[0].type).shape else None


def _read(op: NNOp) -> Sequence[SSAValue]:
    """Return the operands that an op has in a region."""
    return op.operands[:1] if _source_of_rows(op) is not None else op.operands


def _reads(user: Operation, value: SSAValue) -> bool:
    """Return whether an op reads more of a value than its shape, for nothing else."""
    return not (_asks_for_rows(user) and value in user.operands)


def _number(op: NNOp, rows: _Rows) -> int | None:
    """Return the set of the rows that an op treats by themselves; None if it is not known to."""
    source = _source_of_rows(op)
    if source is not None:
        return rows.of(source)
    sets = {rows.of(v) for v in op.operands if not spec_of(v.type).is_static}
    if len(sets) != 1 or None in sets or isinstance(op, ControlOp) or any(spec_of(v.type).dtype == STRING for v in op.operands):
        return None
    if any(0 in spec_of(v.type).shape for v in (*op.operands, *op.results)) or not op.results:
        return None
    (number,) = sets
    return number if _row_by_row(op) is not None else None


def _row_by_row(op: NNOp) -> Carriage | None:
    """Return how each row of the results depends on the same row of the operands that have rows, and on nothing of the others.

    None if it may depend on more.
    """
    operands = op.named_operands()
    carried = tuple(None if v is None or spec_of(v.type).is_static else OUTERMOST for v in operands)
    specs = tuple(None if v is None else _sized(spec_of(v.type)) for v in operands)
    attrs = _attrs(op)
    try:
        found = type(op)._infer([None if s is None else tensor_type(s) for s in specs], attrs)
    except Error:
        return None
    wanted = tuple(_sized(spec_of(result.type)) for result in op.results)
    static = all(DYNAMIC not in spec.shape and spec.shape[:1] == (MANY,) for spec in wanted)
    if not static or tuple(found) != wanted:
        return None
    how = carriage(op.name.removeprefix("nn."), BatchedOp(specs, wanted, attrs, carried, MANY))
    return how if how is not None and how.operands == carried and set(how.results) == {OUTERMOST} else None


def _sized(spec: Spec, rows: int = MANY) -> Spec:
    """Return a type with so many rows, if data decide how many it has."""
    return spec if spec.is_static else Spec((rows, *spec.shape[1:]), spec.dtype)


def _attrs(op: NNOp) -> dict[str, Any]:
    """Return attributes for MANY rows."""
    attrs = op.plain_attrs()
    sizes = attrs.get("sizes")
    return {**attrs, "sizes": (MANY, *sizes[1:])} if isinstance(sizes, tuple) and sizes[:1] == (DYNAMIC,) else attrs


def _largest(ops: Sequence[NNOp]) -> int:
    """Return the rows of the largest block: a power of two."""
    shapes = [spec_of(v.type).shape for op in ops for v in (*op.operands, *op.results) if not spec_of(v.type).is_static]
    widest = max(prod(shape[1:]) for shape in shapes)
    least, most = LARGEST
    return min(most, max(least, 1 << (ELEMENTS // max(widest, 1)).bit_length() - 1))


def _block(ops: Sequence[NNOp], read: Sequence[SSAValue], cut: int, made: Sequence[SSAValue], size: int) -> Block:
    """Return a block that computes so many rows."""
    block = Block(arg_types=[tensor_type(_sized(spec_of(v.type), size)) for v in read])
    inside: dict[SSAValue, SSAValue] = dict(zip(read, block.args, strict=True))
    for op in ops:
        new = _with_rows(op, [None if v is None else inside.get(v, v) for v in op.named_operands()], size)
        block.add_op(new)
        for old, result in zip(op.results, new.results, strict=True):
            result.name_hint = old.name_hint
            inside[old] = result
    block.add_op(YieldOp.make([inside[v] for v in made], {}, (), ops[-1].location))
    return block


def _with_rows(op: NNOp, operands: Sequence[SSAValue | None], size: int) -> NNOp:
    """Return an op on so many rows."""
    result = _sized(spec_of(op.results[0].type))
    if _source_of_rows(op) is not None:
        return ExpandOp.build(operands[0], location=op.location, shape=(size, *result.shape[1:]))
    how, attrs = _row_by_row(op), _attrs(op)
    return type(op).build(*operands, location=op.location, **(attrs if how is None else how.attrs(attrs, MANY, size)))

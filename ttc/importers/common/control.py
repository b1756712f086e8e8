"""Branches and loops that data decides: importers give the bodies as functions, here they become regions.

    (y,) = branch(b, condition, [lambda: [b.nn("exp", x)], lambda: [b.nn("neg", x)]])

    def step(i, values):                       # i: number of the iteration, tensor[] of int64; values: the carried ones
        (total,) = values
        total = b.nn("add", total, x)          # anything from outside may be read: it becomes an operand
        return Step([total], stacks=[total], going=b.nn("less", total, limit))

    (total,), (history,) = loop(b, step, [zero], count=n, condition=b.nn("less", zero, limit))

A body makes ops with the builder as ever, at nodes of its own if it enters them.  It may be called several times: a loop's once more
whenever a carried value turns out to change its shape, which then is dynamic (`?`) where it does.  So it must not keep what it made.
A `while` with a condition on the carried values is a loop whose condition is that of the first values, and whose step gives `going` for
the new ones: the caller maps the condition twice.  Results are static where every branch, or iteration, agrees; others have dynamic
dimensions.  Such ops run on the host, with all that follows from their dynamic results.
Conditions and counts that are known (`b.known`) are for the caller to fold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.spec import Spec, spec_of, tensor_type
from ttc.dialects.core.ir.values import Block, Operation, SSAValue, UnknownLoc
from ttc.dialects.core.records import record
from ttc.dialects.netlist.check_work import MAX_BODIES
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.control import COUNT_TYPE, TRUTH_TYPE, BranchOp, LoopOp, YieldOp, is_written_out, joined
from ttc.importers.common.builder import Builder
from ttc.importers.common.unsupported import Unsupported

MAX_OPS = 1 << 15
"""The most ops that all bodies may have, each counted as often as it is made."""


class Differing(Unsupported):
    """Raised for values of branches or iterations that differ in rank or dtype."""


@record
class LoopIteration:
    """The results of one iteration of a loop, and whether another follows.

    Args:
        carried: what the next one takes.
        stacks: what is stacked over all iterations, along a new first dimension.
        going: whether there is a next one, tensor[] of bool; None: the loop has no condition.
    """

    carried: Sequence[SSAValue]
    stacks: Sequence[SSAValue] = ()
    going: SSAValue | None = None


def branch(b: Builder, which: SSAValue, bodies: Sequence[Callable[[], Sequence[SSAValue]]]) -> tuple[SSAValue, ...]:
    """Return what the chosen body gives.

    Args:
        which: one bool (true: the first of two bodies) or one integer (its number; the last body where there is none of it), of any shape.
        bodies: each gives as many values, alike in rank and dtype.
    Raises: Differing for values that differ in these, Unsupported for other numbers, E0203 for bodies nested too deep or too large in
        all, and what bodies raise.
    """
    chosen = b.reshape(which) if b.dtype(which) == TRUTH_TYPE else b.cast(b.reshape(which), COUNT_TYPE)
    regions: list[_Region] = []
    try:
        for body in bodies:
            regions.append(_Region.of(b, (), lambda block, body=body: body()))
        _require_alike([region.results for region in regions])
        captured = _captures(regions)
        blocks = [region.block_with(captured) for region in regions]
    except BaseException:
        _drop(regions)
        raise
    return b.place(BranchOp.build_with(chosen, *captured, location=b.location, blocks=blocks))


def loop(
    b: Builder,
    step: Callable[[SSAValue, Sequence[SSAValue]], LoopIteration],
    carried: Sequence[SSAValue],
    *,
    count: SSAValue | None = None,
    condition: SSAValue | None = None,
    length: int | None = None,
) -> tuple[tuple[SSAValue, ...], tuple[SSAValue, ...]]:
    """Return the carried values after the last iteration, and the stacks, [iterations, ...].

    Args:
        step: makes one iteration: given its number and the carried values.
        carried: what the first iteration takes.
        count: iterations at most, one integer; condition: whether there is a first one, one bool; both may be absent.
        length: iterations that there are in any case, if that is known; the first dimension of the stacks then is, too.
    Raises: Differing for a carried value that changes its rank or dtype, E0203 as `branch` does, and what `step` raises.
    """
    number = None if count is None else b.cast(b.reshape(count), COUNT_TYPE)
    first = None if condition is None else b.reshape(condition)
    types = _remembered(b, [b.spec(x) for x in carried])
    while True:
        region = _Region.of(b, (Spec((), COUNT_TYPE), *types), lambda block: _outputs(b, step, block, condition is not None))
        found = [spec_of(v.type) for v in region.results[first is not None :][: len(carried)]]
        try:
            wider = [_wider(a, b_) for a, b_ in zip(types, found, strict=True)]
        except BaseException:
            _drop([region])
            raise
        if wider == types:
            break
        _drop([region])
        types = wider
        b.widened[b.node] = tuple(types)
    captured = _captures([region])
    attrs = {"carried": len(carried), "length": length}
    block = region.block_with(captured)
    results = b.place(LoopOp.build_with(number, first, *carried, *captured, location=b.location, blocks=[block], **attrs))
    return results[: len(carried)], results[len(carried) :]


def _remembered(b: Builder, types: list[Spec]) -> list[Spec]:
    """The types that the carried values of this node turned out to need before: without these, loops inside each other would be mapped
    twice as often with every level."""
    before = b.widened.get(b.node, ())
    fits = [(s.rank, s.dtype) for s in types] == [(s.rank, s.dtype) for s in before]
    return [joined(a, b_) for a, b_ in zip(types, before, strict=True)] if fits else types


def _outputs(b: Builder, step: Callable[..., LoopIteration], block: Block, conditional: bool) -> list[SSAValue]:
    number, *values = block.args
    made = step(number, values)
    if conditional != (made.going is not None):
        raise Unsupported("a loop has a condition of its first iteration alone, or of all others")
    going = [] if made.going is None else [b.reshape(made.going)]
    return [*going, *made.carried, *made.stacks]


def _wider(a: Spec, b: Spec) -> Spec:
    if a.rank != b.rank or a.dtype != b.dtype:
        raise Differing(f"a value is {a} here and {b} there")
    return joined(a, b)


def _require_alike(yields: Sequence[Sequence[SSAValue]]) -> None:
    if len({len(values) for values in yields}) != 1:
        raise Unsupported("branches give different numbers of values")
    for values in zip(*yields, strict=True):
        for other in values[1:]:
            _wider(spec_of(values[0].type), spec_of(other.type))


@record(frozen=False)
class _Region:
    """A region in the making: its block's own arguments, its ops, and what it gives; what it reads from outside is not an argument yet."""

    block: Block
    ops: list[NNOp]
    results: list[SSAValue]

    @staticmethod
    def of(b: Builder, takes: Iterable[Spec], body: Callable[[Block], Sequence[SSAValue]]) -> _Region:
        block = Block(arg_types=[tensor_type(spec) for spec in takes])
        if b.depth >= MAX_BODIES:
            raise Error("E0203", f"branches and loops that data decides nest more than {MAX_BODIES} deep")
        b.depth += 1
        with b.collected() as ops:
            try:
                results = list(body(block))
            except BaseException:
                erase(ops)
                raise
            finally:
                b.depth -= 1
        b.spent += len(ops) + 1
        if b.spent > MAX_OPS:
            raise Error("E0203", f"branches and loops that data decides hold more than {MAX_OPS} ops once all are written out")
        return _Region(block, ops, results)

    def outside(self) -> list[SSAValue]:
        """Values that it reads and does not make, in order of first use."""
        inside: set[SSAValue] = set(self.block.args)
        found: dict[SSAValue, None] = {}
        for op in self.ops:
            found.update((x, None) for x in op.operands if x not in inside)
            inside.update(op.results)
        found.update((x, None) for x in self.results if x not in inside)
        return list(found)

    def block_with(self, captured: Sequence[SSAValue]) -> Block:
        """Return the finished block: captured values are arguments after its own, literals stand in it."""
        inner: dict[SSAValue, SSAValue] = {}
        for value in captured:
            inner[value] = self.block.insert_arg(value.type, len(self.block.args))
        for value in self.outside():
            if value not in inner and isinstance(value.owner, Operation):
                literal = value.owner.clone()
                self.block.add_op(literal)
                inner[value] = literal.results[0]
        for op in self.ops:
            for index, operand in enumerate(op.operands):
                if operand in inner:
                    op.operands[index] = inner[operand]
            self.block.add_op(op)
        self.block.add_op(YieldOp.make([inner.get(x, x) for x in self.results], {}, (), UnknownLoc()))
        return self.block


def _captures(regions: Sequence[_Region]) -> list[SSAValue]:
    """Return what regions read from outside, but for literals."""
    found = dict.fromkeys(x for region in regions for x in region.outside())
    return [x for x in found if not (isinstance(x.owner, Operation) and is_written_out(x.owner))]


def _drop(regions: Sequence[_Region]) -> None:
    for region in regions:
        erase(region.ops)


def erase(ops: Sequence[NNOp]) -> None:
    """Forget ops that go nowhere, so that what they read does not count as used."""
    for op in reversed(ops):
        op.drop_all_references()

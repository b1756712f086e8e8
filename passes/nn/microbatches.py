"""Entry functions of one microbatch made into those of several: streamed one after another, or unrolled into one function."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Operation, SSAValue

from ttc.dialects.core.batch_axis import OUTERMOST, BatchAxis
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import attribute
from ttc.dialects.core.ir.entries import INPUT_COUNT, THEN, Port, make_function
from ttc.dialects.core.ir.leaves import LeafOp, ParamOp, StateOp
from ttc.dialects.core.ir.locations import where
from ttc.dialects.core.ir.spec import Spec, spec_of, tensor_type
from ttc.dialects.nn.block_maker import BlockMaker
from ttc.dialects.nn.making import part
from ttc.dialects.nn.norm import BatchNormTrainingOp
from ttc.passes.base import Unit
from ttc.passes.nn.entries import OpenEntry

STATISTICS = (3, 4)
"""Operands of a batch norm in training that are the running statistics which it moves."""


def require_rows(entry: OpenEntry, rows: int | None) -> int:
    """Return the rows of a microbatch.  Raises E0101 if inputs have none."""
    if rows is None:
        raise Error("E0101", "the inputs have no rows: there are no microbatches", where=where(entry.function))
    return rows


# ---- streamed -------------------------------------------------------------------------------------------------------------------


def why_not_streamed(entry: OpenEntry) -> str | None:
    """Return why microbatches cannot be streamed through an entry; None if they can.

    Each epoch computes all microbatches before the next epoch begins.  So a state that changes from one to the next must be read where it
    is changed, and nowhere else.
    """
    leaves = {leaf.sym.data: leaf for leaf in entry.leaves() if isinstance(leaf, StateOp)}
    for port, value in entry.results:
        if port.updates is None:
            continue
        leaf = leaves.get(port.updates)
        if leaf is None:
            return f"'{port.updates}' is changed, but not read"
        if not all(_moves(use.operation, use.index, value) for use in leaf.result.uses):
            return f"'{port.updates}' changes from one to the next, and is read elsewhere than where it changes"
    return None


def _moves(op: Operation, index: int, value: SSAValue) -> bool:
    """Return whether an operand is what the op itself makes the new value of."""
    return value.owner is op and (len(op.results) == 1 or (isinstance(op, BatchNormTrainingOp) and index in STATISTICS))


def stream(entry: OpenEntry, microbatches: int, rows: int, summed: Collection[str], then: str) -> None:
    """Let an entry take so many microbatches, one after another.

    Args:
        rows: of a microbatch: the first dimension of what has one of each.
        summed: results that are sums over all microbatches; of others that have no rows, the last microbatch's is given.
        then: the entry function that runs after it.
    """

    entry.arguments = [replace(port, streamed=_rows_at(value, rows)) for port, value in zip(entry.arguments, entry.block.args, strict=True)]
    results: list[tuple[Port, SSAValue]] = []
    for port, value in entry.results:
        adds = port.name in summed
        given = replace(port, summed=adds, streamed=None if adds else _rows_at(value, rows))
        results.append((given if port.updates is None else port, value))
    entry.results = results
    entry.function.attributes[INPUT_COUNT] = attribute(microbatches)
    entry.function.attributes[THEN] = StringAttr(then)


def _rows_at(value: SSAValue, rows: int) -> BatchAxis | None:
    """Return where a value has rows of each microbatch; None if it has none."""
    return OUTERMOST if spec_of(value.type).shape[:1] == (rows,) else None


# ---- unrolled -------------------------------------------------------------------------------------------------------------------


def unrolled(entry: OpenEntry, microbatches: int, rows: int, unit: Unit, summed: Collection[str]) -> OpenEntry:
    """Return the entry for several microbatches: inputs hold their rows one after another; states go from each to the next.

    summed: outputs that are added.
    """
    wide = [_widened(spec_of(a.type), rows, microbatches) for a in entry.block.args]
    declared: list[tuple[Port, Attribute]] = [(port, tensor_type(s)) for port, s in zip(entry.arguments, wide, strict=True)]
    made = OpenEntry(make_function(entry.function.sym_name.data, declared, entry.function.location), entry.arguments)
    maker = BlockMaker(made.block, unit.weights)
    leaves: dict[tuple[str, object], SSAValue] = {}
    now: dict[str, SSAValue] = {}
    runs: list[list[SSAValue]] = []
    for number in range(microbatches):
        maker.enter(entry.function.location)
        values: dict[SSAValue, SSAValue] = {}
        for old, new in zip(entry.block.args, made.block.args, strict=True):
            same = old.type == new.type
            values[old] = new if same else part(maker, new, 0, number * rows, rows)
        _copy(entry.block.ops, made, values, leaves, now)
        runs.append([values.get(value, value) for _, value in entry.results])
        now |= {port.updates: value for (port, _), value in zip(entry.results, runs[-1], strict=True) if port.updates is not None}
    rows_of_all: list[tuple[Port, SSAValue]] = []
    for index, (port, old) in enumerate(entry.results):
        maker.enter(old.owner.location if isinstance(old.owner, Operation) else entry.function.location)
        rows_of_all.append((port, _together(maker, port, [run[index] for run in runs], rows, added=port.name in summed)))
    made.results = rows_of_all
    entry.function.detach()
    entry.function.erase()
    unit.module.body.block.add_op(made.function)
    return made


def _widened(spec: Spec, rows: int, microbatches: int) -> Spec:
    """Return the type of an input of several microbatches."""
    return Spec((rows * microbatches, *spec.shape[1:]), spec.dtype) if spec.shape[:1] == (rows,) else spec


def _copy(
    ops: Iterable[Operation],
    made: OpenEntry,
    values: dict[SSAValue, SSAValue],
    leaves: dict[tuple[str, object], SSAValue],
    now: Mapping[str, SSAValue],
) -> None:
    """Copy the ops of one microbatch; leaves are shared, but states that an earlier one has changed."""
    for op in ops:
        if isinstance(op, StateOp) and op.sym.data in now:
            values[op.result] = now[op.sym.data]
            continue
        key = _identity(op) if isinstance(op, LeafOp) else None
        if key is not None and key in leaves:
            values[op.results[0]] = leaves[key]
            continue
        copy = op.clone(values)
        made.block.add_op(copy)
        if key is not None:
            leaves[key] = copy.results[0]


def _identity(leaf: LeafOp) -> tuple[str, object]:
    """Return what two leaves have in common that are one."""
    return leaf.name, leaf.sym.data if isinstance(leaf, ParamOp | StateOp) else leaf.value


def _together(maker: BlockMaker, port: Port, values: Sequence[SSAValue], rows: int, *, added: bool) -> SSAValue:
    """Return one result of all microbatches: their sum, their rows one after another, or that of the last, which alone updates states."""
    first = spec_of(values[0].type)
    if port.updates is not None:
        return values[-1]
    if added:
        total = values[0]
        for value in values[1:]:
            total = maker.nn("add", total, value)
        return total
    return maker.nn("concat", *values, axis=0) if first.shape[:1] == (rows,) else values[-1]

"""The stage of every op of an imported program, by the names that its file has for ops and parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ttc.dialects.core.errors import Error, nearest, warn
from ttc.dialects.core.ir.leaves import LeafOp, ParamOp
from ttc.dialects.core.ir.locations import source_names, where
from ttc.dialects.core.ir.values import Operation, SSAValue
from ttc.stages.plans import PlanLine, StagePlan, rows_of, stage_of


def stages_by_name(ops: Sequence[Operation], plan: StagePlan, *, strict: bool) -> dict[Operation, int]:
    """Return the stage of every op, counted from 0 without gaps, so that all values flow forward.

    An op has the names that its file gives it and the parameters that it reads, and those of what holds them: `encoder.layer.0` holds
    `/encoder/layer.0/MatMul`, and what reads `encoder.layer.0.weight`.  Its kind is its mnemonic.

    Args:
        ops: in order, without leaves.
        plan: of names.
        strict: whether an op that reads a value of a later stage is an error; else it moves to that stage, with a warning.
    Raises: E0101 for a plan whose names no op has; E0503 for such an op.
    """
    names = {op: tuple(dict.fromkeys(_names(op))) for op in ops}
    asked, found, moved = _planned(names, rows_of(plan)), dict[Operation, int](), list[str]()
    for op in ops:
        stage = asked[op]
        last = max(
            (x.owner for x in read_by(op) if isinstance(x.owner, Operation) and x.owner in found), key=found.__getitem__, default=None
        )
        if last is not None and found[last] > stage:
            message = f"what '{where(last)}' of stage {found[last]} gives flows back: '{where(op)}' of stage {stage} reads it"
            if strict:
                raise Error("E0503", message, where=where(op), hint="let stages follow each other as values do; or strict=False")
            moved.append(message)
            stage = found[last]
        found[op] = stage
    if moved:
        warn(f"{moved[0]}; {'it is' if len(moved) == 1 else f'{len(moved)} such ops are'} of the later stage")
    places = {number: place for place, number in enumerate(sorted(set(found.values())))}
    return {op: places[number] for op, number in found.items()}


def read_by(op: Operation) -> Iterator[SSAValue]:
    """Yield the values that an op reads, and those from outside that its loops and branches read."""
    inside = {id(inner) for inner in op.walk()}
    for inner in op.walk():
        for value in inner.operands:
            owner = value.owner
            holder = owner if isinstance(owner, Operation) else owner.parent_op()
            if inner is op or holder is None or id(holder) not in inside:
                yield value


def _planned(names: Mapping[Operation, tuple[str, ...]], rows: tuple[PlanLine, ...]) -> dict[Operation, int]:
    """Return the stage that a plan has for each op; one that it does not name is of the stage that began last."""
    kinds = {op: op.name.partition(".")[2] for op in names}
    for row in rows:
        if not any(row.matches(name, kinds[op]) for op, own in names.items() for name in (*own, "")):
            known = dict.fromkeys(name for own in names.values() for name in own)
            hint = nearest(row.pattern, known) or f"it has {', '.join(list(known)[:8])}"
            raise Error("E0101", f"the plan of stages names '{row.pattern[:80]}', and the model has nothing of that name", hint=hint)
    found: dict[Operation, int] = {}
    now = 0
    for op, own in names.items():
        stage = next((stage for name in (*own, "") if (stage := stage_of(rows, name, kinds[op])) is not None), None)
        now = now if stage is None else stage
        found[op] = now
    return found


def _names(op: Operation) -> Iterator[str]:
    """Yield names of an op, and of what holds it, from the inside out; then those of the parameters that it reads."""
    for name in source_names(op.location):
        yield from _holders(name)
    for value in read_by(op):
        if isinstance(value.owner, ParamOp):
            yield from _holders(value.owner.sym.data)


def _holders(name: str) -> Iterator[str]:
    """Dotted names of what a path names: `/layers/layers.0/MatMul` is `layers.0.MatMul`, `layers.0` and `layers`.

    What stands before a slash may be left out, as TensorFlow puts the model's own name there.
    """
    scopes: list[str] = []
    for piece in (piece for piece in name.split("/") if piece):
        if scopes and piece.startswith(f"{scopes[-1]}."):
            scopes.pop()  # PyTorch's older exporter repeats the list that a module is in
        scopes.append(piece)
    pieces = [(start, piece) for start, scope in enumerate(scopes) for piece in scope.split(".")]
    for end in range(len(pieces), 0, -1):
        for start in range(pieces[end - 1][0] + 1):
            yield ".".join(piece for scope, piece in pieces[:end] if scope >= start)


def is_leaf(op: Operation) -> bool:
    """Return whether an op is a constant, a parameter or a state, which is of the stages that read it."""
    return isinstance(op, LeafOp)

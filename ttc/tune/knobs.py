"""What a search can turn: one setting of all ops of a kind, and of single ops among them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace
from typing import Any

from xdsl.ir import SSAValue

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.formats import FORMATS, format_named
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.ir.locations import source_names
from ttc.dialects.core.machines.targets import Target
from ttc.dialects.core.numerics import FIDELITIES
from ttc.dialects.core.records import record
from ttc.dialects.core.rules.precision import PrecisionRule, exactly, width
from ttc.dialects.tile.base import TileOp, TileType
from ttc.passes.precision import Guard, weights_of
from ttc.tune.subject import TuneSubject

PRODUCTS = ("matmul", "conv2d", "conv_transpose2d", "attention")
"""Ops whose time depends on the fidelity."""
STEADY = ("softmax", "log_softmax", "layer_norm", "rms_norm", "reduce", "avg_pool2d")
"""Ops whose results never take a block format: sums of many values, or what feeds an exponential."""
MIN_WEIGHT_ELEMENTS = 1024
"""The least elements of an op's weights for which their format matters."""
CANDIDATES = ("Float16_b", "Bfp8_b", "Bfp4_b")

Kept = Callable[[TileOp], str | None]


@record
class KnobMember:
    """An op whose setting a knob turns.

    Args:
        op: itself.
        base: its setting while no rule is about it.
        name: a source name that no other op of its kind has; None: it only moves with its kind.
        cap: the highest rung that it may take.
    """

    op: TileOp
    base: str
    name: str | None
    cap: int


@record
class Knob:
    """A setting of the ops of a kind.

    Args:
        kind: mnemonic of the ops.
        key: the setting of a rule: `output`, `weights` or `fidelity`.
        rungs: values, the dearest first; rung 0 (not among them) leaves an op as it is.
        members: the ops, in program order.
    """

    kind: str
    key: str
    rungs: tuple[str, ...]
    members: tuple[KnobMember, ...]

    @property
    def cap(self) -> int:
        """Return the highest rung of the kind as a whole: what every op that has no name of its own may take."""
        return min((m.cap for m in self.members if m.name is None), default=len(self.rungs))

    def value(self, member: KnobMember, rung: int) -> str:
        return self.rungs[rung - 1] if rung else member.base


@record
class State:
    """A setting of all knobs: rungs of all members; those without a name of their own share one."""

    knobs: tuple[Knob, ...]
    rungs: tuple[tuple[int, ...], ...] = field(default=())

    def __post_init__(self) -> None:
        if not self.rungs:
            object.__setattr__(self, "rungs", tuple((0,) * len(knob.members) for knob in self.knobs))

    def raised(self, number: int, chosen: Iterable[int]) -> State:
        """Return the state with members of a knob one rung further, as far as they may; nameless ones go together, or not at all."""
        knob, old = self.knobs[number], self.rungs[number]
        wanted = set(chosen)
        nameless = {i for i, m in enumerate(knob.members) if m.name is None}
        together = nameless <= wanted and all(old[i] < knob.cap for i in nameless)
        moving = {i for i in wanted if old[i] < knob.members[i].cap and (together or i not in nameless)}
        new = tuple(rung + (i in moving) for i, rung in enumerate(old))
        return replace(self, rungs=(*self.rungs[:number], new, *self.rungs[number + 1 :]))

    def rules(self) -> tuple[PrecisionRule, ...]:
        """Return rules that make these settings: one for each kind of op, and then the exceptions."""
        kinds: dict[str, dict[str, Any]] = {}
        others: dict[tuple[str, str], dict[str, Any]] = {}
        for knob, rungs in zip(self.knobs, self.rungs, strict=True):
            usual = _usual(knob, rungs)
            if usual:
                kinds.setdefault(knob.kind, {})[knob.key] = knob.rungs[usual - 1]
            for member, rung in zip(knob.members, rungs, strict=True):
                if rung != usual and member.name is not None:
                    others.setdefault((knob.kind, exactly(member.name)), {})[knob.key] = knob.value(member, rung)
        general = [PrecisionRule(op, **settings) for op, settings in kinds.items()]
        return (*general, *(PrecisionRule(op, name, **settings) for (op, name), settings in others.items()))


def _usual(knob: Knob, rungs: Sequence[int]) -> int:
    """Return the rung of the kind: that of nameless members if there are any, else the most frequent one."""
    nameless = [rung for member, rung in zip(knob.members, rungs, strict=True) if member.name is None]
    return Counter(nameless or rungs).most_common(1)[0][0]


def candidates_for(target: Target, given: Sequence[str]) -> tuple[str, ...]:
    """Return formats to try, the widest first: those given, or those of CANDIDATES that the target has. Raises E0101, E0607."""
    for name in given:
        if name not in FORMATS or not FORMATS[name].is_float:
            raise Error("E0101", f"--candidates cannot be '{name}'", hint=nearest(name, [n for n, f in FORMATS.items() if f.is_float]))
        if name not in target.formats:
            raise Error("E0607", f"{target.name} does not have the format '{name}'", hint=nearest(name, target.formats))
    found = given or [name for name in CANDIDATES if name in target.formats]
    return tuple(sorted(found, key=width, reverse=True))


def knobs_of(subject: TuneSubject, candidates: Sequence[str]) -> tuple[Knob, ...]:
    """Return the knobs of a model."""
    by_kind: dict[str, list[TileOp]] = {}
    for op in subject.ops:
        by_kind.setdefault(op.name.partition(".")[2], []).append(op)
    guards = [Guard.of(function) for function in entry_functions(subject.unit.module)]
    guarded = {value for guard in guards for value in guard.masks | guard.scores}
    found: list[Knob | None] = []
    for kind, ops in by_kind.items():
        names = _own_names(ops)
        found.append(_formats(kind, "weights", {op: base for op in ops if (base := _weight_base(op))}, names, candidates, set()))
        held = set(ops) if kind in STEADY else {op for op in ops if not guarded.isdisjoint(op.results)}
        found.append(_formats(kind, "output", {op: base for op in ops if (base := _output_base(op))}, names, candidates, held))
        if kind in PRODUCTS and not subject.unit.target.is_host:
            rungs = FIDELITIES[-2::-1]
            found.append(Knob(kind, "fidelity", rungs, tuple(KnobMember(op, FIDELITIES[-1], names[op], len(rungs)) for op in ops)))
    return tuple(knob for knob in found if knob is not None)


def _formats(
    kind: str, key: str, bases: dict[TileOp, str], names: dict[TileOp, str | None], candidates: Sequence[str], unblocked: set[TileOp]
) -> Knob | None:
    """Return a knob of formats narrower than those of all its ops; None if there are none.  unblocked: ops that take no block format."""
    limit = min((width(base) for base in bases.values()), default=0)
    rungs = tuple(name for name in candidates if width(name) < limit)
    if not rungs:
        return None
    caps = {False: len(rungs), True: sum(not format_named(name).is_block for name in rungs)}
    return Knob(kind, key, rungs, tuple(KnobMember(op, base, names[op], caps[op in unblocked]) for op, base in bases.items()))


def _own_names(ops: Sequence[TileOp]) -> dict[TileOp, str | None]:
    """Return a source name of each op that none of the others has."""
    counts = Counter(name for op in ops for name in source_names(op.location))
    return {op: next((name for name in source_names(op.location) if counts[name] == 1), None) for op in ops}


def _output_base(op: TileOp) -> str | None:
    """Return the format of the results; None if they are no floating-point numbers."""
    return _float_format(op.results[0]) if op.results else None


def _weight_base(op: TileOp) -> str | None:
    """Return the widest format of the op's weights; None if they are few or no floating-point numbers."""
    leaves = [leaf for leaf in weights_of(op) if _float_format(leaf.result) is not None]
    if sum(leaf.value.spec.elements for leaf in leaves) < MIN_WEIGHT_ELEMENTS:
        return None
    return max((_float_format(leaf.result) or "" for leaf in leaves), key=width)


def _float_format(value: SSAValue) -> str | None:
    if not isinstance(value.type, TileType) or not FORMATS[value.type.data.format].is_float:
        return None
    return value.type.data.format

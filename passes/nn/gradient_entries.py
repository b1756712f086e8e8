"""Entry functions that give gradients: with the values of the entry they belong to, after it, or again from its inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Self

from xdsl.dialects.builtin import ArrayAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.adapter import TtcOp
from ttc.dialects.core.ir.entries import Port, finish_function, make_function, ports
from ttc.dialects.core.ir.leaves import LeafOp, ParamOp, StateOp, is_unread
from ttc.dialects.core.ir.locations import where
from ttc.dialects.core.ir.spec import spec_of
from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.core.records import record
from ttc.dialects.nn.gradients.maker import PREFIX, GradientMaker
from ttc.dialects.nn.gradients.reverse import STOP, is_differentiable, pull_back
from ttc.dialects.nn.making import filled
from ttc.passes.nn.gradient_roles import Roles, last_operands
from ttc.passes.nn.training_notes import SAVED

FORMS = ("joint", "separate", "recompute")


@record(frozen=False, eq=False)
class GradientEntry:
    """A copy of an entry function with the ops of its gradients behind its own, not closed yet.

    Args:
        function: the copy; its last arguments are the cotangents of outputs.
        ports: of its arguments.
        copies: values of the copy by those of the entry.
        own: ops of the entry, as copied.
        found: gradients by the name of the parameter or input.
        lacking: parameters without a gradient, each with the reason.
    """

    function: FuncOp
    ports: list[Port]
    copies: dict[SSAValue, SSAValue]
    own: tuple[Operation, ...]
    found: dict[str, SSAValue]
    lacking: list[tuple[Operation, str]]

    @classmethod
    def of(cls, entry: FuncOp, roles: Roles, weights: WeightStore, name: str) -> Self:
        """Return the gradients that an entry function's roles ask for.  Raises E0506."""
        arguments, _ = ports(entry)
        seeds = [(port_of(f"{PREFIX}{output}", arguments), value) for output, value in roles.outputs.items()]
        declared = [*zip(arguments, (a.type for a in entry.body.block.args), strict=True), *((port, v.type) for port, v in seeds)]
        function = make_function(name, declared, entry.location)
        block = function.body.block
        copies: dict[SSAValue, SSAValue] = dict(zip(entry.body.block.args, block.args, strict=False))
        own = tuple(op.clone(copies) for op in entry.body.block.ops if op is not entry.body.block.last_op)
        block.add_ops(own)
        maker = GradientMaker(block, weights)
        cotangents: dict[SSAValue, SSAValue] = dict(zip((copies[v] for _, v in seeds), block.args[len(arguments) :], strict=True))
        if roles.loss is not None:
            maker.enter(roles.loss.owner.location if isinstance(roles.loss.owner, Operation) else entry.location)
            one = filled(maker, 1.0, copies[roles.loss])
            given = cotangents.get(copies[roles.loss])
            cotangents[copies[roles.loss]] = one if given is None else maker.nn("add", one, given)
        made = cls(function, [port for port, _ in declared], copies, own, {}, [])
        made._find(maker, cotangents, roles)
        made._sweep()
        return made

    def _find(self, maker: GradientMaker, cotangents: Mapping[SSAValue, SSAValue], roles: Roles) -> None:
        """Make the gradients of all wanted values."""
        wanted = {name: [self.copies[v] for v in values] for name, values in roles.wanted.items()}
        found = pull_back(maker, self.own, cotangents, [v for values in wanted.values() for v in values], maker)
        influence: _Influence | None = None
        for name, values in wanted.items():
            parts = [found[v] for v in values if v in found]
            if parts:
                maker.enter(_location(values[0], self.function))
                total = parts[0]
                for part in parts[1:]:
                    total = maker.nn("add", total, part)
                self.found[name] = total
                continue
            influence = influence or _Influence.of(self.own, cotangents)
            if any(v in influence.smooth for v in values):
                maker.enter(_location(values[0], self.function))
                self.found[name] = filled(maker, 0.0, values[0])
                continue
            source, reason = influence.obstacle(values)
            if name in roles.named:
                raise Error("E0506", f"'{name}' has no gradient: {reason}", where=where(source or self.function))
            if isinstance(values[0].owner, Operation):
                self.lacking.append((values[0].owner, f"the parameter '{name}' has no gradient: {reason}"))

    def _sweep(self) -> None:
        """Drop what no gradient reads."""
        kept = {*self.found.values()}
        for op in reversed(list(self.made())):
            if is_unread(op) and kept.isdisjoint(op.results):
                op.detach()
                op.erase()

    def made(self) -> Iterator[Operation]:
        """Yield the ops of the gradients, in order."""
        op = self.own[-1].next_op if self.own else self.function.body.block.first_op
        while op is not None:
            yield op
            op = op.next_op

    @property
    def count(self) -> int:
        """How many ops the gradients take."""
        return sum(1 for _ in self.made())


@record
class _Influence:
    """Values on which seeded ones depend: any way, and by way of floating point alone."""

    any: frozenset[SSAValue]
    smooth: frozenset[SSAValue]

    @staticmethod
    def of(ops: Sequence[Operation], seeds: Mapping[SSAValue, SSAValue]) -> _Influence:
        influential, smooth = set(seeds), set(seeds)
        for op in reversed(ops):
            if any(r in influential for r in op.results):
                influential.update(op.operands)
            if op.name != STOP and any(r in smooth and is_differentiable(spec_of(r.type)) for r in op.results):
                smooth.update(op.operands)
        return _Influence(frozenset(influential), frozenset(smooth))

    def obstacle(self, values: Sequence[SSAValue]) -> tuple[Operation | None, str]:
        """Why values have no gradient, with the op that is in the way."""
        pending, seen = [v for v in values if v in self.any], set(values)
        while pending:
            value = pending.pop(0)
            for use in value.uses:
                for result in use.operation.results:
                    if result not in self.any or result in seen:
                        continue
                    if use.operation.name == STOP:
                        return use.operation, f"it counts only by way of {STOP}"
                    if not is_differentiable(spec_of(result.type)):
                        return use.operation, f"it counts only by way of {use.operation.name}, which gives {spec_of(result.type)}"
                    seen.add(result)
                    pending.append(result)
        return None, "nothing that is differentiated depends on it"


def _location(value: SSAValue, function: FuncOp) -> Attribute:
    return value.owner.location if isinstance(value.owner, Operation) else function.location


def port_of(name: str, taken: Sequence[Port]) -> Port:
    """Return a port of a new name.  Raises E0302 if there is one of that name."""
    if any(port.name == name for port in taken):
        raise Error("E0302", f"there is an input or output '{name}' already")
    return Port(name)


def _gradient_results(gradients: GradientEntry, taken: Sequence[Port]) -> list[tuple[Port, SSAValue]]:
    return [(port_of(f"{PREFIX}{name}", taken), value) for name, value in gradients.found.items()]


def joint_entry(gradients: GradientEntry, entry: FuncOp) -> FuncOp:
    """Make an entry function that gives the entry's results, then the gradients."""
    _, results = ports(entry)
    own = [(port, gradients.copies[value]) for port, value in zip(results, last_operands(entry), strict=True)]
    finish_function(gradients.function, [*own, *_gradient_results(gradients, results)])
    return gradients.function


def recomputing_entry(gradients: GradientEntry, entry: FuncOp) -> FuncOp:
    """Make an entry function of the gradients alone, which computes what they need again. Raises E0506 where the entry changes what it
    starts from.
    """
    changed = _changed(entry)
    results = _gradient_results(gradients, ())
    kept = {value for _, value in results}
    for op in reversed(gradients.own):
        if not isinstance(op, TtcOp) or any(r.first_use is not None or r in kept for r in op.results):
            continue
        op.detach()
        op.erase()
    for op in gradients.function.body.block.ops:
        if isinstance(op, LeafOp) and _symbol(op) in changed:
            reason = f"'{_symbol(op)}' is changed by the entry, so that nothing can be computed again from it"
            raise Error("E0506", reason, where=where(op), hint="keep what gradients need: form separate, or joint")
    _drop_unread_arguments(gradients)
    finish_function(gradients.function, results)
    return gradients.function


def _symbol(leaf: LeafOp) -> str | None:
    """Return the name of a parameter or state."""
    return leaf.sym.data if isinstance(leaf, ParamOp | StateOp) else None


def _changed(entry: FuncOp) -> set[str]:
    return {port.updates for port in ports(entry)[1] if port.updates is not None}


def _drop_unread_arguments(gradients: GradientEntry) -> None:
    """Arguments that no gradient needs go, except cotangents."""
    function = gradients.function
    block = function.body.block
    kept = {*gradients.found.values()}
    for index in reversed(range(len(block.args))):
        argument = block.args[index]
        if argument.first_use is None and argument not in kept and not gradients.ports[index].name.startswith(PREFIX):
            block.erase_arg(argument)
            del gradients.ports[index]
    function.arg_attrs = ArrayAttr([port.attribute() for port in gradients.ports])


def separate_entry(gradients: GradientEntry, entry: FuncOp) -> FuncOp:
    """Make an entry function of the gradients, from the cotangents and the values they need, which the entry gives as results `saved.N`."""
    arguments, results = ports(entry)
    block, made = gradients.function.body.block, dict.fromkeys(gradients.made())
    needed = dict.fromkeys(x for op in made for x in op.operands if x.owner not in made)
    needed |= dict.fromkeys(x for x in gradients.found.values() if x.owner not in made)
    given = {block.args[i]: port for i, port in enumerate(gradients.ports)}
    changed = _changed(entry)
    leaves = {x: x.owner for x in needed if isinstance(x.owner, LeafOp) and _symbol(x.owner) not in changed}
    saved = [x for x in needed if x not in given and x not in leaves]
    originals = {copy: original for original, copy in gradients.copies.items()}
    names = {port.name for port in arguments}
    rows = [(port, x) for x, port in given.items() if x in needed or port.name not in names]
    taken = [*arguments, *results]
    rows = [*((port_of(f"{SAVED}{i}", taken), x) for i, x in enumerate(saved)), *rows]
    function = make_function(gradients.function.sym_name.data, [(port, x.type) for port, x in rows], entry.location)
    places: dict[SSAValue, SSAValue] = dict(zip((x for _, x in rows), function.body.block.args, strict=True))
    for leaf in leaves.values():
        function.body.block.add_op(leaf.clone(places))
    for op in made:
        op.detach()
        function.body.block.add_op(op)
        for index, operand in enumerate(op.operands):
            if operand in places:
                op.operands[index] = places[operand]
    finish_function(function, [(port, places.get(x, x)) for port, x in _gradient_results(gradients, ())])
    _give_more(entry, [(port, originals[x]) for port, x in rows[: len(saved)]])
    return function


def _give_more(entry: FuncOp, more: Sequence[tuple[Port, SSAValue]]) -> None:
    """Add results to an entry function."""
    _, results = ports(entry)
    values = last_operands(entry)
    last = entry.body.block.last_op
    if last is not None:
        last.detach()
        last.erase()
    finish_function(entry, [*zip(results, values, strict=True), *more])

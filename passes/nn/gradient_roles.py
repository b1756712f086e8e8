"""What is differentiated, and with respect to what: names of an entry function's outputs, inputs and parameters, resolved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.ir.entries import ports
from ttc.dialects.core.ir.leaves import ParamOp
from ttc.dialects.core.ir.locations import where
from ttc.dialects.core.ir.spec import spec_of
from ttc.dialects.core.records import record
from ttc.dialects.nn.gradients.reverse import is_differentiable

T = TypeVar("T")


@record
class Roles:
    """Values of an entry function by what gradients have to do with them.

    Args:
        loss: the output whose cotangent is 1.
        outputs: those whose cotangents come in, by name.
        wanted: values whose gradients are given, by name; a parameter may be read at several places.
        named: which of these the user asked for by name.
    """

    loss: SSAValue | None
    outputs: Mapping[str, SSAValue]
    wanted: Mapping[str, tuple[SSAValue, ...]]
    named: frozenset[str]


def roles_of(function: FuncOp, loss: str | None, outputs: Sequence[str], parameters: Sequence[str], inputs: Sequence[str]) -> Roles:
    """Return the values that names stand for.  Raises E0206 for unknown names, E0506 for values that have no gradients."""
    arguments, results = ports(function)
    block = function.body.block
    returned = {port.name: value for port, value in zip(results, last_operands(function), strict=True) if port.updates is None}
    given = {port.name: value for port, value in zip(arguments, block.args, strict=True)}
    params: dict[str, tuple[SSAValue, ...]] = {}
    for op in block.ops:
        if isinstance(op, ParamOp) and is_differentiable(spec_of(op.result.type)):
            params[op.sym.data] = (*params.get(op.sym.data, ()), op.result)
    found_loss = None if loss is None else _found(returned, loss, "output", function)
    if found_loss is not None and (spec_of(found_loss.type).shape.count(1) != spec_of(found_loss.type).rank):
        raise Error(
            "E0506", f"output '{loss}' is {spec_of(found_loss.type)}: only a number has a gradient by itself", where=where(function)
        )
    chosen = outputs or ([] if loss is not None else [n for n, v in returned.items() if is_differentiable(spec_of(v.type))])
    sources = {name: _found(returned, name, "output", function) for name in chosen}
    wanted = {name: _found(params, name, "parameter", function) for name in parameters or params}
    asked = {name: (_found(given, name, "input", function),) for name in inputs or ([] if params or parameters else _floats(given))}
    if not sources and found_loss is None:
        raise Error("E0506", f"no output of '{function.sym_name.data}' is of floating point", where=where(function))
    if both := wanted.keys() & asked.keys():
        raise Error("E0506", f"'{min(both)}' is a parameter and an input", where=where(function))
    _require_differentiable(function, {**sources, **{n: v for n, (v,) in asked.items()}, **({} if loss is None else {loss: found_loss})})
    return Roles(found_loss, sources, {**wanted, **asked}, frozenset((*parameters, *asked)))


def last_operands(function: FuncOp) -> tuple[SSAValue, ...]:
    """Return the values that a function returns."""
    last = function.body.block.last_op
    return () if last is None else tuple(last.operands)


def _floats(values: Mapping[str, SSAValue]) -> Iterable[str]:
    return [name for name, value in values.items() if is_differentiable(spec_of(value.type))]


def _found(values: Mapping[str, T], name: str, what: str, function: FuncOp) -> T:
    if name not in values:
        raise Error("E0206", f"'{function.sym_name.data}' has no {what} '{name[:80]}'", hint=nearest(name, values))
    return values[name]


def _require_differentiable(function: FuncOp, values: Mapping[str, SSAValue | None]) -> None:
    """Raises E0506 for values that are not of floating point, and of shapes that depend on data."""
    for name, value in values.items():
        spec = None if value is None else spec_of(value.type)
        if spec is not None and not (is_differentiable(spec) and spec.is_static):
            kind = "is not of floating point" if spec.is_static else "has a shape that depends on data"
            raise Error("E0506", f"'{name}' has no gradient: it is {spec}, which {kind}", where=where(function))

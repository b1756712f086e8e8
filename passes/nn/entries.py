"""Entry functions that passes open to give them other arguments and results, and states that they add."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ArrayAttr, FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.ir.attributes import LiteralAttr, WeightAttr
from ttc.dialects.core.ir.entries import Port, derived_functions, entry_functions, finish_function, ports
from ttc.dialects.core.ir.leaves import ParamOp, StateOp
from ttc.dialects.core.ir.locations import named_location
from ttc.dialects.core.ir.spec import Spec, tensor_type
from ttc.dialects.core.plain.weights import Weight
from ttc.dialects.core.records import record
from ttc.dialects.nn.block_maker import BlockMaker
from ttc.dialects.nn.gradients.maker import PREFIX
from ttc.passes.base import Unit


def entry_named(module: ModuleOp, name: str) -> FuncOp:
    """Return an entry function by name.  Raises E0206."""
    named = {function.sym_name.data: function for function in entry_functions(module)}
    if name not in named:
        raise Error("E0206", f"the model has no entry function '{name[:80]}'", hint=nearest(name, named))
    return named[name]


def require_free(module: ModuleOp, name: str) -> None:
    """Raises E0302 if there is an entry function of that name."""
    if any(function.sym_name.data == name for function in entry_functions(module)):
        raise Error("E0302", f"the module has an entry function '{name}' already")


@record(frozen=False, eq=False)
class OpenEntry:
    """An entry function without its return, which `close` gives it again.

    Args:
        function: its body ends with the last op that computes.
        arguments: ports of its arguments.
    """

    function: FuncOp
    arguments: list[Port]
    _results: dict[tuple[str, bool], tuple[Port, SSAValue]] = field(default_factory=dict)
    """By name, and by whether they are new values of a parameter or state."""

    @classmethod
    def of(cls, function: FuncOp) -> Self:
        """Open an entry function, so that ops can be added to it."""
        arguments, results = ports(function)
        last = function.body.block.last_op
        values = () if last is None else tuple(last.operands)
        if last is not None:
            last.detach()
            last.erase()
        entry = cls(function, arguments)
        entry.results = list(zip(results, values, strict=True))
        return entry

    @classmethod
    def copy(cls, function: FuncOp, name: str, module: ModuleOp) -> Self:
        """Return a copy of a function under a new name, at the end of the module, opened."""
        require_free(module, name)
        made = function.clone()
        made.sym_name = StringAttr(name)
        made.location = function.location
        module.body.block.add_op(made)
        return cls.of(made)

    @property
    def results(self) -> list[tuple[Port, SSAValue]]:
        """The ports and values of what the function is to return."""
        return list(self._results.values())

    @results.setter
    def results(self, rows: Iterable[tuple[Port, SSAValue]]) -> None:
        self._results = {(port.name, port.updates is not None): (port, value) for port, value in rows}

    @property
    def block(self) -> Block:
        """The block of the function's body."""
        return self.function.body.block

    def argument(self, port: Port, type_: Attribute) -> SSAValue:
        """Return a new argument behind the others.  Raises E0302 if there is one of that name."""
        if any(other.name == port.name for other in self.arguments):
            raise Error("E0302", f"'{self.function.sym_name.data}' has an input '{port.name}' already")
        self.arguments.append(port)
        return self.block.insert_arg(type_, len(self.block.args))

    def give(self, port: Port, value: SSAValue) -> None:
        """Add a result behind the others. Raises E0302 if there is one of that name."""
        if (port.name, False) in self._results or (port.name, True) in self._results:
            raise Error("E0302", f"'{self.function.sym_name.data}' has an output '{port.name}' already")
        self._results[port.name, port.updates is not None] = port, value

    def taken(self, name: str) -> SSAValue | None:
        """Return the value of an output, which is no longer one; None if there is none of that name."""
        found = self._results.pop((name, False), None)
        return None if found is None else found[1]

    def result(self, name: str) -> SSAValue | None:
        """Return the value of an output; None if there is none of that name."""
        found = self._results.get((name, False))
        return None if found is None else found[1]

    def leaves(self) -> Iterator[ParamOp | StateOp]:
        """Yield the function's parameters and states."""
        for op in self.block.ops:
            if isinstance(op, ParamOp | StateOp):
                yield op

    def sweep(self) -> None:
        """Drop the ops that nothing reads any more."""
        kept = {value for _, value in self._results.values()}
        for op in reversed(list(self.block.ops)):
            if kept.isdisjoint(op.results) and all(r.first_use is None for r in op.results) and not getattr(op, "EFFECT", False):
                op.detach()
                op.erase()

    def close(self) -> None:
        """Give the function its return, its type and its names."""
        finish_function(self.function, self.results)
        self.function.arg_attrs = ArrayAttr([port.attribute() for port in self.arguments])


@record(frozen=False, eq=False)
class States:
    """Adds states that start with one number to entry functions of a unit; their first values are expressions of the module, not weights
    of the model, so that IR text can be resumed without them.
    """

    unit: Unit
    _expressions: dict[str, str] = field(default_factory=dict)
    _next: int = 0

    def __post_init__(self) -> None:
        self._expressions = {key: f.sym_name.data for key, f in derived_functions(self.unit.module).items()}
        self._taken = set(self._expressions.values())

    def state(self, maker: BlockMaker, block: Block, name: str, spec: Spec, start: float = 0.0) -> SSAValue:
        """Return the value that a state has when the function is entered, at the end of its block. Raises E0302 for a name that is
        taken.
        """
        leaf = StateOp.make((), {"sym": name, "value": self._first(name, spec, start)}, [tensor_type(spec)], maker.location)
        block.add_op(leaf)
        return leaf.result

    def _first(self, name: str, spec: Spec, start: float) -> WeightAttr | LiteralAttr:
        if spec.elements <= LiteralAttr.MAX_ELEMENTS:
            return LiteralAttr.of(np.full(spec.shape, start, spec.dtype))
        if name not in self._expressions:
            if name in self.unit.weights:
                raise Error("E0302", f"a weight of the model is called '{name}', as a state of training is")
            self.unit.weights.add(name, Weight(spec.shape, spec.dtype, lambda: _filled(spec, start), derived=True))
            self._add_expression(name, spec, start)
        return WeightAttr.of(name, spec)

    def _add_expression(self, key: str, spec: Spec, start: float) -> None:
        """A private function at the end of the module that gives the first value."""
        block = Block()
        maker = BlockMaker(block, self.unit.weights)
        maker.enter(named_location(key))
        value = maker.nn("expand", maker.constant(np.array(start, spec.dtype)), shape=spec.shape)
        block.add_op(ReturnOp(value))
        while f"derived_{self._next}" in self._taken:
            self._next += 1
        symbol = self._expressions[key] = f"derived_{self._next}"
        self._taken.add(symbol)
        function = FuncOp(symbol, FunctionType.from_lists([], [value.type]), Region(block), visibility="private")
        function.attributes["ttc.derived"] = StringAttr(key)
        self.unit.module.body.block.add_op(function)


def _filled(spec: Spec, start: float) -> NDArray[Any]:
    """Return a tensor of one number, which takes the memory of one element."""
    return np.broadcast_to(np.array(start, spec.dtype), spec.shape)


def parameters_of(entry: OpenEntry) -> dict[str, ParamOp]:
    """Return the parameters that an entry function reads, by name."""
    found: dict[str, ParamOp] = {}
    for leaf in entry.leaves():
        if isinstance(leaf, ParamOp):
            found.setdefault(leaf.sym.data, leaf)
    return found


def all_parameters(module: ModuleOp) -> dict[str, ParamOp]:
    """Return the parameters that entry functions read, by name."""
    found: dict[str, ParamOp] = {}
    for function in entry_functions(module):
        for op in function.body.block.ops:
            if isinstance(op, ParamOp):
                found.setdefault(op.sym.data, op)
    return found


def gradients_of(entry: OpenEntry, parameters: Container[str]) -> dict[str, SSAValue]:
    """Return the gradients of parameters that an entry function gives, by parameter."""
    given = {
        port.name.removeprefix(PREFIX): value for port, value in entry.results if port.updates is None and port.name.startswith(PREFIX)
    }
    return {name: value for name, value in given.items() if name in parameters}

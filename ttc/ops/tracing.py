"""What stands for arrays while a model written by hand is traced, and how ops are made of it at the line of the user's program."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import PurePath
from typing import Any, NoReturn, TypeAlias

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.unsupported import Unsupported
from ttc.ops.arrays import array_of

_PACKAGE = PurePath(__file__).parent.parent


class Trace:
    """One run of a module's `forward` with stand-ins for its inputs.

    Args:
        builder: of the function that it becomes.
        parameters: names of the parameters of the module, by identity.
    """

    def __init__(self, builder: Builder, parameters: dict[int, str]) -> None:
        self.builder = builder
        self._parameters = parameters
        self._leaves: dict[int, SSAValue] = {}
        self._scope: list[str] = []
        self._nodes: set[str] = set()

    @contextmanager
    def within(self, name: str) -> Iterator[None]:
        """Let ops made inside the block belong to the submodule of that name; empty for the outermost module."""
        self._scope.append(name)
        try:
            yield
        finally:
            self._scope.pop()

    def enter(self, op: str, name: str | None) -> str:
        """Put the next ops at the user's line, and return their name: that given, or the op's with a number.  Raises E0207."""
        path = next((part for part in reversed(self._scope) if part), "")
        stem = f"{path}.{name or op}" if path else name or op
        node, number = stem, 0
        while node in self._nodes:
            if name is not None:
                raise Error("E0207", f"two ops have the name '{node}'", where=line(), hint="names of ops are unique within a module")
            number += 1
            node = f"{stem}_{number}"
        self._nodes.add(node)
        self.builder.enter(node, sources=tuple(part for part in (path, line()) if part))
        return node

    def leaf(self, parameter: Any) -> SSAValue:
        """Return the value of a parameter: one leaf, however often and under how many names it is used.  Raises E0207."""
        found = self._leaves.get(id(parameter))
        if found is None:
            name = self._parameters.get(id(parameter))
            if name is None:
                hint = "assign it to an attribute of the module before it is compiled"
                raise Error("E0207", f"a parameter of shape {list(parameter.shape)} belongs to no module", where=line(), hint=hint)
            found = self.builder.initializer(name, parameter.weight(), trainable=parameter.requires_grad)
            self._leaves[id(parameter)] = found
        return found


CURRENT: ContextVar[Trace | None] = ContextVar("trace", default=None)
"""CURRENT holds the trace that runs."""


class Arithmetic(ABC):
    """Arithmetic of what stands for arrays: operators make ops, as functions of `ttc.ops` do."""

    __array_ufunc__ = None
    __hash__ = object.__hash__

    @property
    @abstractmethod
    def dtype(self) -> np.dtype:
        """The type of the elements, as numpy has it."""

    @abstractmethod
    def value_in(self, trace: Trace) -> SSAValue:
        """Return the value in a trace. Raises E0207 if there is none."""

    def __getitem__(self, key: Any) -> Tensor:
        from ttc.ops.indexing import indexed

        return made("getitem", None, [self], lambda b, x: indexed(b, x, key if isinstance(key, tuple) else (key,)))

    def __neg__(self) -> Tensor:
        return made("neg", None, [self], lambda b, x: b.nn("neg", x))

    def __abs__(self) -> Tensor:
        return made("abs", None, [self], lambda b, x: b.nn("abs", x))


class Tensor(Arithmetic):
    """A stand-in for an array while a module is traced: it has a shape and a dtype, and no values.

    Arithmetic, comparisons, `@` and indexing by integers, slices, `...` and `None` make ops, as functions of `ttc.ops` do.
    """

    def __init__(self, trace: Trace, ssa: SSAValue) -> None:
        self._trace = trace
        self._ssa = ssa

    @property
    def shape(self) -> tuple[int, ...]:
        """The elements along each dimension; -1 where data decide."""
        return self._trace.builder.spec(self._ssa).shape

    @property
    def dtype(self) -> np.dtype:
        """The type of the elements, as numpy has it."""
        return self._trace.builder.dtype(self._ssa)

    def value_in(self, trace: Trace) -> SSAValue:
        """Return the value in the trace that it belongs to. Raises E0207 for another trace."""
        if self._trace is not trace:
            raise Error("E0207", f"{self!r} is of another trace", hint="a tensor lives as long as the call of forward that made it")
        return self._ssa

    @property
    def ndim(self) -> int:
        """The number of the tensor's dimensions."""
        return self._trace.builder.rank(self._ssa)

    def __repr__(self) -> str:
        return f"Tensor({self._trace.builder.spec(self._ssa)})"

    def _no_value(self, what: str) -> NoReturn:
        hint = "branch on shapes and settings; ttc.ops.where chooses between values"
        raise Error("E0207", f"{what} depends on the values of a tensor, which are not known while the model is traced", line(), hint)

    def __bool__(self) -> bool:
        self._no_value("a branch of Python")

    def __float__(self) -> float:
        self._no_value("a number of Python")

    def __int__(self) -> int:
        self._no_value("an integer of Python")

    def __index__(self) -> int:
        self._no_value("an index of Python")

    def __array__(self, *_: Any, **__: Any) -> Any:
        self._no_value("an array of numpy")

    def __len__(self) -> int:
        if not self.shape:
            raise Error("E0401", "a tensor without dimensions has no length", where=line())
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))


Operand: TypeAlias = "Tensor | Any"
"""An operand of ops: tensors of the trace, parameters, arrays (which become constants), and numbers, which take the dtype of the others."""
Rule: TypeAlias = "Callable[..., SSAValue]"


def _operator(op: str, *, swapped: bool = False) -> Callable[[Arithmetic, Operand], Tensor]:
    def apply(self: Arithmetic, other: Operand) -> Tensor:
        pair = [other, self] if swapped else [self, other]
        return made(op, None, pair, lambda b, x, y: b.nn(op, x, y))

    return apply


_OPERATORS = {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "pow": "pow"}
_COMPARISONS = {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal"}


def _matmul(a: Operand, c: Operand) -> Tensor:
    return made("matmul", None, [a, c], lambda b, x, y: b.nn("matmul", x, y, None, transpose_a=False, transpose_b=False))


for _name, _op in _OPERATORS.items():
    setattr(Arithmetic, f"__{_name}__", _operator(_op))
    setattr(Arithmetic, f"__r{_name}__", _operator(_op, swapped=True))
for _name, _op in _COMPARISONS.items():
    setattr(Arithmetic, f"__{_name}__", _operator(_op))
Arithmetic.__matmul__ = _matmul  # pyright: ignore[reportAttributeAccessIssue]
Arithmetic.__rmatmul__ = lambda self, other: _matmul(other, self)  # pyright: ignore[reportAttributeAccessIssue]


def made(op: str, name: str | None, operands: Sequence[Operand | None], rule: Rule) -> Tensor:
    """Make one result of operands; see `made_all`."""
    return made_all(op, name, operands, lambda b, *values: (rule(b, *values),))[0]


def made_all(op: str, name: str | None, operands: Sequence[Operand | None], rule: Callable[..., Sequence[SSAValue]]) -> tuple[Tensor, ...]:
    """Make the results of a rule of operands at the line of the user's program.

    Args:
        op: how the node is called if the user gives no name.
        name: given by the user.
        operands: of which the rule gets the values, None where there is none.
        rule: from builder and values to values.
    Raises: E0207 outside of a trace; E04xx for operands that do not fit.
    """
    trace = CURRENT.get()
    if trace is None:
        hint = "call it in the `forward` of a ttc.nn.Module, and compile that"
        raise Error("E0207", f"'{op}' is used outside of a trace", where=line(), hint=hint)
    node = trace.enter(op, name)
    try:
        found = rule(trace.builder, *_values(trace, operands))
    except Unsupported as reason:
        raise Error("E0402", f"{op}: {reason}", where=f"{node} ({line()})") from None
    except Error as error:
        raise error.at(f"{node} ({line()})") from None
    return tuple(Tensor(trace, value) for value in found)


def _values(trace: Trace, operands: Sequence[Operand | None]) -> list[SSAValue | None]:
    """Return values of operands; numbers in the dtype of the first operand that has one."""
    known = [x for x in operands if isinstance(x, Arithmetic) or hasattr(x, "dtype")]
    dtype = np.dtype(np.float32)
    if known:
        dtype = known[0].dtype if isinstance(known[0], Arithmetic) else array_of(known[0]).dtype
    return [_value(trace, x, dtype) for x in operands]


def _value(trace: Trace, x: Operand | None, dtype: np.dtype) -> SSAValue | None:
    if x is None:
        return None
    if isinstance(x, Arithmetic):
        return x.value_in(trace)
    if isinstance(x, bool | int | float):
        return trace.builder.constant(np.array(x).astype(dtype))
    return trace.builder.constant(array_of(x))


def line() -> str:
    """Return `file:line` of the innermost line of a program outside of ttc."""
    frame = sys._getframe(1)  # noqa: SLF001 - the documented way to the caller's line
    while frame.f_back is not None and PurePath(frame.f_code.co_filename).is_relative_to(_PACKAGE):
        frame = frame.f_back
    return f"{PurePath(frame.f_code.co_filename).name}:{frame.f_lineno}"

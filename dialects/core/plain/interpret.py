"""The reference semantics of plain functions: each op's numpy kernel, op by op, values rounded to their formats."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from functools import cache, partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.formats import format_named
from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.dialects.core.records import record
from ttc.dialects.core.rule_tables import RuleTable

Kernel: TypeAlias = Callable[..., "NDArray | tuple[NDArray, ...]"]
Resolver: TypeAlias = Callable[[Work], NDArray]
"""Gives the value of a `ttc.constant`, `ttc.param` or `ttc.state` whose value is not a literal."""
Execute: TypeAlias = "Callable[[Work, Sequence[NDArray | None], Resolver | None], list[NDArray]]"
"""Runs one op: `run_work`, or something with arithmetic of its own."""
Roundings: TypeAlias = "tuple[tuple[np.dtype | None, Callable[[NDArray], NDArray]], ...]"
"""How each result of an op is rounded: the dtype whose arrays need no rounding, and the function for arrays of any other dtype."""
_EXECUTABLE = ("nn", "tile")
"""Dialects that have kernels."""


@record(slots=True)
class _Step:
    """One op of a region, ready to run many times.

    Args:
        compute: its kernel with its attributes, or all of it.
        operands: numbers of values; None for one that is absent.
        roundings: of results, each with the dtype that it leaves as it is; None where they are rounded already.
        done: values that nothing reads after it.
        where: its source, for errors.
    """

    compute: Callable[..., Any]
    operands: tuple[int | None, ...]
    roundings: Roundings | None
    done: tuple[int, ...]
    where: str

    def run(self, values: Sequence[NDArray | None]) -> Sequence[NDArray]:
        try:
            found = self.compute(*[None if i is None else values[i] for i in self.operands])
        except Error as error:
            raise error.at(self.where) from None
        return rounded_results(found, self.roundings)


class RegionBody(ABC):
    """A region of an op that decides what runs, as its kernel calls it."""

    function: Function

    @abstractmethod
    def __call__(self, *values: NDArray) -> list[NDArray]:
        """Run the region: its outputs on these inputs, all in the compute dtypes of their formats.  Raises E0802 for a shape that an
        input excludes.
        """

    def require(self, values: Sequence[NDArray]) -> None:
        """Raises E0802 for a value of a shape that its input excludes."""
        for value, type_ in zip(values, self.function.inputs, strict=True):
            wanted, shape = type_.shape, value.shape
            if shape != wanted and (len(shape) != len(wanted) or any(d not in (-1, n) for d, n in zip(wanted, shape, strict=True))):
                raise Error("E0802", f"a value of shape {list(shape)} comes in where {list(wanted)} is announced")

    def text(self) -> str:
        """Return the plan of the region as text of any number of lines; an empty one where its ops are interpreted."""
        return ""

    def empty(self, index: int) -> NDArray:
        """Return an array of the type of the region's output of that number, with no elements along dynamic dimensions."""
        type_ = self.function.value_types[self.function.outputs[index]]
        return np.zeros([max(d, 0) for d in type_.shape], format_named(type_.format).compute)


@record
class Body(RegionBody):
    """A region whose ops are interpreted; made ready when it is called first."""

    function: Function
    resolve: Resolver | None
    execute: Execute
    _steps: list[_Step] = field(default_factory=list, init=False, repr=False, compare=False)

    def __call__(self, *values: NDArray) -> list[NDArray]:
        self.require(values)
        if not self._steps:  # runs beside each other may both make them: the same ones
            self._steps[:] = list(_steps(self.function, self.resolve, self.execute))
        found: list[NDArray | None] = list(values)
        with np.errstate(all="ignore"):
            for step in self._steps:
                found.extend(step.run(found))
                for number in step.done:
                    found[number] = None
        return [_present(found[number]) for number in self.function.outputs]


@cache
def kernels(dialect: str) -> RuleTable[Kernel]:
    """Return the numpy kernels of dialect `nn` or `tile` by op mnemonic: the table of `ttc.dialects.<dialect>.kernels`."""
    return importlib.import_module(f"ttc.dialects.{dialect}.kernels").KERNELS


def kernel(op: str) -> Kernel:
    """Return the numpy kernel of an op by its full name.  Raises E0302."""
    dialect, _, mnemonic = op.partition(".")
    table = kernels(dialect) if dialect in _EXECUTABLE else None
    found = None if table is None else table.get(mnemonic)
    if found is None:
        known = () if table is None else table.rules()
        raise Error("E0302", f"there is no op '{op}' that can be executed", hint=nearest(mnemonic, known))
    return found


def run_work(work: Work, operands: Sequence[NDArray | None], resolve: Resolver | None = None) -> list[NDArray]:
    """Execute one op and round its results to their formats.  Errors name the op's source."""
    results = _results(work, operands, resolve, run_work)
    return [format_named(type_.format).round(np.asarray(value)) for value, type_ in zip(results, work.results, strict=True)]


def run_unrounded(work: Work, operands: Sequence[NDArray | None], resolve: Resolver | None = None) -> list[NDArray]:
    """Execute one op; floating-point results stay as the kernel computes them, in the compute dtype.  Integers are rounded and clamped."""
    results = _results(work, operands, resolve, run_unrounded)
    formats = [format_named(type_.format) for type_ in work.results]
    values = [np.asarray(value) for value in results]
    return [v.astype(f.compute, copy=False) if f.is_float else f.round(v) for v, f in zip(values, formats, strict=True)]


def run(function: Function, inputs: Sequence[NDArray], resolve: Resolver | None = None, execute: Execute = run_work) -> list[NDArray]:
    """Execute a function on arrays in the compute dtypes of its input formats; returns its outputs likewise."""
    values: list[NDArray | None] = list(inputs)
    last_use = function.last_use()
    for index, work in enumerate(function.works):
        values.extend(execute(work, [None if i is None else values[i] for i in work.operands], resolve))
        for operand in work.operands:
            if operand is not None and last_use.get(operand) == index:
                values[operand] = None
    return [_present(values[i]) for i in function.outputs]


def ready(work: Work, execute: Execute, resolve: Resolver | None) -> tuple[Callable[..., Any], Roundings | None] | None:
    """Return an op as `execute` runs it: its kernel, which takes all operands in order, looked up and with regions made ready, once; and
    what becomes of its results.

    Leaves and fused regions have none: it is None.
    """
    if not _is_plain(work, execute):
        return None
    places = tuple(None if value is None else place for place, value in enumerate(work.operands))
    (step,) = _steps(Function((), (replace(work, operands=places),), ()), resolve, execute)
    return step.compute, step.roundings


def rounded_results(found: Any, roundings: Roundings | None) -> Sequence[NDArray]:
    """Return what a kernel gives as arrays that are rounded to their formats; without roundings it gives such arrays."""
    if roundings is None:
        return found
    if type(found) is np.ndarray and len(roundings) == 1 and found.dtype == roundings[0][0]:  # most ops, several times in less time
        return (found,)
    listed: list[NDArray] = []
    for value, (own, rounded) in zip(found if isinstance(found, tuple) else (found,), roundings, strict=True):
        array = value if type(value) is np.ndarray else np.asarray(value)
        listed.append(array if array.dtype == own else rounded(array))
    return listed


def _steps(function: Function, resolve: Resolver | None, execute: Execute) -> Iterator[_Step]:
    """Yield the ops of a region as steps.  Kernels are looked up, and literals made, once; other arithmetic runs whole ops."""
    last_use = function.last_use()
    for index, work in enumerate(function.works):
        done = tuple(i for i in dict.fromkeys(work.operands) if i is not None and last_use.get(i) == index)
        where = " + ".join(work.location) or work.op
        if "values" in work.attrs and work.op.startswith("ttc."):
            made = execute(work, [], resolve)
            yield _Step(partial(_same, made), (), None, done, where)
        elif not _is_plain(work, execute):
            yield _Step(partial(_whole, work, resolve, execute), work.operands, None, done, where)
        else:
            roundings = tuple(_rounding(type_, execute) for type_ in work.results)
            yield _Step(partial(kernel(work.op), **work.attrs, **_bodies(work, resolve, execute)), work.operands, roundings, done, where)


def _is_plain(work: Work, execute: Execute) -> bool:
    """Return whether an op is one call of its kernel."""
    return execute in (run_work, run_unrounded) and work.body is None and not work.op.startswith("ttc.")


def _bodies(work: Work, resolve: Resolver | None, execute: Execute) -> dict[str, tuple[Body, ...]]:
    """Return the argument of its kernel that an op with regions has besides its attributes."""
    return {"bodies": tuple(Body(function, resolve, execute) for function in work.bodies)} if work.bodies else {}


def _same(made: list[NDArray]) -> list[NDArray]:
    return made


def _whole(work: Work, resolve: Resolver | None, execute: Execute, *operands: NDArray | None) -> list[NDArray]:
    return execute(work, operands, resolve)


def _rounding(type_: TensorType, execute: Execute) -> tuple[np.dtype | None, Callable[[NDArray], NDArray]]:
    """The dtype whose values a result may have as they are, and what becomes of others."""
    format_ = format_named(type_.format)
    if execute is run_unrounded and format_.is_float:
        return format_.compute, lambda value: value.astype(format_.compute, copy=False)
    return format_.own, format_.round


def _results(work: Work, operands: Sequence[NDArray | None], resolve: Resolver | None, execute: Execute) -> Sequence[NDArray]:
    try:
        with np.errstate(all="ignore"):
            return _evaluate(work, operands, resolve, execute)
    except Error as error:
        raise error.at(" + ".join(work.location) or work.op) from None


def _evaluate(work: Work, operands: Sequence[NDArray | None], resolve: Resolver | None, execute: Execute) -> Sequence[NDArray]:
    if work.op.startswith("ttc."):
        return (_leaf(work, resolve),)
    if work.body is not None:
        return run(work.body, [_present(x) for x in operands], resolve, execute)
    results = kernel(work.op)(*operands, **work.attrs, **_bodies(work, resolve, execute))
    return results if isinstance(results, tuple) else (results,)


def _leaf(work: Work, resolve: Resolver | None) -> NDArray:
    values = work.attrs.get("values")
    if isinstance(values, tuple):
        (type_,) = work.results
        return np.array(values, format_named(type_.format).compute).reshape(type_.shape)
    if resolve is None:
        raise Error("E0304", f"there is no value for {work.op} {work.attrs.get('key')!r}")
    return resolve(work)


def _present(value: NDArray | None) -> NDArray:
    if value is None:
        raise Error("E0302", "an op reads an operand that is absent")
    return value

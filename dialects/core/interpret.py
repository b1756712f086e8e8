"""The reference semantics of plain functions: each op's numpy kernel, op by op, values rounded to their formats."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.formats import format_named
from ttc.dialects.core.plain import Function, Work
from ttc.dialects.core.records import record

Kernel: TypeAlias = Callable[..., "NDArray | tuple[NDArray, ...]"]
Resolver: TypeAlias = Callable[[Work], NDArray]
"""Gives the value of a `ttc.constant`, `ttc.param` or `ttc.state` whose value is not a literal."""
Execute: TypeAlias = "Callable[[Work, Sequence[NDArray | None], Resolver | None], list[NDArray]]"
"""Runs one op: `run_work`, or something with arithmetic of its own."""


@record
class Body:
    """A region of an op that decides what runs, as its kernel calls it."""

    function: Function
    resolve: Resolver | None
    execute: Execute

    def __call__(self, *values: NDArray) -> list[NDArray]:
        """Its outputs on these inputs, all in the compute dtypes of their formats.  Raises E0802 for a shape that an input excludes."""
        for value, type_ in zip(values, self.function.inputs, strict=True):
            if value.ndim != len(type_.shape) or any(d not in (-1, n) for d, n in zip(type_.shape, value.shape, strict=True)):
                raise Error("E0802", f"a value of shape {list(value.shape)} comes in where {list(type_.shape)} is announced")
        return run(self.function, values, self.resolve, self.execute)

    def empty(self, index: int) -> NDArray:
        """An array like its output of that number, its dynamic dimensions of no elements."""
        type_ = self.function.value_types[self.function.outputs[index]]
        return np.zeros([max(d, 0) for d in type_.shape], format_named(type_.format).compute)


@cache
def kernels(dialect: str) -> dict[str, Kernel]:
    """Kernels of a dialect by op mnemonic: the public functions of the modules in `ttc.dialects.<dialect>.kernels`."""
    package = importlib.import_module(f"ttc.dialects.{dialect}.kernels")
    found: dict[str, Kernel] = {}
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        for name, function in vars(module).items():
            if name.startswith("_") or not inspect.isfunction(function) or function.__module__ != module.__name__:
                continue
            found[name.rstrip("_")] = function
    return found


def kernel(op: str) -> Kernel:
    """The numpy kernel of an op by its full name.  Raises E0302.

    A tile op that computes what the nn op of its name does shares that kernel.
    """
    dialect, _, mnemonic = op.partition(".")
    tables = {"nn": ("nn",), "tile": ("tile", "nn")}.get(dialect, ())
    for name in tables:
        if mnemonic in kernels(name):
            return kernels(name)[mnemonic]
    known = [known for name in tables for known in kernels(name)]
    raise Error("E0302", f"there is no op '{op}' that can be executed", hint=nearest(mnemonic, known))


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
    if work.bodies:
        bodies = tuple(Body(function, resolve, execute) for function in work.bodies)
        results = kernel(work.op)(*operands, **work.attrs, bodies=bodies)
    else:
        results = kernel(work.op)(*operands, **work.attrs)
    return results if isinstance(results, tuple) else (results,)


def _leaf(work: Work, resolve: Resolver | None) -> NDArray:
    values = work.attrs.get("values")
    if isinstance(values, tuple):
        (type_,) = work.results
        return np.array(values, format_named(type_.format).compute).reshape(type_.shape)
    if resolve is None:
        raise Error("E0304", f"{work.op} {work.attrs.get('key')!r} has no value here")
    return resolve(work)


def _present(value: NDArray | None) -> NDArray:
    if value is None:
        raise Error("E0302", "a value is used that is absent")
    return value

"""Steps of a plan in Python: nodes without a native kernel run through their reference kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.plain.evaluate import evaluate, guarded
from ttc.dialects.core.plain.functions import Function, TensorType
from ttc.dialects.core.plain.interpret import (
    Execute,
    RegionBody,
    Resolver,
    Roundings,
    kernel,
    ready,
    rounded_results,
    run_unrounded,
    run_work,
)
from ttc.dialects.core.records import record
from ttc.runtime.engines.native.graph.nodes import Node
from ttc.runtime.engines.native.graph.tensors import View


class Mismatch(Exception):
    """An array of another shape or type than was announced: an archive may lie about what its ops give."""


@record(eq=False)
class PythonStep:
    """A node without a native kernel.

    Args:
        sources, targets: views of its operands and results; None for those that are absent, or that Python holds.
        dtypes: of the operands; None for those that are absent.
        constants: keys and types of the constants that operands are, of an op with regions; None for other operands.
        bodies: regions that are planned, of an op with regions; else they are interpreted.
    """

    node: Node
    sources: tuple[View | None, ...]
    targets: tuple[View | None, ...]
    dtypes: tuple[np.dtype | None, ...]
    constants: tuple[tuple[str, TensorType] | None, ...] = ()
    bodies: list[RegionBody] = field(default_factory=list)

    def evaluated(self, operands: Sequence[NDArray], resolve: Resolver) -> Sequence[NDArray]:
        """Return the step's results, of the shapes announced.  Raises what its reference kernel does, and Mismatch."""
        node = self.node
        if self.bodies:
            results = guarded(lambda: self._planned(operands), node.where)
        elif (ready := self._ready(lambda: resolve)) is None:
            results = evaluate(self._function, operands, resolve, node.where, self._execute)
        else:
            compute, roundings = ready
            every = self._every(operands)
            with np.errstate(all="ignore"):
                results = guarded(lambda: list(rounded_results(compute(*every), roundings)), node.where)
        if len(results) != len(node.results):
            raise Mismatch(node.where)
        for result, type_ in zip(results, node.work.results, strict=True):
            if result.shape != type_.shape and not _fits(result.shape, type_.shape):
                raise Mismatch(node.where)
        return results

    def _planned(self, operands: Sequence[NDArray]) -> list[NDArray]:
        """Return what an op gives whose regions are planned."""
        return list(self._with_bodies(*self._every(operands)))

    @property
    def _with_bodies(self) -> Callable[..., Any]:
        """The kernel of an op whose regions are planned."""
        work = self.node.work
        return partial(kernel(work.op), **work.attrs, bodies=tuple(self.bodies))

    def _every(self, operands: Sequence[NDArray]) -> list[NDArray | None]:
        """Return operands with those that are absent between them."""
        given = iter(operands)
        return [None if value is None else next(given) for value in self.node.operands]

    def prepared(self, resolve: Callable[[], Resolver]) -> tuple[Callable[..., Any], Roundings | None] | None:
        """Return the step's kernel, which takes all operands in order, and what becomes of its results; None if it has no kernel of its
        own.

        Args:
            resolve: gives what gives constants.
        """
        return (self._with_bodies, None) if self.bodies else self._ready(resolve)

    @property
    def _execute(self) -> Execute:
        """How an op runs in the reference engine."""
        return run_unrounded if self.node.unrounded else run_work

    def _ready(self, resolve: Callable[[], Resolver]) -> tuple[Callable[..., Any], Roundings | None] | None:
        """Return the node with its kernel looked up, where that can be done once for all runs, whose constants are the same."""
        if "_made" not in self.__dict__:
            self.__dict__["_made"] = ready(self.node.work, self._execute, resolve() if self.node.work.bodies else None)
        return self.__dict__["_made"]

    @cached_property
    def is_held(self) -> bool:
        """Whether the step's result is text of the program, the same in all runs."""
        return self.node.work.op == "ttc.constant" and self.targets == (None,)

    def held(self, resolve: Resolver) -> NDArray:
        """Return the result of a constant, computed once; nobody can change it."""
        found = self.__dict__.get("_value")
        if found is None:
            found = self.evaluated((), resolve)[0].copy()
            found.flags.writeable = False
            self.__dict__["_value"] = found
        return found

    @cached_property
    def present(self) -> tuple[tuple[int, View | None, np.dtype | None], ...]:
        """The operands that are not absent: their numbers, views and dtypes."""
        given = zip(self.node.operands, self.sources, self.dtypes, strict=True)
        return tuple((value, view, dtype) for value, view, dtype in given if value is not None)

    @cached_property
    def _function(self) -> Function:
        """The work as a function of these operands."""
        work, places = self.node.work, iter(range(len(self.present)))
        numbered = tuple(None if value is None else next(places) for value in self.node.operands)
        outputs = tuple(range(len(self.present), len(self.present) + len(work.results)))
        return Function((), (replace(work, operands=numbered),), outputs)


def _fits(shape: Sequence[int], wanted: Sequence[int]) -> bool:
    """Return whether a shape is the one announced; -1 stands for any size."""
    return len(shape) == len(wanted) and all(d in (-1, n) for d, n in zip(wanted, shape, strict=True))

"""Programs of one archive that differ in shapes alone: which fits the inputs of a run, and how a smaller batch is padded to one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.dialects.netlist.model import Argument, Program
from ttc.runtime.arguments import inputs_of, outputs_of
from ttc.runtime.manifest import Description

Shapes = Mapping[str, tuple[int, ...]]


@record
class Fit:
    """The program that fits the inputs of a run, and how they are padded to it.

    Args:
        program: its name.
        rows: of the batch that was given, where it is padded to the program's; None: inputs are taken as they are.
        carriers: inputs that are padded.
        batch: of the program.
        axes: dimensions of inputs and results that carry the batch, where that is not the first.
    """

    program: str
    rows: int | None = None
    carriers: tuple[str, ...] = ()
    batch: int = 0
    axes: Mapping[str, int] = field(default_factory=dict)

    def arguments(self, program: Program) -> list[Argument]:
        """Return the program's inputs, of the shapes that were given."""
        if self.rows is None:
            return inputs_of(program)
        rows = self.rows
        return [replace(a, shape=self._with_rows(a, rows)) if a.name in self.carriers else a for a in inputs_of(program)]

    def padded(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the inputs with the last row repeated up to the program's batch, zeros where there is none."""
        carriers = self.carriers
        return {name: _padded(np.asarray(x), self._axis(name), self.batch) if name in carriers else x for name, x in inputs.items()}

    def cut(self, outputs: Mapping[str, NDArray]) -> dict[str, NDArray]:
        """Return the rows of results that belong to rows that were given."""
        rows = self.rows or 0
        return {name: _first(value, self._axis(name), self.batch, rows) for name, value in outputs.items()}

    def _axis(self, name: str) -> int:
        return self.axes.get(name, 0)

    def _with_rows(self, argument: Argument, rows: int) -> tuple[int, ...]:
        axis = self._axis(argument.name)
        return (*argument.shape[:axis], rows, *argument.shape[axis + 1 :])


class Variants:
    """The programs that differ from one in shapes alone: they take and give what it does.

    Args:
        programs: of the archive, by name.
        description: of the archive.
        first: the program, by name.
    """

    def __init__(self, programs: Mapping[str, Program], description: Description, first: str) -> None:
        like = programs.get(first)
        alike = [] if like is None else [p for p in programs.values() if _kind(p) == _kind(like)]
        self.programs: Mapping[str, Program] = {p.name: p for p in alike}
        self._carriers = {name: inputs for name, inputs in description.independent_batches if name in self.programs}
        self._axes = {name: dict(axes) for name, axes in description.batch_axes}

    @property
    def several(self) -> bool:
        """Whether there is a choice."""
        return len(self.programs) > 1

    def fit(self, shapes: Shapes, *, pad: bool = False) -> Fit:
        """Return the program whose inputs have these shapes; the first if several do.  Raises E0801 that says what there is.

        pad: where none has, the one of the least batch that a smaller one can be padded to.
        """
        for name, program in self.programs.items():
            if all(_fits(shapes.get(a.name), a.shape) for a in inputs_of(program)):
                return Fit(name)
        found = [fit for name in self._carriers if pad and (fit := self._padding(name, shapes)) is not None]
        if found:
            return min(found, key=lambda fit: fit.batch)
        raise self._nothing(shapes, pad=pad)

    def _padding(self, name: str, shapes: Shapes) -> Fit | None:
        """Return how to run the program on a smaller batch; None if other dimensions differ, or it is no smaller."""
        carriers, axes = self._carriers[name], self._axes.get(name, {})
        given = [(a.shape, shapes.get(a.name, ()), axes.get(a.name, 0)) for a in inputs_of(self.programs[name]) if a.name in carriers]
        batches = {shape[axis] for shape, _, axis in given}
        rows = {shape[axis] for _, shape, axis in given if axis < len(shape)}
        if len(batches) != 1 or len(rows) != 1 or max(rows) > max(batches):
            return None
        fit = Fit(name, rows.pop(), tuple(carriers), batches.pop(), axes)
        return fit if all(_fits(shapes.get(a.name), a.shape) for a in fit.arguments(self.programs[name])) else None

    def _nothing(self, shapes: Shapes, *, pad: bool) -> Error:
        given = ", ".join(f"{name} {list(shape)}" for name, shape in shapes.items())
        there = "; ".join(f"{name}: {_shapes_text(inputs_of(program))}" for name, program in self.programs.items())
        hint = None
        if not pad and any(self._padding(name, shapes) is not None for name in self._carriers):
            hint = "pad_batch=True, or --pad-batch, pads a smaller batch"
        return Error("E0801", f"no program takes {given}; there are {there}", hint=hint)


def _kind(program: Program) -> object:
    """Return what programs that differ in shapes alone have in common."""
    return [(a.name, a.dtype, len(a.shape)) for a in inputs_of(program)], [(r.name, r.dtype) for r in outputs_of(program)]


def _fits(shape: tuple[int, ...] | None, wanted: tuple[int, ...]) -> bool:
    """Return whether an array of that shape is what a program takes; -1 stands for any size."""
    return shape is not None and len(shape) == len(wanted) and all(w in (s, -1) for s, w in zip(shape, wanted, strict=True))


def _shapes_text(arguments: Sequence[Argument]) -> str:
    return ", ".join(f"{a.name} {list(a.shape)}" for a in arguments)


def _padded(value: NDArray, axis: int, batch: int) -> NDArray:
    """Return rows of a batch along a dimension with the last one repeated up to so many, zeros where there is none."""
    rows = value.shape[axis]
    if not rows:
        return np.zeros((*value.shape[:axis], batch, *value.shape[axis + 1 :]), value.dtype)
    return np.concatenate([value, np.repeat(value.take([rows - 1], axis), batch - rows, axis)], axis)


def _first(value: NDArray, axis: int, batch: int, rows: int) -> NDArray:
    """Return a copy of what belongs to the first rows of a batch along a dimension."""
    return value.take(np.arange(value.shape[axis] // batch * rows), axis)

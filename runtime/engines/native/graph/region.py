"""Elementwise regions: what is computed of one element of each operand, as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ttc.dialects.core.plain.functions import Function, Plain, TensorType, Work
from ttc.dialects.core.records import record
from ttc.runtime.engines.native.graph.storage import Storage, needs_rounding, storage_of


@record(slots=True)
class RegionStep:
    """One function of values before it.

    Args:
        fn: mnemonic of the elementwise nn op; `cast` (attrs: `to`, a numpy dtype, if the source casts); or `constant` (attrs: `value`).
        operands: numbers of values: inputs first, then steps.
        storage: type that the result is rounded to.
        attrs: of the op, by name.
    """

    fn: str
    operands: tuple[int, ...]
    storage: Storage
    attrs: tuple[tuple[str, Plain], ...] = ()


@record(slots=True)
class Region:
    """A function of one element of each operand.  inputs: storage of each; steps in order; the result is the value numbered `output`."""

    inputs: tuple[Storage, ...]
    steps: tuple[RegionStep, ...]
    output: int

    @property
    def storage(self) -> Storage:
        """The storage of the region's result."""
        count = len(self.inputs)
        return self.inputs[self.output] if self.output < count else self.steps[self.output - count].storage

    def after(self, first: Region) -> Region:
        """Return this region with its first input computed by another, whose inputs come first: f(g(a...), b...)."""
        lead, rest = len(first.inputs), len(self.inputs) - 1
        moved = [replace(s, operands=tuple(i if i < lead else i + rest for i in s.operands)) for s in first.steps]
        made = first.output if first.output < lead else first.output + rest
        shift = lead + rest + len(first.steps)

        def place(number: int) -> int:
            if number == 0:
                return made
            return lead + number - 1 if number <= rest else shift + number - 1 - rest

        own = [replace(s, operands=tuple(map(place, s.operands))) for s in self.steps]
        return Region((*first.inputs, *self.inputs[1:]), (*moved, *own), place(self.output))


class RegionBuilder:
    """A region that grows step by step; values are numbered as a region has them, inputs first."""

    def __init__(self, inputs: Sequence[Storage]) -> None:
        self._inputs = tuple(inputs)
        self._steps: list[RegionStep] = []

    def __call__(self, fn: str, *operands: int, storage: Storage = "f32", **attrs: Plain) -> int:
        self._steps.append(RegionStep(fn, operands, storage, tuple(sorted(attrs.items()))))
        return len(self._inputs) + len(self._steps) - 1

    def number(self, value: float) -> int:
        """Add a constant in float32 and return its number."""
        return self("constant", value=float(np.float32(value)))

    def choice(self, relation: str, a: int, b: int, then: int, otherwise: int) -> int:
        """Add a choice: `then` where a and b stand in a relation, else `otherwise`; returns its number."""
        return self("where", self(relation, a, b, storage="bool"), then, otherwise)

    def region(self, output: int) -> Region:
        """Return the region built so far, with that value as its result."""
        return Region(self._inputs, tuple(self._steps), output)


def identity(storage: Storage) -> Region:
    """Return the region whose result is its input."""
    return Region((storage,), (), 0)


def unary(fn: str, storage: Storage, **attrs: Plain) -> Region:
    """Return the region of one function of its input."""
    return Region((storage,), (RegionStep(fn, (0,), storage, tuple(sorted(attrs.items()))),), 1)


def packed(region: Region, storage: Storage) -> Region:
    """Return the region with its result in a storage; integers must be of its range."""
    if region.storage == storage:
        return region
    step = RegionStep("cast", (region.output,), storage)
    return Region(region.inputs, (*region.steps, step), len(region.inputs) + len(region.steps))


def region_of(work: Work, inputs: Sequence[Storage], unrounded: bool = False) -> Region | None:
    """Return the region of a `tile.map`, `tile.cast` or `tile.eltwise`; None if it holds what has no storage.

    unrounded: floating-point results keep their compute type.
    """
    if work.body is not None:
        region, own = _region_of_body(work.body, inputs, unrounded), result_storage(work.results[0], unrounded)
        return None if region is None or own is None else packed(region, own)
    step = _step(work, tuple(range(len(inputs))), unrounded)
    return None if step is None else Region(tuple(inputs), (step,), len(inputs))


def _region_of_body(body: Function, inputs: Sequence[Storage], unrounded: bool) -> Region | None:
    steps: list[RegionStep] = []
    for work in body.works:
        if any(operand is None for operand in work.operands) or (needs_rounding(work.results[0].format) and not unrounded):
            return None
        step = _step(work, tuple(i for i in work.operands if i is not None), unrounded)
        if step is None:
            return None
        steps.append(step)
    return Region(tuple(inputs), tuple(steps), body.outputs[0])


def _step(work: Work, operands: tuple[int, ...], unrounded: bool) -> RegionStep | None:
    storage = result_storage(work.results[0], unrounded)
    if storage is None:
        return None
    if work.op == "ttc.constant":
        values = work.attrs.get("values")
        return RegionStep("constant", (), storage, (("value", values[0]),)) if isinstance(values, tuple) and len(values) == 1 else None
    if work.op == "tile.cast":
        to = work.attrs.get("to")
        return RegionStep("cast", operands, storage, () if to is None else (("to", to),))
    if work.op != "tile.map":
        return None
    names, values = work.attrs.get("names") or (), work.attrs.get("values") or ()
    if not isinstance(names, tuple) or not isinstance(values, tuple):
        return None
    attrs = tuple((str(name), value) for name, value in zip(names, values, strict=True))
    return RegionStep(str(work.attrs["fn"]), operands, storage, attrs)


def result_storage(type_: TensorType, unrounded: bool) -> Storage | None:
    """Return how a result is held."""
    from ttc.dialects.core.formats import format_named
    from ttc.runtime.engines.native.graph.storage import storage_of_dtype

    format_ = format_named(type_.format)
    return storage_of_dtype(format_.compute) if unrounded and format_.is_float else storage_of(type_.format)

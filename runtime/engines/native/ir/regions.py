"""Elementwise regions as code.  Does not load llvmlite: `supported` is asked where nothing may have to be generated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ttc.runtime.engines.native.graph.region import Region, RegionStep
from ttc.runtime.engines.native.graph.storage import Storage
from ttc.runtime.engines.native.ir.elementwise import FUNCTIONS, joined, numpy_type

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.dtypes import Dtype
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer

_MAX_STEPS = 128
"""The most steps of a region: some are a hundred instructions."""
_COMPUTED: dict[str, Dtype] = {"bf16": "f32", "f16": "f32", "bool": "i1"}


def computed_type(storage: Storage) -> Dtype:
    """Return the type of values that were read from a storage."""
    return _COMPUTED.get(storage, storage)


def supported(region: Region) -> str | None:
    """Return why a region cannot be emitted, in few words; None if it can."""
    if len(region.steps) > _MAX_STEPS:
        return f"{len(region.steps)} steps"
    known: list[Dtype] = [computed_type(storage) for storage in region.inputs]
    for step in region.steps:
        reason = _refusal(step, [known[i] for i in step.operands])
        if reason is not None:
            return f"{step.fn}: {reason}"
        known.append(computed_type(step.storage))
    return None


def emit_region(f: Writer, region: Region, values: Sequence[Value]) -> Value:
    """Return the result of a region that is `supported`, for `Writer.write`: not rounded yet to a storage narrower than float32.

    values: of the region's inputs, as `Writer.read` gives them: all of one number of lanes, or scalar.
    """
    known, results = list(values), list(values)
    for step in region.steps:
        found = _emitted(f, step, [known[i] for i in step.operands])
        known.append(landed(f, found, step.storage))
        results.append(landed(f, found, "f32" if computed_type(step.storage) == "f32" else step.storage))
    lanes = max((value.type.lanes for value in values), default=1)
    return f.spread(results[region.output], lanes)


def landed(f: Writer, value: Value, storage: Storage) -> Value:
    """Return a number as a tensor in a storage holds it, as it reads again: rounded, integers clamped to their range (NaN: 0)."""
    target = computed_type(storage)
    source = value.type.dtype
    if source == target:
        return f.rounded(value, storage) if target == "f32" else value
    if target == "i1" or source == "i1":
        return f.converted(value, target)
    if target in ("f32", "f64"):
        return f.rounded(f.converted(value, target), storage) if target == "f32" else f.converted(value, target)
    if value.type.is_float:
        return f.converted(f.whole("rint", value), target)
    own, limits = np.iinfo(numpy_type(source)), np.iinfo(numpy_type(target))
    if own.min < limits.min:
        value = f.maximum(value, int(limits.min))
    if own.max > limits.max:
        value = f.minimum(value, int(limits.max))
    return f.converted(value, target)


def _refusal(step: RegionStep, operands: Sequence[Dtype]) -> str | None:
    attrs = dict(step.attrs)
    if step.fn == "constant":
        return _constant_refusal(step)
    function = FUNCTIONS.get(step.fn)
    return "no kernel" if function is None else function.refusal(operands, attrs)


def _constant_refusal(step: RegionStep) -> str | None:
    value = dict(step.attrs).get("value")
    if not isinstance(value, bool | int | float):
        return "its value is no number"
    try:
        found = np.array(value, numpy_type(computed_type(step.storage)))
    except (OverflowError, ValueError):
        return "its value has no place"
    return None if found.shape == () else "it has several values"


def _emitted(f: Writer, step: RegionStep, operands: Sequence[Value]) -> Value:
    attrs = dict(step.attrs)
    if step.fn == "constant":
        dtype = computed_type(step.storage)
        return f.constant(np.array(attrs["value"], numpy_type(dtype)).item(), dtype)
    function = FUNCTIONS[step.fn]
    return function.emit(f, *(joined(operands) if function.joined else operands), **attrs)

"""A model's inputs: dynamic dimensions fixed by what the user gave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.formats import format_of
from ttc.dialects.core.records import record
from ttc.dialects.core.spec import Spec, spec_of
from ttc.runtime.contract import MAX_ELEMENTS

Dims = tuple[int | str, ...]
"""Sizes; for a dynamic dimension its name, which may be empty."""


@record
class OpenInput:
    """An input as the model declares it.

    Args:
        name: as the framework calls it.
        dims: sizes, and names of dynamic dimensions.
        dtype: of the elements.
        limits: least and largest sizes of dynamic dimensions by name, where the model has such.
    """

    name: str
    dims: Dims
    dtype: np.dtype
    limits: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def nearest_size(self, dim: str, size: int) -> int:
        """The size that a dynamic dimension can have nearest to one."""
        least, largest = self.limits.get(dim, (size, size))
        return min(max(size, least), largest)


@record(frozen=False)
class OpenDimensions(Error):
    """E0205 for dimensions that nobody fixed.  inputs: all of the model's, in order."""

    inputs: tuple[OpenInput, ...] = ()


def input_specs(inputs: Sequence[OpenInput], shapes: Mapping[str, tuple[int, ...]], batch: int | None) -> dict[str, Spec]:
    """The static type of every input by name.

    Args:
        inputs: of the model, in order.
        shapes: full shapes by input name.
        batch: the size of every dynamic dimension 0, and of every other dimension that carries the same name as one.
    Raises: E0205 (dimensions left open), E0206 (a shape does not fit, or names no input).
    """
    known = [i.name for i in inputs]
    for name in shapes:
        if name not in known:
            raise Error("E0206", f"the model has no input '{name}'", hint=nearest(name, known))
    if batch is not None and batch < 1:
        raise Error("E0206", f"a batch of {batch} is not possible")
    batch_names: set[int | str] = {i.dims[0] for i in inputs if i.dims and isinstance(i.dims[0], str) and i.dims[0]}
    fixed: dict[str, Dims] = {}
    for item in inputs:
        with_batch = _with_batch(item.dims, batch, batch_names)
        fixed[item.name] = _with_shape(item.name, item.dims, shapes[item.name]) if item.name in shapes else with_batch
    _require_static(fixed, inputs)
    return {i.name: Spec(tuple(d for d in fixed[i.name] if isinstance(d, int)), i.dtype) for i in inputs}


def given_values(arguments: Mapping[str, SSAValue], values: Mapping[str, Any]) -> dict[SSAValue, NDArray]:
    """The values of integer and boolean arguments that ops may follow from.  What floating-point inputs hold never counts.

    Args:
        arguments: by name.
        values: arrays by name, of the arguments' shapes and dtypes; larger ones than a contract can hold are passed over.
    Raises: E0206 for an array of another dtype or shape.
    """
    found: dict[SSAValue, NDArray] = {}
    for name, argument in arguments.items():
        value, spec = values.get(name), spec_of(argument.type)
        if not isinstance(value, np.ndarray) or spec.dtype.kind not in "iub":
            continue
        if Spec(value.shape, value.dtype) != spec:
            raise Error("E0206", f"input '{name}' is {spec}; the value given is {value.dtype}{list(value.shape)}")
        if spec.elements <= MAX_ELEMENTS:
            found[argument] = format_of(spec.dtype).unpack(value)
    return found


def _with_batch(dims: Dims, batch: int | None, names: set[int | str]) -> Dims:
    if batch is None:
        return dims
    return tuple(batch if isinstance(d, str) and (axis == 0 or d in names) else d for axis, d in enumerate(dims))


def _with_shape(name: str, dims: Dims, shape: tuple[int, ...]) -> tuple[int, ...]:
    fits = len(shape) == len(dims) and all(isinstance(d, str) or d == s for d, s in zip(dims, shape, strict=True))
    if not fits or any(s < 0 for s in shape):
        example = "x".join(str(d) if isinstance(d, int) else "1" for d in dims)
        raise Error("E0206", f"input '{name}' is {_text(dims)}; {_text(shape)} does not fit", hint=f"for example --shape {name}={example}")
    return shape


def _require_static(fixed: Mapping[str, Dims], inputs: Sequence[OpenInput]) -> None:
    still_open = {name: dims for name, dims in fixed.items() if any(isinstance(d, str) for d in dims)}
    if not still_open:
        return
    example = {i.name: [d if isinstance(d, int) else i.nearest_size(d, 1) for d in fixed[i.name]] for i in inputs}
    flags = [f"--shape {name}={'x'.join(map(str, example[name]))}" for name in still_open]
    only_batch = all(not any(isinstance(d, str) for d in dims[1:]) for dims in still_open.values())
    hint = " ".join(flags) + (f" (or --batch {max(example[name][0] for name in still_open)})" if only_batch else "")
    listed = ", ".join(f"'{name}' {_text(dims)}" for name, dims in still_open.items())
    raise OpenDimensions("E0205", f"inputs with dynamic dimensions: {listed}", hint=f"fix them: {hint}", inputs=tuple(inputs))


def _text(dims: Sequence[int | str]) -> str:
    return "[" + ", ".join((d or "?") if isinstance(d, str) else str(d) for d in dims) + "]"

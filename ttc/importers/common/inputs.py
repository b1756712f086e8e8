"""A model's inputs: dynamic dimensions fixed by what the user gave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.formats import format_of
from ttc.dialects.core.ir.spec import Spec, spec_of
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.records import record
from ttc.importers.common.likely_shapes import flags_text, likely_shapes
from ttc.importers.common.open_input import Dims, OpenInput
from ttc.runtime.contract import MAX_ELEMENTS

LISTED = 4
"""The most inputs that a message names."""


@record(frozen=False)
class OpenDimensions(Error):
    """An E0205 for dimensions that nobody fixed.

    Args:
        inputs: all of the model's, in order.
        likely: shapes that would fix them, by name of the input.
    """

    inputs: tuple[OpenInput, ...] = ()
    likely: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def suggesting(self, shapes: Mapping[str, tuple[int, ...]]) -> OpenDimensions:
        """Return this error with a hint of flags that give its dimensions these sizes."""
        still_open = [item for item in self.inputs if item.name in shapes]
        only_batch = all(isinstance(dim, int) for item in still_open for dim in item.dims[1:])
        sizes = {shapes[item.name][0] for item in still_open if item.dims}
        batch = f" (or --batch {max(sizes)})" if only_batch and len(sizes) == 1 else ""
        self.likely, self.hint = shapes, f"fix them: {flags_text(shapes)}{batch}"
        return self


def input_specs(inputs: Sequence[OpenInput], shapes: Mapping[str, tuple[int, ...]], batch: int | None) -> dict[str, Spec]:
    """Return the static type of every input by name.

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
    _require_batch(inputs, batch)
    batch_names: set[int | str] = {i.dims[0] for i in inputs if i.dims and isinstance(i.dims[0], str) and i.dims[0]}
    fixed: dict[str, Dims] = {}
    for item in inputs:
        with_batch = _with_batch(item.dims, batch, batch_names)
        fixed[item.name] = _with_shape(item, shapes[item.name]) if item.name in shapes else with_batch
    _require_static(fixed, inputs, shapes, batch)
    return {i.name: Spec(tuple(d for d in fixed[i.name] if isinstance(d, int)), i.dtype) for i in inputs}


def given_values(arguments: Mapping[str, SSAValue], values: Mapping[str, Any]) -> dict[SSAValue, NDArray]:
    """Return values of integer and boolean arguments that ops may follow from; those of floating-point inputs never count.

    Args:
        arguments: by name.
        values: arrays by name, of the arguments' shapes and dtypes, or whole numbers for arguments of one element; larger ones than a
            contract can hold are passed over.
    Raises: E0206 for an array of another dtype or shape.
    """
    found: dict[SSAValue, NDArray] = {}
    for name, argument in arguments.items():
        value, spec = values.get(name), spec_of(argument.type)
        if not isinstance(value, np.ndarray):
            continue
        if spec.dtype.kind not in "iub":
            _require_dtype(name, value, spec)
            continue
        value = _as_declared(value, spec)
        if Spec(value.shape, value.dtype) != spec:
            raise Error("E0206", f"input '{name}' is {spec}; the value given is {value.dtype}{list(value.shape)}")
        if spec.elements <= MAX_ELEMENTS:
            found[argument] = format_of(spec.dtype).unpack(value)
    return found


def _require_dtype(name: str, value: NDArray, spec: Spec) -> None:
    """An example has the type of its input, as far as numpy's files name types.  Raises E0206."""
    if spec.dtype.kind == "f" and value.dtype.kind in "iubfc" and value.dtype != spec.dtype:
        raise Error("E0206", f"input '{name}' is {spec}; the value given is {value.dtype}{list(value.shape)}")


def _require_batch(inputs: Sequence[OpenInput], batch: int | None) -> None:
    """Some input has a leading dimension that a batch sets, or that has its size already.  Raises E0206."""
    if batch is None:
        return
    if batch < 1:
        raise Error("E0206", f"a batch of {batch} is not possible")
    leading = {item.name: item.dims[0] for item in inputs if item.dims}
    if any(isinstance(dim, str) or dim == batch for dim in leading.values()):
        return
    fixed = ", ".join(f"'{name}' is fixed at {dim}" for name, dim in list(leading.items())[:LISTED]) or "no input has one"
    more = ", ..." if len(leading) > LISTED else ""
    message = f"a batch of {batch} is not possible: the leading dimension of {fixed}{more}"
    raise Error("E0206", message, hint="leave out --batch, or export the model with a dynamic batch")


def _as_declared(value: NDArray, spec: Spec) -> NDArray:
    """Return a number without dimensions as the one element of an argument, if that can hold it."""
    if value.ndim or not spec.is_static or spec.elements != 1:
        return value
    cast = value.astype(spec.dtype)
    return cast.reshape(spec.shape) if cast == value else value


def _with_batch(dims: Dims, batch: int | None, names: set[int | str]) -> Dims:
    if batch is None:
        return dims
    return tuple(batch if isinstance(d, str) and (axis == 0 or d in names) else d for axis, d in enumerate(dims))


def _with_shape(item: OpenInput, shape: tuple[int, ...]) -> tuple[int, ...]:
    dims = item.dims
    fits = len(shape) == len(dims) and all(isinstance(d, str) or d == s for d, s in zip(dims, shape, strict=True))
    if not fits or any(s < 0 for s in shape):
        likely = likely_shapes([item], {})
        hint = f"for example {flags_text(likely)}" if likely else "the model fixes it: leave out --shape"
        raise Error("E0206", f"input '{item.name}' is {_text(dims)}; {_text(shape)} does not fit", hint=hint)
    return shape


def _require_static(
    fixed: Mapping[str, Dims], inputs: Sequence[OpenInput], shapes: Mapping[str, tuple[int, ...]], batch: int | None
) -> None:
    still_open = {name: dims for name, dims in fixed.items() if any(isinstance(d, str) for d in dims)}
    if not still_open:
        return
    listed = ", ".join(f"'{name}' {_text(dims)}" for name, dims in still_open.items())
    error = OpenDimensions("E0205", f"inputs with dynamic dimensions: {listed}", inputs=tuple(inputs))
    raise error.suggesting({name: shape for name, shape in likely_shapes(inputs, shapes, batch).items() if name in still_open})


def _text(dims: Sequence[int | str]) -> str:
    return "[" + ", ".join((d or "?") if isinstance(d, str) else str(d) for d in dims) + "]"

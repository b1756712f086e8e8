"""The model's inputs: their types, and dynamic dimensions fixed by what the user gave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onnx import TypeProto, ValueInfoProto

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.spec import Spec
from ttc.importers.onnx.tensors import dtype_of, shape_of


def input_specs(inputs: Sequence[ValueInfoProto], shapes: Mapping[str, tuple[int, ...]], batch: int | None) -> dict[str, Spec]:
    """The static type of every input by name.

    Args:
        inputs: the graph's inputs that are not initializers.
        shapes: full shapes by input name.
        batch: the size of every dynamic dimension 0, and of every other dimension that carries the same name as one.
    Raises: E0202 (type), E0203 (malformed), E0205 (dimensions left open), E0206 (a shape does not fit, or names no input).
    """
    known = [i.name for i in inputs]
    for name in shapes:
        if name not in known:
            raise Error("E0206", f"the model has no input '{name}'", hint=nearest(name, known))
    if batch is not None and batch < 1:
        raise Error("E0206", f"a batch of {batch} is not possible")
    dims = {i.name: _dims(i) for i in inputs}
    batch_names: set[int | str] = {d[0] for d in dims.values() if d and isinstance(d[0], str) and d[0]}
    fixed: dict[str, tuple[int | str, ...]] = {}
    for name, open_dims in dims.items():
        with_batch = _with_batch(open_dims, batch, batch_names)
        fixed[name] = _with_shape(name, open_dims, shapes[name]) if name in shapes else with_batch
    _require_static(fixed)
    return {i.name: _spec(i, fixed[i.name]) for i in inputs}


def _dims(value: ValueInfoProto) -> tuple[int | str, ...]:
    """Sizes; for a dynamic dimension its name, which may be empty.  Raises E0202, E0203, E0205."""
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        named = (kind or "unknown").removesuffix("_type").replace("_", " ")
        raise Error("E0202", f"input '{value.name}' is of type {named}; only tensors are supported")
    dtype_of(value.type.tensor_type.elem_type, f"input '{value.name}'")
    if not value.type.tensor_type.HasField("shape"):
        raise Error("E0205", f"input '{value.name}' has no shape, not even a rank", hint="store the model with shapes of its inputs")
    found: list[int | str] = []
    for dim in value.type.tensor_type.shape.dim:
        if dim.HasField("dim_value") and dim.dim_value < -1:
            raise Error("E0203", f"input '{value.name}' has a negative dimension")
        static = dim.HasField("dim_value") and dim.dim_value >= 0
        found.append(dim.dim_value if static else dim.dim_param)
    return tuple(found)


def _with_batch(dims: tuple[int | str, ...], batch: int | None, names: set[int | str]) -> tuple[int | str, ...]:
    if batch is None:
        return dims
    return tuple(batch if isinstance(d, str) and (axis == 0 or d in names) else d for axis, d in enumerate(dims))


def _with_shape(name: str, dims: tuple[int | str, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    fits = len(shape) == len(dims) and all(isinstance(d, str) or d == s for d, s in zip(dims, shape, strict=True))
    if not fits or any(s < 0 for s in shape):
        example = "x".join(str(d) if isinstance(d, int) else "1" for d in dims)
        raise Error("E0206", f"input '{name}' is {_text(dims)}; {_text(shape)} does not fit", hint=f"for example --shape {name}={example}")
    return shape


def _require_static(fixed: Mapping[str, tuple[int | str, ...]]) -> None:
    still_open = {name: dims for name, dims in fixed.items() if any(isinstance(d, str) for d in dims)}
    if not still_open:
        return
    flags = [f"--shape {name}={'x'.join(str(d) if isinstance(d, int) else '1' for d in dims)}" for name, dims in still_open.items()]
    only_batch = all(not any(isinstance(d, str) for d in dims[1:]) for dims in still_open.values())
    hint = " ".join(flags) + (" (or --batch 1)" if only_batch else "")
    listed = ", ".join(f"'{name}' {_text(dims)}" for name, dims in still_open.items())
    raise Error("E0205", f"inputs with dynamic dimensions: {listed}", hint=f"fix them: {hint}")


def _text(dims: Sequence[int | str]) -> str:
    return "[" + ", ".join((d or "?") if isinstance(d, str) else str(d) for d in dims) + "]"


def _spec(value: ValueInfoProto, dims: tuple[int | str, ...]) -> Spec:
    what = f"input '{value.name}'"
    return Spec(shape_of(tuple(d for d in dims if isinstance(d, int)), what), dtype_of(value.type.tensor_type.elem_type, what))


def type_proto(spec: Spec, code: int) -> TypeProto:
    """The ONNX type of a value."""
    found = TypeProto()
    found.tensor_type.elem_type = code
    for size in spec.shape:
        found.tensor_type.shape.dim.add().dim_value = size
    found.tensor_type.shape.SetInParent()
    return found

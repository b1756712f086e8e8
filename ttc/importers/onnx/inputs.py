"""The graph's inputs as ONNX declares them."""

from __future__ import annotations

from collections.abc import Iterable

from onnx import TypeProto, ValueInfoProto

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.spec import Spec
from ttc.importers.common.open_input import OpenInput
from ttc.importers.onnx.tensors import dtype_of, shape_of

_CONTAINERS = ("sequence_type", "optional_type")


def open_input(value: ValueInfoProto) -> OpenInput:
    """Return an input that is a tensor.  Raises E0202, E0203, E0205."""
    what = f"input '{value.name}'"
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        named = (kind or "unknown").removesuffix("_type").replace("_", " ")
        hint = f"say how long it is: --values '{value.name}[0]=FILE.npy' for each item, or --values {value.name}=none"
        raise Error("E0202", f"{what} is of type {named}; only tensors are supported", hint=hint if kind in _CONTAINERS else None)
    dtype = dtype_of(value.type.tensor_type.elem_type, what)
    if not value.type.tensor_type.HasField("shape"):
        raise Error("E0205", f"{what} has no shape, not even a rank", hint="store the model with shapes of its inputs")
    dims: list[int | str] = []
    for dim in value.type.tensor_type.shape.dim:
        if dim.HasField("dim_value") and dim.dim_value < -1:
            raise Error("E0203", f"{what} has a negative dimension")
        static = dim.HasField("dim_value") and dim.dim_value >= 0
        dims.append(dim.dim_value if static else dim.dim_param)
    shape_of(tuple(d for d in dims if isinstance(d, int)), what)
    return OpenInput(value.name, tuple(dims), dtype)


def declared_shapes(values: Iterable[ValueInfoProto]) -> dict[str, tuple[int, ...]]:
    """Return static shapes that a model declares for its values, by name."""
    found: dict[str, tuple[int, ...]] = {}
    for value in values:
        shape = value.type.tensor_type.shape if value.type.HasField("tensor_type") else None
        if shape is not None and value.type.tensor_type.HasField("shape") and all(dim.dim_value > 0 for dim in shape.dim):
            found[value.name] = tuple(dim.dim_value for dim in shape.dim)
    return found


def type_proto(spec: Spec, code: int) -> TypeProto:
    """Return the ONNX type of a value."""
    found = TypeProto()
    found.tensor_type.elem_type = code
    for size in spec.shape:
        found.tensor_type.shape.dim.add().dim_value = size
    found.tensor_type.shape.SetInParent()
    return found

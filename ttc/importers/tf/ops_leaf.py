"""Constants, variables, and nodes that pass on what they take."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common import masked
from ttc.importers.common.builder import Builder
from ttc.importers.common.complexes import Complex
from ttc.importers.tf.messages import Shape, Tensor
from ttc.importers.tf.tables import Rows
from ttc.importers.tf.tensors import COMPLEX, STRING, complex_of, content_of
from ttc.importers.tf.values import Value
from ttc.importers.tf.variables import read, write

INT32 = np.dtype(np.int32)


def const(b: Builder, *, value: Tensor) -> SSAValue | Complex | None:
    """Return a constant; nothing for a text, which only ops that are passed over look at."""
    span = value.span
    code = next((span.number(item) for item in span if item.number == 1), 0)
    if code == STRING:
        return None
    if code in COMPLEX:
        shape, real, imaginary = complex_of(value, "the constant")
        return Complex(_filled(b, real, shape), _filled(b, imaginary, shape))
    found = content_of(value, "the constant")
    return _filled(b, found.first.value(), found.shape)


def _filled(b: Builder, first: NDArray, shape: tuple[int, ...]) -> SSAValue:
    """Return a constant of these numbers; where the shape takes more, the last one repeats: by ops, which take no memory."""
    if first.shape == shape:
        return b.constant(first)
    if len(first) == 1:
        return b.nn("expand", b.constant(first[0]), shape=shape)
    rest = b.nn("expand", b.constant(first[-1]), shape=(prod(shape) - len(first),))
    return b.reshape(b.nn("concat", b.constant(first), rest, axis=0), *shape)


def identity(b: Builder, input: Value) -> Value:
    return input


def stop_gradient(b: Builder, input: Value) -> Value:
    """Return the operand, as a constant to gradients; what has none anyway stays as it is."""
    return b.nn("stop_gradient", input) if isinstance(input, SSAValue) and b.dtype(input).kind in "fV" else input


def identity_n(b: Builder, *input: Value) -> tuple[Value, ...]:
    return input


def read_variable(b: Builder, resource: Value) -> Value:
    """Return what a variable holds at this place.  A variable of TensorFlow 1 is read by what takes it."""
    return read(b, resource)


def assign(b: Builder, resource: Value, value: SSAValue, *, validate_shape: bool = False) -> None:
    """Give a variable another value from here on; the walker maps such ops in the order in which they run."""
    write(b, resource, value)


def assign_add(b: Builder, resource: Value, value: SSAValue) -> None:
    write(b, resource, b.nn("add", read(b, resource), value))


def assign_sub(b: Builder, resource: Value, value: SSAValue) -> None:
    write(b, resource, b.nn("sub", read(b, resource), value))


def resource_gather(b: Builder, resource: Value, indices: SSAValue, *, batch_dims: int = 0) -> SSAValue:
    table = read(b, resource)
    return masked.gather(b, table, indices, batch_dims, batch_dims)


def variable_shape(b: Builder, input: Value, *, out_type: np.dtype = INT32) -> SSAValue:
    return b.cast(b.nn("shape", read(b, input)), out_type)


def nothing(b: Builder, *operands: Value) -> None:
    return None


def check_numerics(b: Builder, tensor: SSAValue, *, message: str) -> SSAValue:
    return tensor


def with_default(b: Builder, input: SSAValue, *, shape: Shape) -> SSAValue:
    return input


ROWS: Rows = {
    "Const": const,
    **dict.fromkeys(["Identity", "PreventGradient", "Snapshot", "EnsureShape"], identity),
    "StopGradient": stop_gradient,
    "IdentityN": identity_n,
    "ReadVariableOp": read_variable,
    "AssignVariableOp": assign,
    "AssignAddVariableOp": assign_add,
    "AssignSubVariableOp": assign_sub,
    "ResourceGather": resource_gather,
    "VariableShape": variable_shape,
    "CheckNumerics": check_numerics,
    "PlaceholderWithDefault": with_default,
    "NoOp": nothing,
    "Assert": nothing,
}

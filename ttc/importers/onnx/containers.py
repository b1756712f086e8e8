"""Inputs and outputs that are sequences or optionals: as many tensors as the values given have."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import TypeProto, ValueInfoProto

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.ir.entries import Port
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.onnx.inputs import type_proto
from ttc.importers.onnx.tensors import CODES
from ttc.importers.onnx.values import Listed, Packed, Value


def item_name(name: str, index: int) -> str:
    """Return what an element of a sequence is called among the inputs and outputs of a program."""
    return f"{name}[{index}]"


def packed_names(name: str) -> tuple[str, str]:
    """Return names among the outputs of a sequence whose length data decides: of its tensors' elements, and of a row of sizes each."""
    return f"{name}.flat", f"{name}.sizes"


def tensors_of(inputs: Sequence[ValueInfoProto], values: Mapping[str, Any]) -> tuple[list[ValueInfoProto], dict[str, list[str] | None]]:
    """Return the tensors among and in the inputs, and for each sequence the names of its tensors; None for an optional without an element.

    Inputs of other types than tensors without a given value stay as they are.  Raises E0206 for a name that is none of an input.
    """
    tensors: list[ValueInfoProto] = []
    parts: dict[str, list[str] | None] = {}
    names = [value.name for value in inputs]
    for name, given in values.items():
        if not isinstance(given, np.ndarray) and name not in names:
            raise Error("E0206", f"the model has no input '{name}'", hint=nearest(name, names))
    values = {**{value.name: items for value in inputs if (items := _listed(value, values))}, **values}
    for value in inputs:
        inner = _element_type(value.type)
        if value.type.HasField("tensor_type") or value.name not in values:
            tensors.append(value)
        elif values[value.name] is None:
            parts[value.name] = [] if value.type.HasField("sequence_type") else None
        elif inner.HasField("sequence_type"):
            items = [_tensor(item_name(value.name, i), x) for i, x in enumerate(_items(values[value.name], value.name))]
            parts[value.name] = [item.name for item in items]
            tensors.extend(items)
        else:
            tensors.append(_tensor(value.name, values[value.name]))
    return tensors, parts


def _listed(value: ValueInfoProto, values: Mapping[str, Any]) -> list[Any]:
    """Return the items of a sequence that are given one by one."""
    if not is_sequence(value.type):
        return []
    names = (item_name(value.name, index) for index in itertools.count())
    return [values[name] for name in itertools.takewhile(lambda name: name in values, names)]


def items_of(
    inputs: Sequence[ValueInfoProto], parts: Mapping[str, list[str] | None], values: Mapping[str, Any]
) -> tuple[list[str], list[tuple[str, str]]]:
    """Return arguments that are tensors of sequences and optionals, and the inputs that have no tensor, with the reason."""
    items = [item for names in parts.values() for item in names or ()]
    items += [value.name for value in inputs if value.type.HasField("optional_type") and value.name in values and value.name not in parts]
    absent = [(name, "none" if names is None else "sequence") for name, names in parts.items() if not names]
    return items, absent


def arguments_of(parts: Mapping[str, list[str] | None], arguments: Mapping[str, SSAValue]) -> dict[str, Value]:
    """Return what names of the graph's inputs stand for."""
    inside = {name for names in parts.values() for name in names or ()}
    found: dict[str, Value] = {name: value for name, value in arguments.items() if name not in inside}
    for name, names in parts.items():
        found[name] = None if names is None else Listed(tuple(arguments[item] for item in names))
    return found


def ports_of(outputs: Sequence[str], get: Callable[[str], Value]) -> list[tuple[Port, SSAValue]]:
    """Return the tensors that outputs are made of; absent ones have none.  Raises E0203 if there are none at all."""
    found: list[tuple[Port, SSAValue]] = []
    for name in outputs:
        value = get(name)
        if isinstance(value, Listed):
            found.extend((Port(item_name(name, i)), item) for i, item in enumerate(value.items))
        elif isinstance(value, Packed):
            found += [(Port(port), part) for port, part in zip(packed_names(name), (value.flat, value.sizes), strict=True)]
        elif isinstance(value, SSAValue):
            found.append((Port(name), value))
    if not found:
        raise Error("E0203", "every output of the graph is absent")
    return found


def is_sequence(type_: TypeProto) -> bool:
    """Return whether values of the type are sequences, if they are there."""
    return _element_type(type_).HasField("sequence_type")


def _element_type(type_: TypeProto) -> TypeProto:
    return type_.optional_type.elem_type if type_.HasField("optional_type") else type_


def _items(value: Any, name: str) -> Sequence[Any]:
    if not isinstance(value, list | tuple):
        raise Error("E0206", f"input '{name}' is a sequence, not an array")
    return value


def _tensor(name: str, value: Any) -> ValueInfoProto:
    if isinstance(value, list | tuple):
        raise Error("E0206", f"input '{name}' is a tensor, not a list")
    array = np.asarray(value)
    if array.dtype not in CODES:
        raise Error("E0202", f"input '{name}' has elements of type {array.dtype}, which is not supported")
    return ValueInfoProto(name=name, type=type_proto(Spec(array.shape, array.dtype), CODES[array.dtype]))

"""Arguments of an op as its schema orders them, defaults filled in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.torch.dtypes import dtype_of
from ttc.importers.torch.tables import IGNORED
from ttc.importers.torch.values import DataNumber, Value


def bind(
    op: torch._ops.OpOverload, args: tuple[Value, ...], kwargs: Mapping[str, Value], static: Callable[[Value, str], Value]
) -> tuple[tuple[Value, ...], dict[str, Value]]:
    """Return positional arguments in order, and keyword-only ones by name.

    Args:
        args, kwargs: of the node.
        static: gives the number that an nn value is known to hold; if that has a name it must be known.
    Raises: Unsupported where a number or a list of numbers depends on data.
    """
    positional: list[Value] = []
    keywords: dict[str, Value] = {}
    for index, argument in enumerate(op._schema.arguments):
        if argument.kwarg_only and argument.name in IGNORED:
            continue
        value = args[index] if index < len(args) else kwargs.get(argument.name, _default(argument))
        value = _resolved(value, str(argument.type), argument.name, static, needed=argument.kwarg_only)
        if argument.kwarg_only:
            keywords[argument.name] = value
        else:
            positional.append(value)
    return tuple(positional), keywords


def _default(argument: Any) -> Value:
    found = argument.default_value if argument.has_default_value() else None
    if isinstance(found, torch.dtype):
        return dtype_of(found)
    return tuple(found) if isinstance(found, list) else found


def _resolved(value: Value, kind: str, name: str, static: Callable[[Value, str], Value], *, needed: bool) -> Value:
    """Numbers where the schema has numbers; a scalar (type `number`) may depend on data, unless it is one that an op `needs` as such."""
    if isinstance(value, tuple):
        return tuple(_resolved(v, kind, name, static, needed=needed) for v in value)
    if "Tensor" in kind and not isinstance(value, DataNumber):
        return value
    needed = needed or "number" not in kind or isinstance(value, DataNumber)
    found = static(value, name if needed else "")
    if isinstance(found, SSAValue) and "number" not in kind:
        raise Unsupported(f"{name} is a tensor of {found.type}")
    return found

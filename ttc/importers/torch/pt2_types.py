"""JSON of a `.pt2` archive as the records of PyTorch's schema, each value of the type that its field has."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from enum import IntEnum
from functools import cache
from typing import Any

from torch._export.serde import schema
from torch._export.serde.union import _Union

from ttc.dialects.core.errors import Error

MAX_JSON_BYTES = 1 << 28
MAX_DEPTH = 128


def parsed(data: bytes, what: str) -> Any:
    """JSON text as Python values.  Raises E0203: not JSON, nested too deep, a key twice, a number too long."""
    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise Error("E0203", f"{what} is not usable JSON: {str(error)[:200]}") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def typed(cls: Any, data: Any, what: str, depth: int = 0) -> Any:
    """A value of a type of the schema: a record, one of several (`_Union`), a list, a dictionary by text, or plain.  Raises E0203.

    Fields that the schema does not know are passed over, as PyTorch does.
    """
    if depth > MAX_DEPTH:
        raise Error("E0203", f"{what} is nested more than {MAX_DEPTH} deep")
    origin = typing.get_origin(cls)
    if origin is typing.Annotated:
        return typed(typing.get_args(cls)[0], data, what, depth)
    if origin in (typing.Union, types.UnionType):
        (inner,) = (t for t in typing.get_args(cls) if t is not type(None))
        return None if data is None else typed(inner, data, what, depth)
    if origin is list:
        (inner,) = typing.get_args(cls)
        return [typed(inner, item, what, depth + 1) for item in _require(data, list, what)]
    if origin is dict:
        _, inner = typing.get_args(cls)
        return {key: typed(inner, item, f"{what}.{key[:80]}", depth + 1) for key, item in _require(data, dict, what).items()}
    if dataclasses.is_dataclass(cls):
        return _record(cls, _require(data, dict, what), what, depth)
    return _plain(cls, data, what)


def _record(cls: Any, data: dict[str, Any], what: str, depth: int) -> Any:
    hints = _hints(cls)
    if issubclass(cls, _Union):
        if len(data) != 1 or next(iter(data)) not in hints:
            raise Error("E0203", f"{what} is none of {', '.join(sorted(hints))}")
        ((key, value),) = data.items()
        return cls.create(**{key: typed(hints[key], value, f"{what}.{key}", depth + 1)})
    given = {key: typed(hints[key], value, f"{what}.{key}", depth + 1) for key, value in data.items() if key in hints}
    missing = [f.name for f in dataclasses.fields(cls) if f.name not in given and _has_no_default(f)]
    if missing:
        raise Error("E0203", f"{what} lacks {', '.join(missing)}")
    return cls(**given)


def _has_no_default(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


@cache
def _hints(cls: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(cls, globalns=dict(vars(schema)), include_extras=True)
    return {f.name: hints[f.name] for f in dataclasses.fields(cls)}


def _plain(cls: Any, data: Any, what: str) -> Any:
    if isinstance(cls, type) and issubclass(cls, IntEnum):
        if type(data) is not int or data not in {int(m) for m in cls}:
            raise Error("E0203", f"{what} is no {cls.__name__}")
        return data
    if cls is float and data in ("Infinity", "-Infinity", "NaN"):
        return float(data)
    if cls is float and type(data) is int and abs(data) < 1 << 64:
        return float(data)
    return _require(data, cls, what)


def _require(data: Any, cls: Any, what: str) -> Any:
    if type(data) is not cls:
        raise Error("E0203", f"{what} is a {type(data).__name__}, not a {getattr(cls, '__name__', cls)}")
    if cls is int and abs(data) >= 1 << 64:
        raise Error("E0203", f"{what} is a number of more than 64 bits")
    return data

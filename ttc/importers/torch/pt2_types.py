"""JSON of a `.pt2` archive as the records of PyTorch's schema, each value of the type that its field has."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Callable
from enum import IntEnum
from functools import cache
from typing import Any, TypeAlias

from torch._export.serde import schema
from torch._export.serde.union import _Union

from ttc.dialects.core.errors import Error
from ttc.dialects.core.json_hooks import no_constant, unique_keys

MAX_JSON_BYTES = 1 << 28
MAX_DEPTH = 128


def parsed(data: bytes, what: str) -> Any:
    """Return JSON text as Python values. Raises E0203: not JSON, nested too deep, a key twice, a number too long."""
    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=unique_keys, parse_constant=no_constant)
    except (ValueError, RecursionError) as error:
        raise Error("E0203", f"{what} is not usable JSON: {str(error)[:200]}") from error


class _Mismatch(Exception):
    """A value that does not suit its field; the fields around it, innermost first."""

    def __init__(self, message: str, *fields: str) -> None:
        super().__init__(message)
        self.fields = list(fields)


_Reader: TypeAlias = "Callable[[Any, int], Any]"
"""Makes a value of what JSON gave, that many levels deep.  Raises _Mismatch."""


def typed(cls: Any, data: Any, what: str) -> Any:
    """Return a value of a type of the schema: a record, one of several (`_Union`), a list, a dictionary by text, or plain.  Raises E0203.

    Fields that the schema does not know are passed over, as PyTorch does.
    """
    try:
        return _reader(cls)(data, 0)
    except _Mismatch as error:
        raise Error("E0203", f"{'.'.join((what, *reversed(error.fields)))} {error}") from None


@cache
def _reader(cls: Any) -> _Reader:
    origin, arguments = typing.get_origin(cls), typing.get_args(cls)
    if origin is typing.Annotated:
        return _reader(arguments[0])
    if origin in (typing.Union, types.UnionType):
        (inner,) = (t for t in arguments if t is not type(None))
        read = _reader(inner)
        return lambda data, depth: None if data is None else read(data, depth)
    if origin is list:
        return _list_reader(_reader(arguments[0]))
    if origin is dict:
        return _dict_reader(_reader(arguments[1]))
    if dataclasses.is_dataclass(cls):
        return _union_reader(cls) if issubclass(cls, _Union) else _record_reader(cls)  # pyright: ignore[reportArgumentType]
    return _enum_reader(cls) if isinstance(cls, type) and issubclass(cls, IntEnum) else lambda data, _: _plain(cls, data)


def _list_reader(read: _Reader) -> _Reader:
    return lambda data, depth: [read(item, _deeper(depth)) for item in _require(data, list)]


def _dict_reader(read: _Reader) -> _Reader:
    def apply(data: Any, depth: int) -> dict[str, Any]:
        return {key: _field(read, key, item, _deeper(depth)) for key, item in _require(data, dict).items()}

    return apply


def _union_reader(cls: Any) -> _Reader:
    def apply(data: Any, depth: int) -> Any:
        readers = _readers(cls)
        if len(_require(data, dict)) != 1 or next(iter(data)) not in readers:
            raise _Mismatch(f"is none of {', '.join(sorted(readers))}")
        ((key, value),) = data.items()
        return cls.create(**{key: _field(readers[key], key, value, _deeper(depth))})

    return apply


def _record_reader(cls: Any) -> _Reader:
    required = frozenset(f.name for f in dataclasses.fields(cls) if _has_no_default(f))

    def apply(data: Any, depth: int) -> Any:
        readers, inner = _readers(cls), _deeper(depth)
        given = {key: _field(readers[key], key, value, inner) for key, value in _require(data, dict).items() if key in readers}
        if not required <= given.keys():
            raise _Mismatch(f"lacks {', '.join(f.name for f in dataclasses.fields(cls) if f.name in required - given.keys())}")
        return cls(**given)

    return apply


def _field(read: _Reader, name: str, value: Any, depth: int) -> Any:
    try:
        return read(value, depth)
    except _Mismatch as error:
        error.fields.append(name[:80])
        raise


def _deeper(depth: int) -> int:
    if depth >= MAX_DEPTH:
        raise _Mismatch(f"is nested more than {MAX_DEPTH} deep")
    return depth + 1


def _has_no_default(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


@cache
def _readers(cls: Any) -> dict[str, _Reader]:
    """By field; records may hold records of their own kind, so that these are made when the first is read."""
    hints = typing.get_type_hints(cls, globalns=dict(vars(schema)), include_extras=True)
    return {f.name: _reader(hints[f.name]) for f in dataclasses.fields(cls)}


def _enum_reader(cls: type[IntEnum]) -> _Reader:
    numbers = frozenset(map(int, cls))

    def apply(data: Any, _: int) -> int:
        if type(data) is not int or data not in numbers:
            raise _Mismatch(f"is no {cls.__name__}")
        return data

    return apply


def _plain(cls: Any, data: Any) -> Any:
    if type(data) is cls and cls is not int:
        return data
    if cls is float and data in ("Infinity", "-Infinity", "NaN"):
        return float(data)
    if cls is float and type(data) is int and abs(data) < 1 << 64:
        return float(data)
    return _require(data, cls)


def _require(data: Any, cls: Any) -> Any:
    if type(data) is not cls:
        raise _Mismatch(f"is a {type(data).__name__}, not a {getattr(cls, '__name__', cls)}")
    if cls is int and abs(data) >= 1 << 64:
        raise _Mismatch("is a number of more than 64 bits")
    return data

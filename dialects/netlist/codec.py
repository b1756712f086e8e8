"""Dataclasses to and from raw values (dictionaries, lists, scalars), by their type hints.

One codec serves the JSON of archives and the attributes of IR text.  Reading is strict: an unknown or missing field, a value of another
type, or a size out of bounds is an error that names the path to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.plain.functions import Function

Decoder: TypeAlias = Callable[[Any, int], Any]
"""Raw value and how many functions enclose it -> value."""

MAX_ITEMS = 1 << 17
MAX_TEXT = 1 << 16
MAX_INT = 1 << 62
MAX_FUNCTIONS = 17
"""The most functions nested in each other: a work, and bodies in it at most 16 deep."""
MAX_LISTS = 16
"""The most lists nested in each other in an attribute's value."""


class PlainValue:
    """Stands for the recursive alias `Plain` in type hints."""


class _Bad(Exception):
    """A raw value that does not fit; collects the path to it on the way out."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.path: list[str] = []

    def under(self, step: str) -> _Bad:
        self.path.append(step)
        return self


def decode(kind: Any, raw: Any, root: str = "$") -> Any:
    """Return a value of a dataclass (or another type hint) from raw values.  Raises E0609 naming the path."""
    try:
        return decoder(kind)(raw, 0)
    except _Bad as bad:
        raise Error("E0609", bad.message, where=root + "".join(reversed(bad.path)), hint=bad.hint) from None


def encode(value: Any) -> Any:
    """Raw values of a dataclass: fields that equal their default are left out, attributes of a work are sorted."""
    if is_dataclass(value):
        raw = {f.name: encode(getattr(value, f.name)) for f in stored_fields(type(value)) if not _is_default(f, value)}
        return raw
    if isinstance(value, tuple):
        return [encode(x) for x in value]
    if isinstance(value, dict):
        named = all(is_dataclass(v) for v in value.values())
        return {k: encode(v) for k, v in (value.items() if named else sorted(value.items()))}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    return value


@cache
def stored_fields(kind: type) -> tuple[Field[Any], ...]:
    """Return the fields of a dataclass that its constructor takes."""
    return tuple(f for f in fields(kind) if f.init)


def default_of(field: Field[Any]) -> Any:
    """Return the field's default; MISSING if it has none."""
    return field.default if field.default_factory is MISSING else field.default_factory()


def _is_default(field: Field[Any], value: Any) -> bool:
    default = default_of(field)
    found = getattr(value, field.name)
    return default is not MISSING and type(found) is type(default) and found == default


@cache
def decoder(hint: Any) -> Decoder:
    """Return the decoder of a type hint."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint in _SCALARS:
        return _SCALARS[hint]
    if isinstance(hint, type) and is_dataclass(hint):
        return _record(hint)
    if origin is Literal:
        return _literal(arguments)
    if origin is tuple:
        return _sequence(arguments[0]) if arguments[1:] == (...,) else _fixed(arguments)
    if origin is dict:
        return _mapping(arguments[1])
    if origin in (Union, UnionType):
        return _union(arguments)
    raise Error("E0901", f"no decoder for {hint}")


# ---- scalars ---------------------------------------------------------------------------------------------------------------------


def _int(raw: Any, depth: int) -> int:
    if type(raw) is not int:
        raise _Bad(f"an integer is wanted, not {_kind(raw)}")
    if not -MAX_INT <= raw <= MAX_INT:
        raise _Bad("an integer is out of range")
    return raw


def _bool(raw: Any, depth: int) -> bool:
    if type(raw) is not bool:
        raise _Bad(f"true or false is wanted, not {_kind(raw)}")
    return raw


def _str(raw: Any, depth: int) -> str:
    if type(raw) is not str:
        raise _Bad(f"a string is wanted, not {_kind(raw)}")
    if len(raw) > MAX_TEXT:
        raise _Bad(f"a string of {len(raw)} characters is too long")
    if not raw.isascii() and any("\ud800" <= c <= "\udfff" for c in raw):
        raise _Bad("a string holds half of a surrogate pair")
    return raw


def _float(raw: Any, depth: int) -> float:
    if not (type(raw) is float and math.isfinite(raw) or type(raw) is int and -MAX_INT <= raw <= MAX_INT):
        raise _Bad(f"a finite number is wanted, not {_kind(raw)}")
    return float(raw)


def _none(raw: Any, depth: int) -> None:
    if raw is not None:
        raise _Bad(f"null is wanted, not {_kind(raw)}")


_NON_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def _plain(raw: Any, depth: int) -> Any:
    """Return an attribute's value; a float that is not finite reads {"float": "inf"}."""
    kind = type(raw)
    if kind in (list, tuple):
        return _plain_list(raw, 1)
    return _plain_scalar(raw)


def _plain_list(raw: list[Any], lists: int) -> tuple[Any, ...]:
    if lists > MAX_LISTS:
        raise _Bad(f"lists nest more than {MAX_LISTS} deep")
    _bounded(raw)
    return tuple(_plain_list(x, lists + 1) if type(x) in (list, tuple) else _plain_scalar(x) for x in raw)


def _plain_scalar(raw: Any) -> Any:
    kind = type(raw)
    if kind is int:
        return _int(raw, 0)
    if kind is str:
        return _str(raw, 0)
    if kind is bool or raw is None:
        return raw
    if kind is float:
        if not math.isfinite(raw):
            raise _Bad("a float is out of range")
        return raw
    if kind is dict and list(raw) == ["float"] and type(raw["float"]) is str and raw["float"] in _NON_FINITE:
        return _NON_FINITE[raw["float"]]
    raise _Bad(f"an attribute cannot be {_kind(raw)}")


_SCALARS: dict[Any, Decoder] = {int: _int, float: _float, bool: _bool, str: _str, NoneType: _none, PlainValue: _plain}


# ---- composites ------------------------------------------------------------------------------------------------------------------


def _record(kind: type) -> Decoder:
    hints = get_type_hints(kind, localns={"Plain": PlainValue})
    defaults = {f.name: default_of(f) for f in stored_fields(kind)}
    required = {name for name, default in defaults.items() if default is MISSING}
    decoders: dict[str, Decoder] = {}  # filled on first use: types refer to each other
    inner = 1 if kind is Function else 0

    def read(raw: Any, depth: int) -> Any:
        if type(raw) is not dict:
            raise _Bad(f"a {kind.__name__} is wanted, not {_kind(raw)}")
        if not decoders:
            decoders.update({name: decoder(hints[name]) for name in defaults})
        if not required <= raw.keys() or not raw.keys() <= decoders.keys():
            raise _wrong_fields(kind, raw, decoders.keys(), required)
        if depth + inner > MAX_FUNCTIONS:
            raise _Bad(f"bodies nest more than {MAX_FUNCTIONS - 1} deep")
        name = ""
        try:
            values: dict[str, Any] = {}
            for name, item in raw.items():
                values[name] = decoders[name](item, depth + inner)
        except _Bad as bad:
            raise bad.under(f".{name}") from None
        return kind(**values)

    return read


def _wrong_fields(kind: type, raw: dict[str, Any], known: Any, required: set[str]) -> _Bad:
    missing = sorted(required - raw.keys())
    if missing:
        return _Bad(f"a {kind.__name__} lacks '{missing[0]}'")
    unknown = sorted(raw.keys() - known)[0]
    return _Bad(f"a {kind.__name__} has no field '{unknown[:80]}'", nearest(unknown[:80], known))


def _literal(allowed: tuple[Any, ...]) -> Decoder:
    def read(raw: Any, depth: int) -> Any:
        if type(raw) is not str or raw not in allowed:
            raise _Bad(f"one of {', '.join(map(str, allowed))} is wanted, not {_kind(raw)}")
        return raw

    return read


def _sequence(item: Any) -> Decoder:
    read_item = decoder(item)
    width = _int_row(item)

    def read(raw: Any, depth: int) -> tuple[Any, ...]:
        _bounded(raw)
        if width and _are_int_rows(raw, width):
            return tuple(map(tuple, raw))
        values: list[Any] = []
        try:
            for x in raw:
                values.append(read_item(x, depth))
        except _Bad as bad:
            raise bad.under(f"[{len(values)}]") from None
        return tuple(values)

    return read


def _int_row(hint: Any) -> int:
    """n of a hint tuple[int, ..., int] with n members; 0 for any other."""
    items = get_args(hint) if get_origin(hint) is tuple else ()
    return len(items) if items and set(items) == {int} else 0


def _are_int_rows(raw: list[Any], width: int) -> bool:
    """Return whether these are lists of `width` integers in range: the short way for a queue's addresses, by far the longest lists."""
    if not raw or set(map(type, raw)) != {list} or set(map(len, raw)) != {width}:
        return False
    flat = [x for row in raw for x in row]
    return set(map(type, flat)) == {int} and -MAX_INT <= min(flat) and max(flat) <= MAX_INT


def _fixed(items: tuple[Any, ...]) -> Decoder:
    readers = tuple(decoder(item) for item in items)

    def read(raw: Any, depth: int) -> tuple[Any, ...]:
        if type(raw) not in (list, tuple) or len(raw) != len(readers):
            raise _Bad(f"a list of {len(readers)} is wanted, not {_kind(raw)}")
        return tuple([reader(x, depth) for reader, x in zip(readers, raw, strict=True)])

    return read


def _mapping(item: Any) -> Decoder:
    read_item = decoder(item)

    def read(raw: Any, depth: int) -> dict[str, Any]:
        if type(raw) is not dict:
            raise _Bad(f"an object is wanted, not {_kind(raw)}")
        if len(raw) > MAX_ITEMS:
            raise _Bad(f"{len(raw)} entries are too many")
        name = ""
        try:
            values: dict[str, Any] = {}
            for name, x in raw.items():
                values[_str(name, depth)] = read_item(x, depth)
        except _Bad as bad:
            raise bad.under(f"[{name[:80]!r}]") from None
        return values

    return read


def _union(members: tuple[Any, ...]) -> Decoder:
    """`X | None`, scalars, or dataclasses told apart by their field names."""
    optional = NoneType in members
    readers = {m: decoder(m) for m in members if m is not NoneType}
    records = {m: {f.name for f in stored_fields(m)} for m in readers if is_dataclass(m)}
    scalars = {m: readers[m] for m in readers if m in _SCALARS}

    def read(raw: Any, depth: int) -> Any:
        if raw is None and optional:
            return None
        if len(readers) == 1:
            return next(iter(readers.values()))(raw, depth)
        if type(raw) in scalars:
            return scalars[type(raw)](raw, depth)
        for record, names in records.items():
            if type(raw) is dict and (raw.keys() & names or not (names or raw)):
                return readers[record](raw, depth)
        raise _Bad(f"{' or '.join(m.__name__ for m in readers)} is wanted, not {_kind(raw)}")

    return read


def _bounded(raw: Any) -> None:
    if type(raw) not in (list, tuple):
        raise _Bad(f"a list is wanted, not {_kind(raw)}")
    if len(raw) > MAX_ITEMS:
        raise _Bad(f"a list of {len(raw)} items is too long")


def _kind(raw: Any) -> str:
    """Return the raw value as messages name it."""
    match raw:
        case None:
            return "null"
        case bool():
            return str(raw).lower()
        case int():
            return f"{raw}" if abs(raw) < 1 << 64 else "a huge integer"
        case float():
            return f"{raw}"
        case str():
            return f"'{raw[:60]}'"
        case list() | tuple():
            return f"a list of {len(raw)}"
        case _:
            return "an object"

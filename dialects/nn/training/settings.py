"""Records that are written as text: `name:key=value,key=value`, where only what differs from its default is written."""

from __future__ import annotations

import dataclasses
import math
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, TypeVar

from ttc.dialects.core.errors import Error, nearest

MAX_NUMBERS = 1 << 16
"""The most numbers of one setting that is a list."""


class NamedSettings:
    """A record with a name and settings: numbers, truths, words, or lists of numbers."""

    NAME: ClassVar[str]
    WHAT: ClassVar[str]
    """What records of the class are called in messages."""

    @property
    def text(self) -> str:
        """The name, with the settings that differ from their defaults."""
        items = dataclasses.fields(typing.cast("Any", self))
        given = [f"{i.name}={_text(value)}" for i in items if (value := getattr(self, i.name)) != i.default]
        return f"{self.NAME}:{','.join(given)}" if given else self.NAME


NamedT = TypeVar("NamedT", bound=NamedSettings)


def named(text: str, kinds: Mapping[str, type[NamedT]], what: str) -> NamedT:
    """The record that a text stands for: `cross_entropy:ignore_index=-100,label_smoothing=0.1`; lists have `/` between their numbers.

    Args:   kinds: classes by name.  what: they are, for messages.
    Raises: E0101 for unknown names and keys, with the nearest ones, and for values that do not fit.
    """
    name, _, rest = text.partition(":")
    kind = kinds.get(name.strip().lower().replace("-", "_"))
    if kind is None:
        raise Error("E0101", f"there is no {what} '{name[:80]}'", hint=nearest(name.lower(), kinds) or f"there are {', '.join(kinds)}")
    given: dict[str, str] = {}
    for item in filter(None, (part.strip() for part in rest.split(","))):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not value:
            raise Error("E0101", f"{what} {kind.NAME}: '{item[:80]}' is no setting", hint=f"write {kind.NAME}:key=value,key=value")
        if key in given:
            raise Error("E0101", f"{what} {kind.NAME} has '{key[:80]}' twice")
        given[key] = value
    return made(kind, given)


def made(kind: type[NamedT], given: Mapping[str, Any]) -> NamedT:
    """Return a record of a class from settings by name: text or values.  Raises E0101."""
    known = _settings_of(kind)
    for key in given:
        if key not in known:
            hint = nearest(key, known) or f"it has {', '.join(known) or 'none'}"
            raise Error("E0101", f"{kind.WHAT} {kind.NAME} has no setting '{key[:80]}'", hint=hint)
    return kind(**{key: _value(kind, key, value, known[key]) for key, value in given.items()})


@cache
def _settings_of(kind: type[NamedSettings]) -> dict[str, Any]:
    """The types of a class's settings by name; hints are evaluated once, as a step of training reads its optimizer's numbers anew."""
    hints = typing.get_type_hints(kind)
    return {item.name: hints[item.name] for item in dataclasses.fields(typing.cast("Any", kind))}


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return "/".join(map(_text, typing.cast("tuple[Any, ...]", value)))
    return repr(value) if isinstance(value, float) else str(value).lower()


def _value(kind: type[NamedSettings], key: str, value: Any, wanted: Any) -> Any:
    """Return a value of the type that a setting has.  Raises E0101."""
    try:
        return _read(value, wanted)
    except (ValueError, TypeError, OverflowError):
        takes = {float: "a finite number", int: "a whole number", bool: "true or false", str: "a word"}.get(wanted, "numbers: 0.5/1.0/2.0")
        raise Error("E0101", f"{kind.WHAT} {kind.NAME}: {key} cannot be '{str(value)[:80]}'", hint=f"it takes {takes}") from None


def _read(value: Any, wanted: Any) -> Any:
    if wanted is bool:
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true"
        if isinstance(value, bool):
            return value
        raise ValueError
    if wanted is int:
        if isinstance(value, bool) or isinstance(value, float) and value != int(value):
            raise ValueError
        return int(value)
    if wanted is float:
        number = float(value)
        if not math.isfinite(number):
            raise ValueError
        return number
    if wanted is str:
        return str(value)
    items = value.split("/") if isinstance(value, str) else list(value)
    if len(items) > MAX_NUMBERS:
        raise ValueError
    return tuple(_read(item, float) for item in items)

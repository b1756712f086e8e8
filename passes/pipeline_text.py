"""Pipelines as text: `fold-shapes,stream-batch{samples=4},override-formats{rules="op=matmul output=Bfp8_b"}`.

A pass is named as it prints; its options, the fields of its class, stand in braces, separated by spaces.  A value is a word, a text in
double quotes, `none`, or a list of values in brackets.  The names of stages stand for all their passes.
"""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import ttc.passes as package
from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.rules.placement import PlacementRule, rule_of_text
from ttc.dialects.core.rules.precision import PrecisionRule
from ttc.dialects.core.rules.queues import QueueRule
from ttc.passes.base import Pass

MAX_PASSES = 1000
"""The most passes that one pipeline may have."""
MAX_DEPTH = 4
"""The most lists nested in each other in an option."""
_TOKEN = re.compile(r'\s*(?:(?P<text>"(?:[^"\\]|\\.)*")|(?P<word>[^\s{}\[\],="]+)|(?P<mark>[{}\[\],=]))')
_RULES: Mapping[type, Callable[[str], Any]] = {PrecisionRule: PrecisionRule.of_text, PlacementRule: rule_of_text, QueueRule: rule_of_text}


@cache
def all_passes() -> dict[str, type[Pass]]:
    """Return every pass by name: the classes in the modules of the packages in `ttc.passes`."""
    found: dict[str, type[Pass]] = {}
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if info.ispkg:
            continue
        module = importlib.import_module(info.name)
        for item in vars(module).values():
            if isinstance(item, type) and issubclass(item, Pass) and item.__module__ == module.__name__ and "name" in vars(item):
                found[item.name] = item
    return dict(sorted(found.items()))


def read_pipeline(text: str, stages: Mapping[str, Sequence[Pass]]) -> list[Pass]:
    """Return the passes that a text names.

    Args:
        stages: passes of each stage, which its name stands for.
    Raises: E0101 for text that is no pipeline, and unknown passes and options, with the nearest known ones.
    """
    tokens = _Tokens(text)
    found: list[Pass] = []
    while True:
        name = tokens.word("the name of a pass")
        options = dict(_options(tokens)) if tokens.skip("{") else None
        if name in stages:
            if options is not None:
                raise Error("E0101", f"'{name}' is a stage: it takes no options")
            found.extend(stages[name])
        else:
            found.append(make_pass(name, options or {}, stages))
        if len(found) > MAX_PASSES:
            raise Error("E0101", f"a pipeline of more than {MAX_PASSES} passes")
        if tokens.done:
            return found
        tokens.need(",")


def make_pass(name: str, options: Mapping[str, Any], others: Sequence[str] | Mapping[str, Any] = ()) -> Pass:
    """Return a pass by name, with options as text, number, truth or lists of these.  others: names to suggest beside those of passes.

    Raises: E0101.
    """
    kind = all_passes().get(name)
    if kind is None:
        raise Error("E0101", f"there is no pass '{name[:80]}'", hint=nearest(name, [*all_passes(), *others]) or "ttc passes lists them")
    kinds = pass_options(kind)
    for key in options:
        if key not in kinds:
            raise Error("E0101", f"pass {name} has no option '{key[:80]}'", hint=nearest(key, kinds) or "it has no options")
    return kind(**{key: _value(value, kinds[key], f"option {key} of pass {name}") for key, value in options.items()})


def pass_options(kind: type[Pass]) -> dict[str, Any]:
    """Return options of a pass by name, with their types."""
    if not dataclasses.is_dataclass(kind):
        return {}
    hints = typing.get_type_hints(kind)
    return {item.name: hints[item.name] for item in dataclasses.fields(kind)}


def pass_text(pass_: Pass) -> str:
    """Return the pass as `read_pipeline` reads it; options that have their default are left out."""
    given: list[str] = []
    for item in dataclasses.fields(typing.cast("Any", pass_)) if dataclasses.is_dataclass(pass_) else ():
        value = getattr(pass_, item.name)
        if value != item.default:
            given.append(f"{item.name}={option_text(value)}")
    return f"{pass_.name}{{{' '.join(given)}}}" if given else pass_.name


def pipeline_text(passes: Sequence[Pass]) -> str:
    """Return all passes as `read_pipeline` reads them."""
    return ",".join(map(pass_text, passes))


def option_text(value: object) -> str:
    """Return a value of an option as text."""
    if isinstance(value, tuple):
        return f"[{','.join(map(option_text, value))}]"
    if value is None or isinstance(value, bool | int | float):
        return str(value).lower()
    text = str(getattr(value, "text", value))
    return (
        text
        if re.fullmatch(r"[\w.@*/+-]+", text) and text not in ("none", "true", "false")
        else '"' + re.sub(r'(["\\])', r"\\\1", text) + '"'
    )


# ---- reading --------------------------------------------------------------------------------------------------------------------


class _Tokens:
    """Words, quoted texts and marks of a text, one after another."""

    def __init__(self, text: str) -> None:
        self._items: list[tuple[str, str]] = []
        at, end = 0, len(text.rstrip())
        while at < end:
            match = _TOKEN.match(text, at)
            if match is None:
                raise Error("E0101", "a pipeline cannot be read", excerpt=_pointed(text, at))
            self._items.append((str(match.lastgroup), match[str(match.lastgroup)]))
            at = match.end()
        self._next = 0

    @property
    def done(self) -> bool:
        return self._next >= len(self._items)

    def take(self) -> tuple[str, str]:
        if self.done:
            raise Error("E0101", "a pipeline ends too early")
        self._next += 1
        return self._items[self._next - 1]

    def word(self, what: str) -> str:
        kind, text = self.take() if not self.done else ("", "its end")
        if kind != "word":
            raise Error("E0101", f"a pipeline has {text[:80]} where {what} must stand")
        return text

    def skip(self, mark: str) -> bool:
        """Pass over a mark if it is next; whether it was."""
        found = not self.done and self._items[self._next] == ("mark", mark)
        self._next += found
        return found

    def need(self, mark: str) -> None:
        if not self.skip(mark):
            found = "its end" if self.done else self._items[self._next][1]
            raise Error("E0101", f"a pipeline has {found[:80]} where '{mark}' must stand")


def _pointed(text: str, at: int) -> str:
    start = max(at - 40, 0)
    return f"{text[start : at + 40]}\n{' ' * (at - start)}^"


def _options(tokens: _Tokens) -> Iterator[tuple[str, Any]]:
    seen: set[str] = set()
    while not tokens.skip("}"):
        key = tokens.word("an option")
        if key in seen:
            raise Error("E0101", f"a pipeline gives option '{key[:80]}' twice")
        seen.add(key)
        tokens.need("=")
        yield key, _read_value(tokens)


def _read_value(tokens: _Tokens, depth: int = 0) -> Any:
    if depth > MAX_DEPTH:
        raise Error("E0101", f"a pipeline nests lists deeper than {MAX_DEPTH}")
    if not tokens.skip("["):
        return _read_word(tokens)
    items: list[Any] = []
    while not tokens.skip("]"):
        items.append(_read_value(tokens, depth + 1))
        if not tokens.skip(","):
            tokens.need("]")
            break
    return items


def _read_word(tokens: _Tokens) -> str:
    kind, text = tokens.take()
    if kind == "mark":
        raise Error("E0101", f"a pipeline has {text} where a value must stand")
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if kind == "text" else text


# ---- values ---------------------------------------------------------------------------------------------------------------------


def _value(raw: Any, kind: Any, what: str) -> Any:
    """Return a raw value as one of this type.  Raises E0101."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        if raw is None or raw == "none":
            return None
        (kind,) = [part for part in parts if part is not types.NoneType]
        return _value(raw, kind, what)
    if origin is tuple:
        return tuple(_value(item, parts[0], what) for item in (raw if isinstance(raw, list | tuple) else [raw]))
    if isinstance(raw, kind) and (kind is not int or not isinstance(raw, bool)):
        return raw
    if isinstance(raw, str):
        if kind in _RULES:
            found = _RULES[kind](raw)
            if isinstance(found, kind):
                return found
        if kind is int and re.fullmatch(r"-?\d{1,18}", raw):
            return int(raw)
        if kind is bool and raw in ("true", "false"):
            return raw == "true"
        if kind is float and re.fullmatch(r"-?\d+(\.\d*)?(e[+-]?\d{1,3})?", raw):
            return float(raw)
    raise Error("E0101", f"{what} cannot be '{str(raw)[:80]}'", hint=f"it takes {type_text(kind)}")


def type_text(kind: Any) -> str:
    """Return a type as users read it: `int`, `text or none`, `list of rules`."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        return " or ".join(type_text(part) for part in parts)
    if origin is tuple:
        return f"list of {type_text(parts[0])}"
    names = {str: "text", int: "whole number", float: "number", bool: "true or false", types.NoneType: "none"}
    return names.get(kind, "rule" if kind in _RULES else getattr(kind, "__name__", str(kind)))

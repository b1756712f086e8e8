"""Options as records: fields with what flags, variables and TOML keys are made of.

Each field's metadata holds a `Setting`; values of any source go through its `read`, so a wrong one is the same E0101 wherever it was
written.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, ClassVar, TypeVar

import ttc.settings.option_values as takes
from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.records import record
from ttc.settings.option_values import shapes_text

PREFIX, UNSET = "TTC_", (None, (), 0)
"""What variables begin with; defaults that are not recorded: an option that IR or an archive does not name had this value."""

OWN_VARIABLES = ("TTC_CACHE_DIR", "TTC_CPU", "TTC_PROFILE", "TTC_TENANT", "TTC_VISIBLE_DEVICES")
"""Variables that are no options, each read where it counts: folder of kernels, level of their instructions, file for a trace, devices."""

OptionsT = TypeVar("OptionsT", bound="Options")


@record
class Setting:
    """The settings of one option: where it can be given, and what it takes.

    Args:
        help: one line.
        read: turns a raw value (text, TOML value or Python value) into the field's; raises ValueError with the reason.
        metavar: how help names the value.
        choices: the values allowed, if they are few.
        repeated: whether the flag may be given several times.
        switch: whether the flag takes no value, and giving it means true.
        in_result: whether the value changes the archive; such options are recorded in it.
        bare: what the flag stands for where it is given without a value.
    """

    help: str
    read: Callable[[Any], Any]
    metavar: str
    choices: tuple[str, ...] = ()
    repeated: bool = False
    switch: bool = False
    in_result: bool = False
    bare: str | None = None


@record(kw_only=True)
class Options:
    """The base of the option classes. `given` names the fields that were set by somebody, even to their default."""

    TABLE: ClassVar[str]
    given: frozenset[str] = dataclasses.field(default=frozenset(), repr=False, compare=False)

    def __post_init__(self) -> None:
        changed = set(self.given)
        for item, setting in settings(type(self)):
            raw = getattr(self, item.name)
            value = raw if raw == item.default else read(item.name, setting, raw)
            object.__setattr__(self, item.name, value)
            if value != item.default:
                changed.add(item.name)
        object.__setattr__(self, "given", frozenset(changed))

    def recorded(self) -> dict[str, Any]:
        """Return options that change the result, by name, as plain values; unset ones are left out."""
        found = [(item, getattr(self, item.name)) for item, setting in settings(type(self)) if setting.in_result]
        return {item.name: _plain(value) for item, value in found if value not in UNSET or value != item.default}


def _plain(value: Any) -> Any:
    if not isinstance(value, tuple) or isinstance(value[0], str):
        return value
    if isinstance(value[0], int):
        return ",".join(map(str, value))
    return tuple(item.text for item in value) if hasattr(value[0], "text") else shapes_text(value)


def option(default: Any, help: str, read: Callable[[Any], Any], metavar: str, **more: Any) -> Any:
    """Return a dataclass field with its Setting."""
    return dataclasses.field(default=default, metadata={"setting": Setting(help, read, metavar, **more)})


def choice(default: str, help: str, choices: tuple[str, ...], *, in_result: bool = False) -> Any:
    """Return a field that takes one of a few words."""
    return option(default, help, takes.word(choices), "|".join(choices), choices=choices, in_result=in_result)


def maybe_choice(help: str, choices: tuple[str, ...]) -> Any:
    """Return a field that takes one of a few words, which changes the result; None where nobody chose."""
    return option(None, help, takes.word(choices), "|".join(choices), choices=choices, in_result=True)


def switch(help: str) -> Any:
    """Return a field that is true where its flag is given."""
    return option(False, help, takes.truth, "true|false", switch=True)


def settings(cls: type[Options]) -> Iterator[tuple[dataclasses.Field[Any], Setting]]:
    """Yield fields that are options, with what is known of them, in the order of declaration."""
    for item in dataclasses.fields(cls):
        if "setting" in item.metadata:
            yield item, item.metadata["setting"]


def made(cls: type[OptionsT], explicit: Mapping[str, Any], values: Mapping[str, Any] | None = None) -> OptionsT:
    """Return options from raw values by field name, None for those that are not given, over values that were read.

    Raises E0101 for unknown names and for unusable values.
    """
    known = {item.name: setting for item, setting in settings(cls)}
    check_names(explicit, known, "option")
    found = {**(values or {}), **{name: read(name, known[name], raw) for name, raw in explicit.items() if raw is not None}}
    return cls(given=frozenset(found), **found)


def check_names(names: Iterable[str], known: Collection[str], what: str) -> None:
    """Raise E0101 if a name is not among those known, with the nearest of them.  what: it would be the name of."""
    for name in names:
        if name not in known:
            raise Error("E0101", f"there is no {what} '{name}'", hint=nearest(name, known))


# ---- names ---------------------------------------------------------------------------------------------------------------------


def flag_of(name: str) -> str:
    """Return the flag of a field: `--from` for `from_`."""
    return "--" + name.rstrip("_").replace("_", "-")


def variable_of(name: str) -> str:
    """Return the environment variable of a field: `TTC_FROM` for `from_`."""
    return PREFIX + name.rstrip("_").upper()


def key_of(name: str) -> str:
    """Return the key of a field in a TOML table: `from` for `from_`."""
    return name.rstrip("_")


def read(name: str, setting: Setting, raw: Any, source: str | None = None) -> Any:
    """Return the value of an option from a raw one.  source: what messages call it, if not by its flag.  Raises E0101."""
    try:
        return setting.read(raw)
    except (ValueError, TypeError) as error:
        shown = raw if isinstance(raw, str | int | float | bool) else ", ".join(map(str, raw)) if isinstance(raw, tuple) else repr(raw)
        raise Error("E0101", f"{source or flag_of(name)} cannot be '{shown}'", hint=str(error)) from None

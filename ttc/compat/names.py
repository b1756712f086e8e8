"""Names of other projects: those that are refused, with the reason, and those that have a spelling of ours."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn

from ttc.dialects.core.errors import Error, warn
from ttc.dialects.core.records import record

_TOLD: set[str] = set()
"""Names whose spelling of ours was told in this process."""


def told(name: str, ours: str) -> None:
    """Warn, once a process, that a name has a spelling of ours."""
    if name not in _TOLD:
        _TOLD.add(name)
        warn(f"{name} is {ours} in ttc")


def ignored(name: str, reason: str) -> None:
    """Warn, once a process, that a name is taken and has no effect, with the reason."""
    if name not in _TOLD:
        _TOLD.add(name)
        warn(f"{name} has no effect: {reason}")


class Ignoring:
    """A group of settings of which those in a table are taken and have no effect; others are refused.

    Args:
        owner: what each setting returns, so that calls can be chained; None: the group.
        name: that scripts know the group by.
        effectless: reasons by setting.
        refused: reasons by setting.
    """

    def __init__(self, owner: object | None, name: str, effectless: Mapping[str, str], refused: Mapping[str, str] | None = None) -> None:
        self._owner, self._name, self._effectless, self._refused = self if owner is None else owner, name, effectless, refused or {}

    def __getattr__(self, name: str) -> Callable[..., object]:
        if name.startswith("__") or name not in self._effectless:
            Refusing(self._name, self._refused)(name)
        ignored(f"{self._name}.{name}", self._effectless[name])
        return lambda *_given, **_named: self._owner


class RefusedName(Error, AttributeError):
    """Says why a name of another project is refused: to `hasattr` and `getattr` with a default the name is missing."""


class RefusedImport(Error, ImportError):
    """Says why a name of another project cannot be imported."""


@record
class Refusing:
    """The `__getattr__` of a module or object: a refused name is E0105 with its reason, any other an AttributeError.

    Args:
        owner: what scripts know the module or the kind of object by.
        refused: reasons by name.
    """

    owner: str
    refused: Mapping[str, str]

    def __call__(self, name: str) -> NoReturn:
        """Raise the error of a name that is looked up."""
        if name in self.refused:
            raise RefusedName("E0105", self.reason(name))
        raise AttributeError(f"'{self.owner}' has no attribute '{name}'")

    def reason(self, name: str) -> str:
        """Say why a refused name is refused."""
        return f"{self.owner}.{name} is not supported: {self.refused[name]}"


class RefusalFinder:
    """A finder of Python's imports, asked after all others, that finds no module and gives the reasons of refused names.

    Python's `from module import name` hides what the module's `__getattr__` says, and then looks for a submodule of that name, as modules
    with a `__path__` can have them: that search ends here.
    """

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        """Raise RefusedImport for a name that the module before its last dot refuses."""
        module, _, name = fullname.rpartition(".")
        lookup = getattr(sys.modules.get(module), "__dict__", {}).get("__getattr__")
        if isinstance(lookup, Refusing) and name in lookup.refused:
            raise RefusedImport("E0105", lookup.reason(name))


def submodule(module: str, name: str, members: Mapping[str, object], refused: Mapping[str, str] | None = None) -> ModuleType:
    """Make a submodule of these members, which refuses other names as `Refusing` does."""
    made = ModuleType(f"{module}.{name}", f"Names of {module}.{name}, translated.")
    made.__dict__.update(members)
    made.__dict__.update(__getattr__=Refusing(f"{module}.{name}", refused or {}), __path__=[])
    return made


@record
class Lazily(Refusing):
    """The `__getattr__` of a module whose names are those of another one, which is loaded when one of them is asked for.

    Args:
        home: the module that has them.
        names: that it has for this one.
    """

    home: str
    names: tuple[str, ...]

    def __call__(self, name: str) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride] - some names are there
        """Return a name of the other module.  Raises as `Refusing` does for others."""
        if name in self.names:
            return getattr(import_module(self.home), name)
        return super().__call__(name)


def lazy_submodule(module: str, name: str, home: str, names: tuple[str, ...], refused: Mapping[str, str]) -> ModuleType:
    """Make a submodule whose names are those of another module of ttc, which is loaded when one of them is asked for.

    Args:
        module: of another project; the submodule is `name` in it, or itself, where that is empty.
        home: the module of ttc.
        refused: reasons by name.
    """
    path = f"{module}.{name}".rstrip(".")
    made = ModuleType(path, f"Names of {path}, translated.")
    made.__dict__.update(__getattr__=Lazily(path, refused, home, names), __path__=[])
    return made

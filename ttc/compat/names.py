"""Names of other projects: those that are refused, with the reason, and those that have a spelling of ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType

from ttc.dialects.core.errors import Error, warn

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
        owner: what each setting returns, so that calls can be chained.
        name: that scripts know the group by.
        effectless: reasons by setting.
        refused: reasons by setting.
    """

    def __init__(self, owner: object, name: str, effectless: Mapping[str, str], refused: Mapping[str, str] | None = None) -> None:
        self._owner, self._name, self._effectless, self._refused = owner, name, effectless, refused or {}

    def __getattr__(self, name: str) -> Callable[..., object]:
        if name.startswith("__") or name not in self._effectless:
            return refusing(self._name, self._refused)(name)  # pyright: ignore[reportReturnType] - it raises
        ignored(f"{self._name}.{name}", self._effectless[name])
        return lambda *_given, **_named: self._owner


def refusing(module: str, refused: Mapping[str, str]) -> Callable[[str], object]:
    """Return the `__getattr__` of a module: a refused name is E0105 with its reason, any other an AttributeError.

    Args:   module: name that scripts know it by.  refused: reasons by name.
    """

    def lookup(name: str) -> object:
        if name in refused:
            raise Error("E0105", f"{module}.{name} is not supported: {refused[name]}")
        raise AttributeError(f"module '{module}' has no attribute '{name}'")

    return lookup


def submodule(module: str, name: str, members: Mapping[str, object], refused: Mapping[str, str] | None = None) -> ModuleType:
    """Make a submodule of these members, which refuses other names as `refusing` does."""
    made = ModuleType(f"{module}.{name}", f"Names of {module}.{name}, translated.")
    made.__dict__.update(members)
    made.__dict__["__getattr__"] = refusing(f"{module}.{name}", refused or {})
    return made

"""Rules that a pass finds by their names: functions `<prefix><mnemonic>` in the modules of a package."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Any


class Declined(Exception):  # noqa: N818 - not an error: the op runs on the host
    """A rule does not take an op; the message says why."""


@cache
def rules(package: str, prefix: str) -> dict[str, Any]:
    """The functions defined in a package's modules whose names start with the prefix, by the rest of their names."""
    found: dict[str, Any] = {}
    for info in pkgutil.iter_modules(importlib.import_module(package).__path__):
        module = importlib.import_module(f"{package}.{info.name}")
        for name, item in vars(module).items():
            if name.startswith(prefix) and callable(item) and item.__module__ == module.__name__:
                found[name.removeprefix(prefix).rstrip("_")] = item
    return found

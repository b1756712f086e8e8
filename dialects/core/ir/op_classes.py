"""The ops of a dialect, found as the classes in the modules of its package."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType
from typing import TypeVar

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.adapter import TtcOp

OpT = TypeVar("OpT", bound=TtcOp)


def collect_ops(package: ModuleType, dialect: str, kind: type[OpT]) -> dict[str, type[OpT]]:
    """Return the ops of a dialect by mnemonic: classes of that kind with a name, defined in the modules of its package.

    Raises E0901 for a name of another dialect, and for one that two classes have.
    """
    found: dict[str, type[OpT]] = {}
    for info in pkgutil.iter_modules(package.__path__):
        if info.ispkg:
            continue
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        for item in vars(module).values():
            if isinstance(item, type) and issubclass(item, kind) and item.__module__ == module.__name__:
                name = vars(item).get("name")
                if isinstance(name, str):
                    place, _, mnemonic = name.partition(".")
                    if place != dialect or mnemonic in found:
                        raise Error("E0901", f"{item.__name__} of {module.__name__} has the name '{name}', of another dialect or class")
                    found[mnemonic] = item
    return found

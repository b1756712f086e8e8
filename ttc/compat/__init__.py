"""ttc behind interfaces of other projects.  Modules here translate names and hold no logic of their own.

`ttc.compat.install("poptorch")` lets `import poptorch` find ttc's module of that name; `python -m ttc.compat SCRIPT` runs a script so.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from ttc.compat.names import RefusalFinder
from ttc.dialects.core.errors import Error, nearest

NAMES: tuple[str, ...] = ("habana_frameworks", "lightning_habana", "poptorch", "pybuda", "torchdistpackage")
"""Projects whose modules ttc can stand in for; each is a module of this package."""


def install(name: str) -> ModuleType:
    """Put ttc's module of a project's name, and its submodules, into `sys.modules`, and return it.

    Raises: E0101 for a project that ttc has no module for; E0104 where the project itself is installed, or what ttc's module needs is not.
    """
    if name not in NAMES:
        raise Error("E0101", f"there is no module of ttc for '{str(name)[:80]}'", hint=nearest(str(name), NAMES))
    if is_installed(name):
        raise Error("E0104", f"{name} itself is installed, and nothing may stand in for it", hint=f"pip uninstall {name}")
    if not any(isinstance(finder, RefusalFinder) for finder in sys.meta_path):
        sys.meta_path.append(RefusalFinder())
    try:
        module = import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        if (error.name or "ttc").partition(".")[0] == "ttc":
            raise
        raise Error("E0104", f"ttc's {name} needs {error.name}, which is not installed", hint="pip install 'ttc[torch]'") from None
    sys.modules[name] = module
    for inner, submodule in getattr(module, "SUBMODULES", {}).items():
        sys.modules[f"{name}.{inner}"] = submodule
    return module


def is_installed(name: str) -> bool:
    """Return whether the project itself can be imported, or was."""
    known = sys.modules.get(name)
    if known is not None:
        return known.__name__ != f"{__name__}.{name}"
    return find_spec(name) is not None

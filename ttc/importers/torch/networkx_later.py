"""networkx, 300 modules and 12 MB that PyTorch's exporter imports and does not use: it is loaded once somebody uses it."""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

_READERS = (
    "torch._functorch._activation_checkpointing.graph_info_provider",
    "torch._functorch._activation_checkpointing.knapsack_evaluator",
)
"""The modules of PyTorch that have networkx in annotations, which are evaluated as they load, and else in functions alone."""


class _Later(ModuleType):
    """Stands for networkx in those modules: every attribute is `object` while they load, and networkx's own from then on."""

    loading = True

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return object if self.loading else getattr(import_module("networkx"), name)


@cache
def put_off_networkx() -> None:
    """Load the modules that would import networkx without it, unless it is loaded; versions of PyTorch without them are left alone."""
    if "networkx" in sys.modules:
        return
    later = _Later("networkx")
    sys.modules["networkx"] = later
    try:
        for name in _READERS:
            with suppress(ImportError):
                import_module(name)
    finally:
        later.loading = False
        if sys.modules.get("networkx") is later:
            del sys.modules["networkx"]

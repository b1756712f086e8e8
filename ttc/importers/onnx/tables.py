"""The mappings by ONNX op: functions of the `ops_*` modules whose name is the op's, with the opset from which it holds.

`softmax_13(b, x, *, axis=-1)` maps Softmax from opset 13 on: its parameters are the inputs and attributes of the op's schema, its result an
nn value or a tuple of them.  Underscores in the name are for reading: `gather_nd_11` is GatherND.  A module whose ops are not of ONNX's own
domain names theirs: `DOMAIN = "ai.onnx.ml"`.  Where the onnx package has no schemas of a module's ops (`SIGNED = True`), the signatures of
its functions are their schemas: see `signatures`.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import TypeAlias, cast

from xdsl.ir import SSAValue

import ttc.importers.onnx as package

Mapping: TypeAlias = Callable[..., "SSAValue | tuple[SSAValue, ...]"]
_NAME = re.compile(r"[a-z][a-z0-9_]*_\d+")


@cache
def _modules() -> tuple[ModuleType, ...]:
    """Import all modules `ops_*` of this package."""
    names = [info.name for info in pkgutil.iter_modules(package.__path__) if info.name.startswith("ops_")]
    return tuple(importlib.import_module(f"{package.__name__}.{name}") for name in names)


def is_signed(apply: Mapping) -> bool:
    """Whether the signature of a mapping is the schema of its op."""
    return getattr(sys.modules[apply.__module__], "SIGNED", False)


@cache
def signed_domains() -> frozenset[str]:
    """Domains beside ONNX's own whose schemas are signatures.  Models may use them without importing them, as in onnxruntime."""
    return frozenset(m.DOMAIN for m in _modules() if getattr(m, "SIGNED", False) and getattr(m, "DOMAIN", ""))


@cache
def mappings(domain: str = "") -> dict[str, dict[int, Mapping]]:
    """All mappings of a domain: op type in lower case -> opset -> function."""
    found: dict[str, dict[int, Mapping]] = {}
    for module in _modules():
        if getattr(module, "DOMAIN", "") != domain:
            continue
        for name, item in vars(module).items():
            if callable(item) and _NAME.fullmatch(name) and not _is_imported(item, name, module):
                stem, _, opset = name.rpartition("_")
                found.setdefault(stem.replace("_", ""), {})[int(opset)] = cast("Mapping", item)
    return found


def _is_imported(item: object, name: str, module: ModuleType) -> bool:
    """Whether a module has a function from another one, which may be of another domain."""
    return getattr(item, "__name__", "") == name and getattr(item, "__module__", "") != module.__name__


def mapping(op: str, opset: int, domain: str = "") -> Mapping | None:
    """The newest mapping of an op that holds at the opset of its domain."""
    rows = mappings(domain).get(op.lower(), {})
    newest = max((version for version in rows if version <= opset), default=None)
    return None if newest is None else rows[newest]

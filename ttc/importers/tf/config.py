"""Checks what a Keras file says of its layers before Keras builds them: only Keras's own classes, none that run code or load other files or
modules.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from ttc.dialects.core.errors import Error

MAX_BYTES = 1 << 26
MAX_DEPTH = 100
"""The most lists and dictionaries nested in each other; models inside of models take five levels each."""
MAX_ENTRIES = 2_000_000
"""The most values in lists and dictionaries, counted before anything is built of them."""
PLAIN = frozenset(["__keras_tensor__", "__tensor__", "__numpy__", "__bytes__", "__ellipsis__", "__slice__", "__tuple__"])
"""The marks of values that are data alone."""
MODULES = (
    *("models", "layers", "initializers", "regularizers", "constraints", "activations", "dtype_policies", "random", "quantizers"),
    *("src.models", "src.layers", "src.initializers", "src.regularizers", "src.constraints", "src.activations", "src.dtype_policies"),
    *("src.random", "src.quantizers", "src.ops", "ops", "src.applications"),
)
"""Modules of Keras, without `keras.`, whose classes a model may name."""
TOP_CLASSES = frozenset(["Sequential", "Model", "Functional", "DTypePolicy", "DTypePolicyMap", "Variable", "KerasTensor", "InputSpec"])
"""The classes of the module `keras` itself that may be named."""
FUNCTION_MODULES = ("keras.activations", "keras.src.activations", "keras.ops", "keras.src.ops", "builtins")
REFUSED = {
    "Lambda": "runs Python code",
    "__lambda__": "is Python code",
    "__typespec__": "is a type of TensorFlow",
    "TFSMLayer": "loads another model",
    "TorchModuleWrapper": "holds a pickled PyTorch module",
    "JaxLayer": "runs code of JAX",
    "FlaxLayer": "runs code of JAX",
}

_MARK = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[\]{},]', re.DOTALL)
"""A text, which may not end, or a mark of structure."""


def checked_config(data: bytes) -> bytes:
    """Return a model's config.json, without what only training needs.  Raises E0201 to E0203."""
    if len(data) > MAX_BYTES:
        raise Error("E0203", f"config.json has {len(data)} bytes, more than {MAX_BYTES}")
    _check_nesting(data)
    try:
        config = json.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise Error("E0201", f"config.json is no JSON: {error}") from error
    if not isinstance(config, dict) or not isinstance(config.get("config"), dict):
        raise Error("E0201", "config.json does not describe a model")
    config.pop("compile_config", None)
    for entry in _dictionaries(config):
        if "class_name" in entry:
            _check_class(entry)
        _check_name(entry.get("name"))
        if isinstance(entry.get("config"), dict):
            _check_name(entry["config"].get("name"))
    return json.dumps(config).encode()


def _check_nesting(data: bytes) -> None:
    """Brackets and commas outside of texts, counted before anything recursive sees them, and before any value is built."""
    depth, entries = 0, 0
    for found in _MARK.finditer(data):
        byte = found[0][:1]
        depth += (byte in b"[{") - (byte in b"]}")
        entries += byte in b"[{,"
        if depth > MAX_DEPTH:
            raise Error("E0203", f"config.json is nested more than {MAX_DEPTH} deep")
        if entries > MAX_ENTRIES:
            raise Error("E0203", f"config.json has more than {MAX_ENTRIES} entries")


def _dictionaries(root: Any) -> Iterator[dict[str, Any]]:
    """Yield all of them, the root first."""
    stack = [root]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            yield item
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)


def _check_class(entry: dict[str, Any]) -> None:
    """Raises E0202 for anything but a class or function that Keras has registered itself."""
    name, module, registered = entry["class_name"], entry.get("module"), entry.get("registered_name")
    if not isinstance(name, str) or not isinstance(module, str | None) or not isinstance(registered, str | None):
        raise Error("E0203", "config.json names a class that is no text")
    shown = f"{module}.{name}"[:200] if module else name[:200]
    if name in REFUSED:
        raise Error("E0202", f"the model has a {shown}, which {REFUSED[name]}", hint="replace it by layers of Keras")
    if name in PLAIN:
        return
    if name == "function":
        _check_function(entry)
        return
    of_keras = module is not None and module.startswith("keras.") and _within(module.removeprefix("keras."), MODULES)
    if module is not None and not of_keras and not (module == "keras" and name in TOP_CLASSES):
        raise Error("E0202", f"the model has a {shown}, which is no class of Keras that models are made of")
    if registered not in (None, "", name) or not name.isidentifier():
        raise Error("E0202", f"the model has a {shown}, registered as '{(registered or '')[:100]}': custom classes are not supported")


def _check_function(entry: dict[str, Any]) -> None:
    """Functions are those of Keras's activations and ops.  Raises E0202."""
    name, module = entry.get("config"), str(entry.get("module"))
    if not isinstance(name, str) or not name.isidentifier() or not _within(module, FUNCTION_MODULES):
        raise Error("E0202", f"the model has the function '{module[:100]}.{str(name)[:100]}', which is no activation or op of Keras")


def _within(module: str, roots: tuple[str, ...]) -> bool:
    """Return whether a dotted name is one of the roots or beneath one."""
    clean = all(part.isidentifier() for part in module.split("."))
    return clean and any(module == root or module.startswith(f"{root}.") for root in roots)


def _check_name(name: Any) -> None:
    """Names of layers become paths in the file of weights.  Raises E0203."""
    if isinstance(name, str) and (".." in name or "\\" in name or "\0" in name or name.startswith("/") or len(name) > 4096):
        raise Error("E0203", f"a layer has the unsafe name '{name[:200]}'")

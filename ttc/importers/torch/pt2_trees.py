"""How a program's call nests its inputs and outputs, of a `.pt2` archive: classes become dictionaries or tuples, by what they hold.

PyTorch would look the classes up, which asks for the libraries that define them.
"""

from __future__ import annotations

import json
from typing import Any

from ttc.dialects.core.errors import Error
from ttc.importers.torch.pt2_types import parsed

MAX_BYTES = 1 << 24
MAX_DEPTH = 64


def plain_tree(text: str, named: dict[str, list[str]]) -> str:
    """Return the tree in types of Python alone, as text that PyTorch reads.

    named: fields of named tuples, by type.
    Raises: E0203.
    """
    if len(text) > MAX_BYTES:
        raise Error("E0203", "the tree of inputs or outputs is too large")
    found = parsed(text.encode(), "the tree of inputs or outputs")
    if not isinstance(found, list) or len(found) != 2 or found[0] != 1:
        raise Error("E0203", "the tree of inputs or outputs is of another version")
    return json.dumps([1, _plain(found[1], named, 0)])


def flat_tree(leaves: int) -> str:
    """Return the tree of a call with so many positional arguments."""
    return json.dumps([1, _node("builtins.tuple", None, [_node("builtins.tuple", None, [_LEAF] * leaves), _node("builtins.dict", [], [])])])


_LEAF = {"type": None, "context": None, "children_spec": []}


def _node(kind: str, context: list[Any] | None, children: list[Any]) -> dict[str, Any]:
    return {"type": kind, "context": json.dumps(context), "children_spec": children}


def _plain(node: Any, named: dict[str, list[str]], depth: int) -> dict[str, Any]:
    if depth > MAX_DEPTH or not isinstance(node, dict) or not isinstance(node.get("children_spec"), list):
        raise Error("E0203", "the tree of inputs or outputs is malformed, or too deep")
    kind, children = node.get("type"), [_plain(child, named, depth + 1) for child in node["children_spec"]]
    if kind is None:
        return _LEAF
    keys = _keys(kind, node.get("context"), named)
    if keys is None or len(keys) != len(children):
        return _node("builtins.tuple", None, children)
    return _node("builtins.dict", keys, children)


def _keys(kind: Any, context: Any, named: dict[str, list[str]]) -> list[Any] | None:
    """Return the keys of a dictionary, or the names of a class's fields; None for what has positions."""
    if kind in ("builtins.tuple", "builtins.list", "collections.deque") or not isinstance(context, str):
        return None
    found = parsed(context.encode(), "a key of inputs or outputs")
    if isinstance(found, str):
        found = named.get(found)
    if not isinstance(found, list) or not all((isinstance(k, str) and len(k) < 1024) or type(k) is int for k in found):
        return None
    return found if len(set(map(str, found))) == len(found) else None

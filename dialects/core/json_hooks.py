"""Hooks of `json.loads` that refuse documents which RFC 8259 does not allow, or leaves open how to read."""

from __future__ import annotations

from typing import Any, NoReturn


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object's members, for `object_pairs_hook`.  Raises ValueError if two have one key."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object holds a key twice")
    return found


def no_constant(name: str) -> NoReturn:
    """Refuse NaN and infinities, for `parse_constant`.  Raises ValueError."""
    raise ValueError(f"{name} is no number of JSON")

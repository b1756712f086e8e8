"""Names that nothing has yet."""

from __future__ import annotations

from collections.abc import Container


class FreeNames:
    """Gives names that are not taken: the stem that is asked for, or the stem with a number.

    Where it gave a name of a stem before, it counts on from there: many names of one stem take no longer than as many stems.

    Args:
        joint: what stands between a stem and its number.
    """

    def __init__(self, joint: str) -> None:
        self._joint = joint
        self._last: dict[str, int] = {}

    def of(self, stem: str, taken: Container[str]) -> str:
        """Return a name that is not taken yet, and take it for good."""
        if stem not in taken:
            return stem
        number = self._last.get(stem, 0) + 1
        while f"{stem}{self._joint}{number}" in taken:
            number += 1
        self._last[stem] = number
        return f"{stem}{self._joint}{number}"

"""Whether a module changed: what it is made of, compared by identity without printing it."""

from __future__ import annotations

from typing import Any

from xdsl.ir import Operation


class Snapshot:
    """Ops of a module in order, each with its place, operands, attributes and result types.

    It keeps the ops themselves, so that no op made later can be mistaken for one of them.
    """

    def __init__(self, module: Operation) -> None:
        self._rows: list[tuple[Any, ...]] = [
            (op, op.parent, tuple(op.operands), dict(op.properties), dict(op.attributes), [r.type for r in op.results], op.location)
            for op in module.walk()
        ]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Snapshot) and self._rows == other._rows

    def __hash__(self) -> int:
        raise TypeError("snapshots are compared, not looked up")

    def __len__(self) -> int:
        return len(self._rows)

    def kinds(self) -> dict[str, int]:
        """Return how many ops of each name there are, by name."""
        found: dict[str, int] = {}
        for row in self._rows:
            found[row[0].name] = found.get(row[0].name, 0) + 1
        return dict(sorted(found.items()))

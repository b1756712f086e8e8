"""What the importer cannot take: collected over the whole model, reported in one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from ttc.dialects.core.errors import Error

MAX_ROWS = 40


class Unsupported(Exception):
    """Raised by a mapping that cannot express a node; the message says why, in a few words."""


class Refused:
    """The value of a node that cannot be imported; what depends on it is passed over."""


REFUSED: Final = Refused()


class _Row(NamedTuple):
    op: str
    domain: str
    why: str


@dataclass
class Misses:
    """Nodes that were refused, by op and reason."""

    rows: dict[_Row, list[str]] = field(default_factory=dict)

    def add(self, op: str, domain: str, why: str, node: str) -> None:
        """A node that was refused; domain: what defines its op, with the version if there are several: `ai.onnx 17`."""
        self.rows.setdefault(_Row(op, domain, why), []).append(node)

    def report(self, wanted: Sequence[str] = ()) -> Error:
        """E0202 with the table: op, domain, count, first nodes, why.

        wanted: inputs of integers or booleans whose values would help.
        """
        lines = [("op", "domain", "count", "nodes", "why")]
        for row, nodes in sorted(self.rows.items(), key=lambda item: (-len(item[1]), item[0])):
            shown = ", ".join(_short(name) for name in nodes[:3]) + (", ..." if len(nodes) > 3 else "")
            lines.append((row.op, row.domain, str(len(nodes)), shown, row.why))
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        text = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines[: MAX_ROWS + 1]]
        if len(lines) > MAX_ROWS + 1:
            text.append(f"... and {len(lines) - MAX_ROWS - 1} more")
        count = sum(map(len, self.rows.values()))
        ops = len({row[:2] for row in self.rows})
        message = f"{count} node{'s' * (count != 1)} of {ops} op{'s' * (ops != 1)} cannot be imported"
        flags = " ".join(f"--values {name}=FILE.npy" for name in wanted)
        hint = f"the model can be compiled for one value of {', '.join(wanted)}: {flags}" if wanted else None
        return Error("E0202", message, hint=hint, excerpt="\n".join(text))


def _short(name: str) -> str:
    return name if len(name) <= 40 else name[:18] + "..." + name[-19:]

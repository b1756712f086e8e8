"""Nodes that the importer cannot take: collected over the whole model, reported in one table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Final, NamedTuple

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.dialects.core.shown import shown

if TYPE_CHECKING:
    from ttc.dialects.core.ir.values import ModuleOp
    from ttc.dialects.core.plain.weights import WeightStore

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


class Refusal(NamedTuple):
    """Nodes of one op that were refused for one reason.

    domain: what defines the op, with the version if there are several: `ai.onnx 17`.
    """

    op: str
    domain: str
    why: str
    nodes: tuple[str, ...]


@record(frozen=False)
class UnsupportedOps(Error):
    """An E0202 for nodes that cannot be imported.

    Args:
        refusals: all of them, those with the most nodes first.
        wanted: inputs of integers or booleans whose values would make what nodes need known.
        rest: makes the module of what could be imported, whose results are what nothing in it reads, and its weights; None for nothing.
    """

    refusals: tuple[Refusal, ...] = ()
    wanted: tuple[str, ...] = ()
    rest: Callable[[], tuple[ModuleOp, WeightStore]] | None = None


@record(frozen=False)
class Misses:
    """Nodes that were refused, by op and reason."""

    rows: dict[_Row, list[str]] = field(default_factory=dict)

    def add(self, op: str, domain: str, why: str, node: str) -> None:
        """Add a node that was refused.  domain: what defines its op, with the version if there are several: `ai.onnx 17`."""
        self.rows.setdefault(_Row(op, domain, why), []).append(node)

    def report(self, wanted: Sequence[str] = (), rest: Callable[[], tuple[ModuleOp, WeightStore]] | None = None) -> UnsupportedOps:
        """Return the error with the table: op, domain, count, first nodes, why.  wanted, rest: as in `UnsupportedOps`."""
        refusals = [Refusal(*row, tuple(nodes)) for row, nodes in self.rows.items()]
        refusals.sort(key=lambda refusal: (-len(refusal.nodes), refusal))
        lines = [("op", "domain", "count", "nodes", "why")]
        for row in refusals:
            nodes = ", ".join(_short(name) for name in row.nodes[:3]) + (", ..." if len(row.nodes) > 3 else "")
            lines.append((row.op, row.domain, str(len(row.nodes)), nodes, row.why))
        lines = [tuple(map(shown, line)) for line in lines]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        text = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines[: MAX_ROWS + 1]]
        if len(lines) > MAX_ROWS + 1:
            text.append(f"... and {len(lines) - MAX_ROWS - 1} more")
        count = sum(len(row.nodes) for row in refusals)
        ops = len({row[:2] for row in refusals})
        message = f"{count} node{'s' * (count != 1)} of {ops} op{'s' * (ops != 1)} cannot be imported"
        flags = " ".join(map(values_flag, wanted))
        hint = f"the model can be compiled for one value of {', '.join(wanted)}: {flags}" if wanted else None
        return UnsupportedOps(
            "E0202", message, hint=hint, excerpt="\n".join(text), refusals=tuple(refusals), wanted=tuple(wanted), rest=rest
        )


def values_flag(name: str) -> str:
    """Return the flag that gives the value of an input, in the two forms that it has."""
    return f"--values {name}=FILE.npy|NUMBER"


def _short(name: str) -> str:
    return name if len(name) <= 40 else name[:18] + "..." + name[-19:]

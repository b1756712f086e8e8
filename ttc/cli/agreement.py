"""What `ttc run --engine both` prints: how the engines compare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ttc.cli.console import Console

if TYPE_CHECKING:
    from ttc.comparison.engines import Agreement, Finding

SHOWN = 8
"""The ops in the table: all that are out of bound, and of the others those nearest to it, at most so many."""
NAMED = 4
"""The most ops that a line names where several were computed together."""


def print_agreement(console: Console, found: Agreement) -> None:
    """Print a table of the ops that differ most, what the whole graphs give, and the verdict."""
    near = sorted(found.ops, key=lambda finding: -finding.figures.of_bound)
    shown = [finding for finding in near if not finding.within or finding in near[:SHOWN]]
    columns = ["op", "node", "max abs", "relative L2", "PCC", "of bound"]
    console.table(columns, [[*_names(finding), *_cells(finding)] for finding in shown])
    for graph in found.graphs:
        unsteady = "; rounding decides: the reference is as far from Float64" if graph.unsteady else ""
        console.say(f"graph {graph.graph}: {graph.figures}{unsteady}")
    console.say(verdict(found))


def verdict(found: Agreement) -> str:
    """Return one line: the first op whose kernel is wrong, or that none is."""
    count = f"{len(found.ops)} op{'' if len(found.ops) == 1 else 's'}"
    if found.wrong:
        first = found.wrong[0]
        if len(first.ops) > 1:
            return f"wrong together: {described(first)}: none of them is alone, so their fusion is, or errors add up: {first.figures}"
        kernel = f"kernel {first.kernel}" if first.kernel else "native"
        return f"wrong kernel: {described(first)}: from the same inputs {kernel} gives another result: {first.figures}"
    if not found.within:
        return f"native differs from reference, though on none of the {count} alone, nor on any run of them that was tried"
    shared = sum(finding.shared for finding in found.ops)
    count += f" ({shared} of which it leaves to it)" if shared else ""
    return f"native agrees with reference on {count}: where the archive differs from its model, a pass did it (ttc bisect MODEL)"


def described(finding: Finding) -> str:
    """Return ops as text: `op 'fc' (node /fc/MatMul) of graph 'forward_0'`; `ops 'a', 'b' and 'c' (node /c) of graph 'forward_0'`."""
    *others, last = (f"'{name}'" for name in finding.ops)
    node = f" (node {finding.location[0]})" if finding.location else ""
    few = [f"{len(others) - NAMED} more", *others[-NAMED:]] if len(others) > NAMED else others
    names = f"ops {', '.join(few)} and {last}" if others else f"op {last}"
    return f"{names}{node} of graph '{finding.graph}'"


def plain_agreement(found: Agreement) -> dict[str, Any]:
    """Return the agreement of two engines as a dictionary for JSON."""
    first = found.wrong[0] if found.wrong else None
    return {
        "reference": "reference",
        "engine": "native",
        "within": found.within,
        "first_wrong": None if first is None else _plain(first),
        "ops": [_plain(finding) for finding in found.ops],
        "graphs": [_plain(finding) for finding in found.graphs],
    }


def _plain(finding: Finding) -> dict[str, Any]:
    named = {
        "graph": finding.graph,
        "ops": finding.ops,
        "location": finding.location,
        "kernel": finding.kernel or None,
        "shared": finding.shared,
        "unsteady": finding.unsteady,
    }
    return {**named, **finding.figures.figures()}


def _names(finding: Finding) -> tuple[str, str]:
    more = f" (+{len(finding.location) - 1})" if len(finding.location) > 1 else ""
    return finding.ops[-1], f"{finding.location[0]}{more}" if finding.location else ""


def _cells(finding: Finding) -> tuple[object, ...]:
    figures = finding.figures
    return f"{figures.max_abs:.3g}", f"{figures.relative_l2:.3g}", figures.pcc_text(7), f"{figures.of_bound:.3g}"

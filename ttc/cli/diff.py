"""`ttc diff`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ttc.cli.console import Console
from ttc.cli.options import FILE, verbosity

if TYPE_CHECKING:
    from ttc.diff import Difference, Item

EXIT_SAME, EXIT_DIFFERENT = 0, 1


@click.command("diff")
@click.argument("a", type=FILE)
@click.argument("b", type=FILE)
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
@verbosity
@click.pass_obj
def command(console: Console, a: Path, b: Path, as_json: bool) -> int:
    """Compare two modules (.mlir), archives (.tti) or dumps (folders), op by op.

    Ops are aligned by the source nodes they came from: removed, added, fused, split, changed, moved.  Status: 0 the same, 1 different.
    """
    from ttc.diff import compared

    found = compared(a, b)
    if as_json:
        console.json(_plain(found))
    else:
        _print(console, found)
    return EXIT_SAME if found.same else EXIT_DIFFERENT


def _print(console: Console, found: Difference) -> None:
    for run, what in found.passes:
        console.say(f"pass     {run}: {what}")
    for item in found.removed:
        console.say(f"removed  {item}")
    for item in found.added:
        console.say(f"added    {item}")
    for parts, item in found.fused:
        kind = "fused" if len(parts) > 1 or len(item.sources) > len(parts[0].sources) else "became"
        console.say(f"{kind:8} {_listed(parts)} -> {item}")
    for item, parts in found.split:
        console.say(f"split    {item} -> {_listed(parts)}")
    for kind, rows in (("changed", found.changed), ("moved", found.moved)):
        for item, changes in rows:
            changed = "; ".join(f"{name}: {old or 'none'} -> {new or 'none'}" for name, (old, new) in changes.items())
            console.say(f"{kind:8} {item}: {changed}")
    if found.cycles is not None and found.cycles[0] != found.cycles[1]:
        old, new = found.cycles
        console.say(f"cost     {old} -> {new} cycles ({(new - old) / old:+.1%})")
    if found.same:
        console.say("no difference")


def _listed(items: list[Item]) -> str:
    return ", ".join(map(str, items))


def _plain(found: Difference) -> dict[str, Any]:
    def item(one: Item) -> dict[str, Any]:
        return {"op": one.name, "sources": list(one.sources)}

    return {
        "same": found.same,
        "removed": [item(x) for x in found.removed],
        "added": [item(x) for x in found.added],
        "fused": [{"from": [item(p) for p in parts], "to": item(x)} for parts, x in found.fused],
        "split": [{"from": item(x), "to": [item(p) for p in parts]} for x, parts in found.split],
        "changed": [{**item(x), "fields": changes} for x, changes in found.changed],
        "moved": [{**item(x), "fields": changes} for x, changes in found.moved],
        "cycles": found.cycles,
        "passes": [{"run": run, "what": what} for run, what in found.passes],
    }

"""The command `ttc diff`: how two modules, dumps or archives differ."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ttc.cli.console import Console
from ttc.cli.options import FILE, verbosity

if TYPE_CHECKING:
    from ttc.accuracy.distances import Comparison
    from ttc.comparison.diff import Difference, Item

EXIT_SAME, EXIT_DIFFERENT = 0, 1
MAX_FIELDS = 8
"""The most changed fields of an object that are shown without -v."""
_HASH = "sha256"


@click.command("diff")
@click.argument("a", type=FILE)
@click.argument("b", type=FILE)
@click.option(
    "--weights", type=FILE, multiple=True, metavar="FILE", help="Archive or model with the weights of IR text: of both, or of A, then B."
)
@click.option("--values", is_flag=True, help="Say how far the values of tensors are apart.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
@verbosity
@click.pass_obj
def command(console: Console, a: Path, b: Path, weights: tuple[Path, ...], values: bool, as_json: bool) -> int:
    """Compare two modules (.mlir), archives (.tti) or dumps (folders), op by op, and all else that they say.

    Ops are aligned by the source nodes they came from: removed, added, fused, split, changed, moved.  Then follow queues, graphs, programs,
    options and tensors, these by their hashes.  Status: 0 the same, 1 different.
    """
    from ttc.comparison.diff import compared

    found = compared(a, b, weights, values=values)
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
            console.say(f"{kind:8} {item}: {_changes(changes, console)}")
    for name, changes in found.others.items():
        _print_other(console, name, changes, found.values.get(name))
    if found.cycles is not None and found.cycles[0] != found.cycles[1]:
        old, new = found.cycles
        console.say(f"cost     {old} -> {new} cycles ({(new - old) / old:+.1%})")
    if found.same:
        console.say("no difference")


def _print_other(console: Console, name: str, changes: Mapping[str, tuple[str, str]], apart: Comparison | None) -> None:
    if "" in changes:
        console.say(f"{'removed' if changes[''][0] else 'added':8} {name}")
        return
    shown = {field: change for field, change in changes.items() if field != _HASH}
    texts = ["other content"] if _HASH in changes else []
    texts += [_changes(shown, console)] if shown else []
    texts += [f"max abs {apart.max_abs:.3g}, relative L2 {apart.relative_l2:.3g}"] if apart is not None else []
    console.say(f"changed  {name}: {'; '.join(texts)}")


def _changes(changes: Mapping[str, tuple[str, str]], console: Console) -> str:
    """Fields with what they were and are; the first few, with -v all of them."""
    texts = [f"{name}: {old or 'none'} -> {new or 'none'}" for name, (old, new) in changes.items()]
    most = len(texts) if console.verbose else MAX_FIELDS
    return "; ".join([*texts[:most], *([f"{len(texts) - most} more (-v)"] if len(texts) > most else [])])


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
        "others": [{"name": name, "fields": changes} for name, changes in found.others.items()],
        "values": {name: apart.figures() for name, apart in found.values.items()},
        "cycles": found.cycles,
        "passes": [{"run": run, "what": what} for run, what in found.passes],
    }

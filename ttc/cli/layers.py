"""What `ttc run --check MODEL --layers` prints: where an archive leaves its model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ttc.cli.console import Console

if TYPE_CHECKING:
    from ttc.comparison.layers import Layers, ModelLayer

SHOWN = 40
"""The most rows of the table without -v: all nodes if there are no more, else the first out of bound and those nearest to it."""
NAME_WIDTH = 36
"""The most columns of the table that a node's name takes: its end says most."""


def print_layers(console: Console, found: Layers) -> None:
    """Print a table of nodes in the order of the model, and the verdict."""
    shown = found.layers if console.verbose else _shown(found)
    console.table(["node", "op", "shape", "max abs", "relative L2", "PCC", "of bound"], [_row(layer) for layer in shown])
    left = len(found.layers) - len(shown)
    if left:
        off = sum(not layer.within for layer in found.layers) - sum(not layer.within for layer in shown)
        console.say(f"and {left} more nodes{f', {off} of them out of bound' if off else ''} (all with -v or --json)")
    if console.verbose:
        for layer in found.layers:
            if layer.fused:
                console.say(f"fused into {layer.node}: {', '.join(layer.fused)}")
        if found.folded:
            console.say(f"in no op of the archive (constants, views): {', '.join(found.folded)}")
    for name, figures in found.drift.items():
        told = "another version of ttc made it, or what is an output here is fused there"
        console.say(f"compiled again, output {name} is not as the archive gives it ({told}): {figures}")
    console.say(verdict(found))


def verdict(found: Layers) -> str:
    """Return one line: the first node that is off, or that none is."""
    compared = sum(layer.figures is not None for layer in found.layers)
    fused = sum(len(layer.fused) for layer in found.layers)
    nodes = f"{compared} node{'' if compared == 1 else 's'}"
    of = f"{nodes} compared with {found.by or 'nothing'} ({fused} fused into them, {len(found.folded)} folded away)"
    first = found.first_off
    if first is None:
        return f"layers: {of}: all within bound"
    off = sum(not layer.within for layer in found.layers)
    inside = f" (with {_few(first.fused)} fused into it)" if first.fused else ""
    return f"layers: {of}: {off} OUT OF bound; the first is {first.node}{inside}: {first.figures}"


def plain_layers(found: Layers) -> dict[str, Any]:
    """Return the comparison of layers as a dictionary for JSON."""
    first = found.first_off
    return {
        "against": found.by,
        "within": first is None,
        "first_off": None if first is None else first.node,
        "drift": {name: figures.figures() for name, figures in found.drift.items()},
        "layers": [_plain(layer) for layer in found.layers],
        "folded": list(found.folded),
    }


def _plain(layer: ModelLayer) -> dict[str, Any]:
    named = {"node": layer.node, "op": layer.op, "shape": list(layer.shape), "fused": list(layer.fused)}
    return {**named, "reason": layer.reason or None, **({} if layer.figures is None else layer.figures.figures())}


def _shown(found: Layers) -> list[ModelLayer]:
    """Return the first nodes out of bound, and those that come nearest to it, in order."""
    off = [layer for layer in found.layers if not layer.within][: SHOWN // 2]
    near = sorted((layer for layer in found.layers if layer not in off), key=lambda layer: -_of_bound(layer))
    chosen = {layer.node for layer in (*off, *near[: SHOWN - len(off)])}
    return [layer for layer in found.layers if layer.node in chosen]


def _of_bound(layer: ModelLayer) -> float:
    return -1.0 if layer.figures is None else layer.figures.of_bound


def _row(layer: ModelLayer) -> list[object]:
    name = _short(f"{layer.node}{f' (+{len(layer.fused)})' if layer.fused else ''}")
    row = [name, layer.op, "x".join("?" if d < 0 else str(d) for d in layer.shape) or "scalar"]
    if layer.figures is None:
        return [*row, "-", "-", "-", layer.reason]
    figures = layer.figures
    said = f"{figures.max_abs:.3g}", f"{figures.relative_l2:.3g}", figures.pcc_text(5)
    return [*row, *said, f"{figures.of_bound:.3g}{'' if layer.within else ' OUT'}"]


def _short(name: str) -> str:
    return name if len(name) <= NAME_WIDTH else f"...{name[3 - NAME_WIDTH :]}"


def _few(names: tuple[str, ...]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{', '.join(names[:2])} and {len(names) - 2} more"

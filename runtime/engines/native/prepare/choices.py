"""Finds the nodes that matter for one outcome of a choice alone, so that runs in which the other comes out pass over them.

A choice is a `where` whose condition is one value.  What only its second operand reads, directly or through other such nodes, is of use
where the condition holds; what only the third reads, where it does not.  Branches of a source arrive so: see pass inline-branches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from ttc.dialects.core.plain.functions import Function
from ttc.runtime.engines.arithmetic import flops_of
from ttc.runtime.engines.native.graph.nodes import Condition, Flat, Node
from ttc.runtime.engines.native.prepare.rewriter import Allow, always

WORTH = 1 << 15
"""How much arithmetic of nodes a test of a condition is worth: the test takes a few microseconds."""


def note_conditions(flat: Flat, allow: Allow = always) -> None:
    """Give each node the conditions under which it is of use.

    A node's conditions are the first ones of each node that reads it, so that one that runs finds its operands made.
    """
    found = _conditions(flat)
    sizes: Counter[Condition] = Counter()
    first: dict[Condition, Node] = {}
    for node, conditions in zip(flat.nodes, found, strict=True):
        if conditions:
            sizes.update(dict.fromkeys(conditions, _flops(flat, node)))
            first = dict.fromkeys(conditions, node) | first
    worth = {condition for condition, flops in sizes.items() if flops >= WORTH and allow("pass-over", first[condition])}
    for node, conditions in zip(flat.nodes, found, strict=True):
        node.conditions = tuple(condition for condition in conditions if condition in worth)
    flat.conditions = {value for value, _ in worth}


def _conditions(flat: Flat) -> list[tuple[Condition, ...]]:
    """Return the conditions of each node, found from the last node to the first: those that all its readers have in common."""
    made = {value: number for number, node in enumerate(flat.nodes) for value in node.results}
    needed: dict[int, tuple[Condition, ...]] = {value: () for value, _ in flat.writes}
    found: list[tuple[Condition, ...]] = []
    for number in reversed(range(len(flat.nodes))):
        node = flat.nodes[number]
        wanted = [needed[value] for value in node.results if value in needed]
        known = takewhile(lambda c, number=number: made.get(c[0], -1) < number, _common(wanted))
        conditions = tuple(known)
        found.append(conditions)
        for value, under in _reads(flat, node, conditions):
            needed[value] = under if value not in needed else _common([needed[value], under])
    return found[::-1]


def _reads(flat: Flat, node: Node, conditions: tuple[Condition, ...]) -> Iterator[tuple[int, tuple[Condition, ...]]]:
    """Yield each value that a node reads, and when."""
    if not _chooses(flat, node):
        yield from ((value, conditions) for value in node.reads)
        return
    which, first, second = node.reads
    yield which, conditions
    yield first, (*conditions, (which, True))
    yield second, (*conditions, (which, False))


def _chooses(flat: Flat, node: Node) -> bool:
    """Return whether the node takes one of two values whole."""
    chosen = node.work.op == "tile.map" and node.work.attrs.get("fn") == "where" and not node.parts and len(node.reads) == 3
    return chosen and set(flat.types[node.reads[0]].shape) <= {1}


def _common(conditions: Sequence[tuple[Condition, ...]]) -> tuple[Condition, ...]:
    """Return the first ones that all have."""
    if not conditions:
        return ()
    alike = takewhile(lambda each: all(other == each[0] for other in each), zip(*conditions, strict=False))
    return tuple(each[0] for each in alike)


def _flops(flat: Flat, node: Node) -> int:
    """Arithmetic of a node by itself."""
    values = list(dict.fromkeys(node.reads))
    operands = tuple(None if value is None else values.index(value) for value in node.operands)
    return flops_of(Function(tuple(flat.types[value] for value in values), (replace(node.work, operands=operands),), ()))

"""Which values gradients keep and which are computed again: what costs least, what fits a number of bytes, or segments."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set

from xdsl.ir import Operation, SSAValue

from ttc.dialects.core.ir.spec import spec_of
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.flops import flops_of
from ttc.passes.nn.match import size_bytes
from ttc.passes.nn.min_cut import FlowGraph
from ttc.passes.nn.stash import VIEWS, Choice, Stash

STEPS = 24
"""How many prices of a byte, and sizes of segments, are tried."""
LEAST = 1e-9
"""The least price of a byte: above 0, so that nothing is kept that need not be."""


def everything(stash: Stash) -> Choice:
    """Return the choice that keeps all values but those that are marked to be computed again."""
    return _cheapest(stash, 0.0)


def cheap(stash: Stash, flops_a_byte: float) -> Choice:
    """Return the choice of least cost, where keeping a byte costs as much as so many FLOPs."""
    return _cheapest(stash, flops_a_byte)


def within(stash: Stash, memory: int) -> Choice:
    """Return the choice of least FLOPs whose stash is within a number of bytes; where even the least stash is larger, that one.

    Tried are those that are the cheapest at some price of a byte, which are the corners of the convex hull of all choices.  From the
    corner below the limit the way leads to the one above it: values are kept in program order for as long as they fit.
    """
    above = everything(stash)
    if above.stash_bytes <= memory:
        return above
    least, below = 1e-3, _cheapest(stash, math.inf)
    most = 2.0 * stash.total_flops + 1.0
    for _ in range(STEPS):
        price = math.sqrt(least * most)
        found = _cheapest(stash, price)
        if found.stash_bytes > memory:
            least, above = price, found
        else:
            most, below = price, found
    return _between(stash, below, above, memory)


def _between(stash: Stash, below: Choice, above: Choice, memory: int) -> Choice:
    """Return the choice that keeps, beside what `below` keeps, as many of the first values that `above` keeps as fit."""
    more = sorted(above.kept - below.kept, key=stash.place_of)
    fits, over = 0, len(more) + 1
    best = below
    while over - fits > 1:
        count = (fits + over) // 2
        found = stash.choice({*below.kept, *more[:count]})
        if found.stash_bytes > memory:
            over = count
        else:
            fits, best = count, min(best, found, key=lambda one: one.flops)
    return best


def _cheapest(stash: Stash, price: float) -> Choice:
    """The choice of least cost, as the cheapest cut: an op is on the sink's side if it is computed again, a value if gradients need it.

    price: of a byte, in FLOPs; 0: only marked ops are computed again.
    """
    if price == 0 and not stash.marked:
        return stash.choice(stash.read)
    if math.isinf(price) and not stash.marked:
        return stash.choice(())
    graph = FlowGraph()
    ops = {op: graph.node() for op in stash.forward}
    values: dict[SSAValue, int] = {y: graph.node() for op in stash.forward for y in op.results if y not in stash.free}
    for op, node in ops.items():
        possible = all(spec_of(y.type).is_static for y in op.results)
        allowed = possible and (price > 0 or op in stash.marked or op.name in VIEWS)
        graph.edge(graph.SOURCE, node, _cost(op) if allowed else math.inf)
        for x in op.operands:
            if x in values:
                graph.edge(values[x], node, math.inf)
        for y in op.results:
            if y in values:
                graph.edge(node, values[y], _price_of(stash, op, y, price) if possible else LEAST)
    for value in stash.read:
        graph.edge(values[value], graph.SINK, math.inf)
    near = graph.source_side()
    return stash.choice({y for op, node in ops.items() if node in near for y in op.results if y in values and values[y] not in near})


def _price_of(stash: Stash, op: Operation, value: SSAValue, price: float) -> float:
    """Return what keeping a value costs, for a price of a byte: infinitely much inside a marked part of the model."""
    users = {use.operation for use in value.uses if stash.is_forward(use.operation)}
    if op in stash.marked and (not users or not users.isdisjoint(stash.marked)):
        return math.inf
    return max(price, LEAST) * size_bytes(value)


def by_segments(stash: Stash) -> Choice:
    """Return the choice that keeps what passes between segments of the forward part, and computes each segment again before its gradients.

    Segments are such that what is kept and the largest segment together are the least, of several sizes; where there are such that keep
    a third of what would be kept else, and add no more than a third of all FLOPs, of those.
    """
    ops = _needed_ops(stash)
    found = [(stash.choice(_cuts(stash, ops, size)), size) for size in _sizes(stash, ops)]
    most = stash.choice(stash.read).stash_bytes
    frugal = [row for row in found if 3 * row[0].stash_bytes <= most] or found
    allowed = [row for row in frugal if 3 * row[0].flops <= stash.total_flops] or frugal
    return min(allowed, key=lambda row: (row[0].stash_bytes + row[1], row[0].flops))[0] if found else everything(stash)


def _needed_ops(stash: Stash) -> list[Operation]:
    """Return ops that values which gradients read are computed with, in program order."""
    again = stash.choice(()).again
    return [op for op in stash.forward if op in again]


def _sizes(stash: Stash, ops: Sequence[Operation]) -> list[int]:
    """Return bytes of segments that are tried: from the largest op to all together."""
    sizes = [sum(size_bytes(y) for y in op.results) for op in ops]
    if not sizes:
        return []
    least, most = max(1, *sizes), max(1, sum(sizes))
    return sorted({int(least * (most / least) ** (step / STEPS)) for step in range(STEPS + 1)})


def _cuts(stash: Stash, ops: Sequence[Operation], size: int) -> set[SSAValue]:
    """Return values that pass between segments of at most so many bytes; each ends where the least passes, in its second half."""
    crossing = _crossing(stash, ops)
    kept: set[SSAValue] = set()
    begin, held = 0, 0
    place = 0
    while place < len(ops):
        held += sum(size_bytes(y) for y in ops[place].results)
        if held <= size or place == begin:
            place += 1
            continue
        middle = begin + (place - begin) // 2
        cut = min(range(max(middle, begin + 1), place + 1), key=lambda i: sum(map(size_bytes, crossing[i])))
        kept |= crossing[cut]
        begin = place = cut
        held = 0
    return kept


def _crossing(stash: Stash, ops: Sequence[Operation]) -> list[Set[SSAValue]]:
    """Return values that are computed before each op, and read by it or a later one."""
    index = {op: i for i, op in enumerate(ops)}
    ends: dict[SSAValue, int] = {}
    for i, op in enumerate(ops):
        ends |= {x: i for x in op.operands if stash.is_held(x) and x.owner in index}
    alive: list[Set[SSAValue]] = []
    now: set[SSAValue] = set()
    for i, op in enumerate(ops):
        now = {x for x in now if ends[x] >= i}
        alive.append(frozenset(now))
        now |= {y for y in op.results if y in ends}
    return [*alive, frozenset()]


def _cost(op: Operation) -> float:
    """Return what computing an op again costs in FLOPs; moving an element counts as one."""
    if op.name in VIEWS:
        return 0.0
    moved = sum(spec_of(y.type).elements for y in op.results)
    return float((flops_of(op) if isinstance(op, NNOp) else 0) + moved)

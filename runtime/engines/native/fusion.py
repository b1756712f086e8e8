"""Joins elementwise nodes to the op that makes one of their operands: the value between them never reaches memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ttc.runtime.engines.native.lowering import can_take_region
from ttc.runtime.engines.native.nodes import Flat, Node
from ttc.runtime.engines.native.region import Region, Step, region_of, result_storage
from ttc.runtime.engines.native.storage import needs_rounding

ELEMENTWISE = ("tile.map", "tile.cast", "tile.eltwise")


def fuse_regions(flat: Flat) -> None:
    """Give producers the regions of the only nodes that read their results."""
    changed = True
    while changed:
        changed = False
        users, made = flat.users(), {v: node for node in flat.nodes for v in node.results}
        written = {value for value, _ in flat.writes}
        order = {id(node): index for index, node in enumerate(flat.nodes)}
        for node in flat.nodes:
            producer = _producer(flat, node, users, made, written, order)
            joined = None if producer is None else _joined(flat, producer, node)
            if producer is not None and joined is not None:
                flat.nodes[order[id(producer)]] = joined
                flat.nodes.remove(node)
                changed = True
                break


def _producer(
    flat: Flat, node: Node, users: dict[int, list[Node]], made: dict[int, Node], written: set[int], order: dict[int, int]
) -> Node | None:
    """The node that computes the last of a node's operands to be made, if the node's region can move into it."""
    if node.work.op not in ELEMENTWISE or len(node.results) != 1 or node.region is not None:
        return None
    inputs = [value for value in node.operands if value is not None]
    makers = [made[value] for value in inputs if value in made]
    if not makers or len(inputs) != len(node.operands):
        return None
    producer = max(makers, key=lambda maker: order[id(maker)])
    (value, *others) = producer.results
    alone = not others and users[value] == [node] and value not in written and inputs.count(value) == 1
    alone = alone and not (needs_rounding(flat.types[value].format) and not producer.unrounded)
    same = flat.types[value].shape == flat.types[node.results[0]].shape
    return producer if alone and same and can_take_region(producer.work.op) else None


def _joined(flat: Flat, producer: Node, node: Node) -> Node | None:
    """One node for both; None if one of them has no region."""
    storages = [result_storage(flat.types[value], node.unrounded) for value in node.operands if value is not None]
    region = region_of(node.work, [s for s in storages if s is not None], node.unrounded)
    first = producer.region or _own(producer)
    if None in storages or region is None or first is None:
        return None
    inputs = [value for value in node.operands if value is not None]
    at = inputs.index(producer.results[0])
    rest = [value for index, value in enumerate(inputs) if index != at]
    return replace(
        producer,
        results=node.results,
        region=_leading(region, at).after(first),
        extras=(*producer.extras, *rest),
        parts=(*(producer.parts or (producer,)), node),
    )


def _own(node: Node) -> Region | None:
    storage = result_storage(node.work.results[0], node.unrounded)
    return None if storage is None else Region((storage,), (), 0)


def _leading(region: Region, at: int) -> Region:
    """The region with its input number `at` first."""
    count = len(region.inputs)
    order = [at, *(i for i in range(count) if i != at)]
    place = {old: new for new, old in enumerate(order)} | {i: i for i in range(count, count + len(region.steps))}
    steps: Sequence[Step] = [Step(s.fn, tuple(place[i] for i in s.operands), s.storage, s.attrs) for s in region.steps]
    return Region(tuple(region.inputs[i] for i in order), tuple(steps), place[region.output])


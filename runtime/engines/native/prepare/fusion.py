"""The step that joins elementwise nodes to the op that makes one of their operands: the value between them never reaches memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ttc.runtime.engines.native.graph.nodes import Flat, Node
from ttc.runtime.engines.native.graph.region import Region, RegionStep, region_of, result_storage
from ttc.runtime.engines.native.graph.storage import Storage, needs_rounding
from ttc.runtime.engines.native.lower import can_take_region
from ttc.runtime.engines.native.prepare.rewriter import Allow, always

ELEMENTWISE = ("tile.map", "tile.cast", "tile.eltwise")
MAX_STEPS = 256
"""The most steps of a region that grows by joining: each join copies them all, and a kernel of more gains nothing."""


def fuse_regions(flat: Flat, allow: Allow = always) -> None:
    """Give producers the regions of the only nodes that read their results."""
    readers = {value: len(nodes) for value, nodes in flat.users().items()}
    written = {value for value, _ in flat.writes}
    needed = written | flat.conditions
    kept: list[Node] = []
    made: dict[int, int] = {}
    for node in flat.nodes:
        place = _producer(flat, node, kept, made)
        joined = None
        if place is not None:
            (value,) = kept[place].results
            joined = _joined(flat, kept[place], node) if readers[value] == 1 and value not in needed else None
        if place is None or joined is None or not allow("fuse", node):
            place = len(kept)
            kept.append(node)
        else:
            kept[place] = joined
        made.update(dict.fromkeys(node.results, place))
    given = written.difference(readers)
    flat.nodes = [_widened(node, allow) if given.issuperset(node.results) else node for node in kept]


def _widened(node: Node, allow: Allow) -> Node:
    """A node whose result is but an entry of a queue: bfloat16 is stored in float32, as entries are, and never converted in Python."""
    region = node.region or (_own(node) if len(node.results) == 1 else None)
    if region is None or region.storage != "bf16" or not can_take_region(node.work.op) or not allow("widen-entry", node):
        return node
    steps = (*region.steps, RegionStep("cast", (region.output,), "f32"))
    wide = Region(region.inputs, steps, len(region.inputs) + len(steps) - 1)
    return replace(node, region=wide, parts=node.parts or (node,))


def _producer(flat: Flat, node: Node, kept: list[Node], made: dict[int, int]) -> int | None:
    """Return the place of the node that computes the last of an elementwise node's operands to be made, if a region can move into it."""
    inputs = [value for value in node.operands if value is not None]
    places = [made[value] for value in inputs if value in made]
    if node.work.op not in ELEMENTWISE or not places or len(inputs) != len(node.operands):
        return None
    producer = kept[max(places)]
    if len(producer.results) != 1 or producer.conditions != node.conditions or not can_take_region(producer.work.op):
        return None
    (value,) = producer.results
    rounds = needs_rounding(flat.types[value].format) and not producer.unrounded
    same = flat.types[value].shape == flat.types[node.results[0]].shape
    return max(places) if same and not rounds and inputs.count(value) == 1 else None


def _joined(flat: Flat, producer: Node, node: Node) -> Node | None:
    """Return one node for both; None if one of them has no region."""
    storages: list[Storage | None] = [result_storage(flat.types[value], node.unrounded) for value in node.operands if value is not None]
    present: list[Storage] = [storage for storage in storages if storage is not None]
    region = region_of(node.work, present, node.unrounded)
    first = producer.region or _own(producer)
    if None in storages or region is None or first is None or len(first.steps) + len(region.steps) > MAX_STEPS:
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
        wide=node.wide,
    )


def _own(node: Node) -> Region | None:
    storage = result_storage(node.work.results[0], node.unrounded)
    return None if storage is None else Region((storage,), (), 0)


def _leading(region: Region, at: int) -> Region:
    """Return the region with its input number `at` first."""
    count = len(region.inputs)
    order = [at, *(i for i in range(count) if i != at)]
    place = {old: new for new, old in enumerate(order)} | {i: i for i in range(count, count + len(region.steps))}
    steps: Sequence[RegionStep] = [RegionStep(s.fn, tuple(place[i] for i in s.operands), s.storage, s.attrs) for s in region.steps]
    return Region(tuple(region.inputs[i] for i in order), tuple(steps), place[region.output])

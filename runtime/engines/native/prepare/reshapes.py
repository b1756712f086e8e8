"""Moves reshapes behind the elementwise nodes that read them, so that these can join the ops that make their operands.

A product of [batch * rows, columns] is often reshaped to [batch, rows, columns] before a residual is added.  Here the residual takes the
shape of the product instead, and the sum the shape of the residual: both without work.
"""

from __future__ import annotations

from dataclasses import replace

from ttc.dialects.core.formats import format_named
from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.runtime.engines.native.graph.nodes import Flat, Node
from ttc.runtime.engines.native.graph.storage import needs_rounding
from ttc.runtime.engines.native.lower import can_take_region
from ttc.runtime.engines.native.prepare.fusion import ELEMENTWISE
from ttc.runtime.engines.native.prepare.rewriter import Allow, always

_RESHAPE = "tile.reshape"


def sink_reshapes(flat: Flat, allow: Allow = always) -> None:
    """Compute elementwise nodes in the shape of what one of their operands is reshaped from, where only that reshape reads it.

    All operands are floating-point numbers of the shape of the result, and the others are there before the one that is reshaped is made.
    """
    _Sinking(flat, allow).run()


class _Sinking:
    """Walks forward, so that a chain of elementwise nodes sinks one reshape again and again."""

    def __init__(self, flat: Flat, allow: Allow) -> None:
        self._flat = flat
        self._allow = allow
        self._readers = {value: len(nodes) for value, nodes in flat.users().items()}
        self._written = {value for value, _ in flat.writes}
        self._made: dict[int, Node] = {}
        self._order: dict[int, int] = {}
        self._before: dict[Node, list[Node]] = {}
        self._sunken: set[Node] = set()

    def run(self) -> None:
        nodes: list[Node] = []
        for node in self._flat.nodes:
            for found in self._sunk(node):
                self._made.update(dict.fromkeys(found.results, found))
                self._order.update(dict.fromkeys(found.results, len(nodes)))
                nodes.append(found)
        self._flat.nodes = [each for node in nodes for each in (*self._before.get(node, ()), node) if each not in self._sunken]

    def _sunk(self, node: Node) -> list[Node]:
        """Return the node, or what takes its place."""
        inputs = [value for value in node.operands if value is not None]
        types = [self._flat.types[value] for value in (*inputs, *node.results)]
        alike = len(node.results) == 1 and all(type_.shape == types[-1].shape and _is_plain(type_) for type_ in types)
        if node.work.op not in ELEMENTWISE or not alike or len(inputs) != len(node.operands) or node.work.bodies:
            return [node]
        sources = {value: source for value in inputs if (source := self._source(value)) is not None}
        latest = max(sources, key=lambda value: self._order[sources[value]], default=None)
        if latest is None or inputs.count(latest) != 1:
            return [node]
        source = sources[latest]
        others = dict.fromkeys(value for value in inputs if value != latest)
        late = any(self._order.get(value, -1) > self._order[source] for value in others)
        if late or not self._allow("sink", node):
            return [node]
        return self._exchanged(node, latest, source, list(others))

    def _source(self, value: int) -> int | None:
        """Return what a value is reshaped from, if nothing else reads either of them and a region can move into what makes it."""
        reshape = self._made.get(value)
        if reshape is None or reshape.work.op != _RESHAPE or len(reshape.reads) != 1:
            return None
        (source,) = reshape.reads
        maker = self._made.get(source)
        alone = all(self._readers.get(v) == 1 and v not in self._written for v in (value, source))
        same = self._flat.types[source].format == self._flat.types[value].format
        fits = maker is not None and len(maker.results) == 1 and can_take_region(maker.work.op)
        return source if alone and same and fits else None

    def _exchanged(self, node: Node, latest: int, source: int, others: list[int]) -> list[Node]:
        """The node in the shape of the source, and its result in its own shape; reshapes of the others go before what makes the source."""
        shape = self._flat.types[source].shape
        (result,) = node.results
        moved = {latest: source}
        for value in others:
            moved[value] = self._value(value, shape)
            maker = self._made.get(value)
            wide = maker is not None and maker.wide
            self._before.setdefault(self._made[source], []).append(self._reshape(node, value, moved[value], wide))
        self._sunken.add(self._made[latest])
        inner = self._value(result, shape)
        operands = tuple(None if value is None else moved[value] for value in node.operands)
        work = _reshaped(node.work, self._flat.types[result].shape, shape)
        self._readers |= {source: 1, inner: 1}
        return [replace(node, work=work, operands=operands, results=(inner,)), self._reshape(node, inner, result, node.wide)]

    def _value(self, like: int, shape: tuple[int, ...]) -> int:
        """Return a new value of the same format."""
        self._flat.types.append(TensorType(shape, self._flat.types[like].format))
        return len(self._flat.types) - 1

    def _reshape(self, node: Node, source: int, target: int, wide: bool) -> Node:
        work = Work(_RESHAPE, (0,), {"shape": self._flat.types[target].shape}, (self._flat.types[target],))
        return Node(work, node.op, (source,), (target,), wide=wide)


def _is_plain(type_: TensorType) -> bool:
    """Return whether there are elements, all of them floating-point numbers in a storage of their own."""
    return min(type_.shape, default=1) > 0 and format_named(type_.format).is_float and not needs_rounding(type_.format)


def _reshaped(work: Work, old: tuple[int, ...], new: tuple[int, ...]) -> Work:
    """Return the work on tensors of another shape."""

    def types(found: tuple[TensorType, ...]) -> tuple[TensorType, ...]:
        return tuple(TensorType(new, type_.format) if type_.shape == old else type_ for type_ in found)

    body = work.body
    if body is not None:
        works = tuple(Work(w.op, w.operands, w.attrs, types(w.results), w.body, w.location, w.bodies) for w in body.works)
        body = Function(types(body.inputs), works, body.outputs)
    return Work(work.op, work.operands, work.attrs, types(work.results), body, work.location, work.bodies)

"""Integers that products multiply: what range they have, and which values are best held narrower than their format.

Models that compute on integers widen codes of 8 bits to 32, take a zero point away, and multiply.  Such numbers have 16 bits at most, in
which products are fastest; values that nothing but products reads are never stored wider.
"""

from __future__ import annotations

from collections.abc import Mapping

from ttc.dialects.core.formats import format_named
from ttc.dialects.tile.facts import Role, has_role
from ttc.runtime.engines.native.graph.nodes import Flat, Node
from ttc.runtime.engines.native.graph.ranges import IntegerFacts, Range, fits, limits, range_of, range_of_dtype
from ttc.runtime.engines.native.graph.region import identity, region_of, result_storage
from ttc.runtime.engines.native.graph.storage import Storage, array_dtype
from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.lower import can_take_region
from ttc.runtime.engines.native.prepare.fusion import ELEMENTWISE
from ttc.runtime.engines.native.prepare.rewriter import Allow, always

PRODUCTS = ("tile.matmul", "tile.conv2d")
_WIDE = "Int32"
_DEPTH = 16
"""Ops that are looked through for the range of a value."""


def integers_of(flat: Flat, views: Mapping[int, View | None], allow: Allow = always, *, in_bytes: bool = False) -> IntegerFacts:
    """Find the ranges of operands of integer products, and how values that nothing else reads are held.

    Args:
        flat: a graph, its regions fused.
        views: where values of queues lie.
        in_bytes: whether products read left operands of 8 bits as fast as those of 16.
    """
    search = _Search(flat, views, allow, in_bytes)
    return IntegerFacts(search.ranges, search.storages)


class _Search:
    """Walks from each product to what makes its operands."""

    def __init__(self, flat: Flat, views: Mapping[int, View | None], allow: Allow, in_bytes: bool) -> None:
        self._flat, self._views, self._allow = flat, views, allow
        self._left: tuple[Storage, ...] = ("u8", "i8", "i16") if in_bytes else ("i16",)
        self._known: dict[int, Range | None] = {}
        self._alone: dict[int, bool] = {}
        self.ranges: dict[int, Range] = {}
        self.storages: dict[int, Storage] = {}
        products = [node for node in flat.nodes if self._multiplies(node)]
        if not products:
            return
        self._makers = {value: node for node in flat.nodes for value in node.results}
        self._users = flat.users()
        self._written = {value for value, _ in flat.writes}
        for node in products:
            if allow("bound", node):
                self._product(node)

    def _product(self, node: Node) -> None:
        operands = [value for value in node.operands[:2] if value is not None]
        for value in operands:
            found = self._range(value, 0)
            if found is not None:
                self.ranges[value] = found
        for index, value in enumerate(operands):
            origin = self._origin(value)
            storage = None if origin is None or value not in self.ranges else self._storage(index, origin, self.ranges[value])
            if origin is not None and storage is not None and self._allow("narrow", self._makers[origin]):
                self.storages[origin] = storage if self.storages.get(origin, storage) == storage else "i16"

    def _storage(self, index: int, origin: int, found: Range) -> Storage | None:
        """Return how an operand of a product is best held; None for as its format says."""
        maker = self._makers[origin]
        if index == 1 and maker.work.op == "tile.cast" and maker.region is None and maker.operands[0] is not None:
            source = result_storage(self._flat.types[maker.operands[0]], maker.unrounded)
            if source == "i8":
                return source
        return next((storage for storage in (self._left if index == 0 else ("i16",)) if fits(found, storage)), None)

    def _origin(self, value: int) -> int | None:
        """The value that one is moved from, if a region makes it and only products read it, moved or not."""
        while value in self._makers and _moves(self._makers[value]):
            value = self._makers[value].operands[0] or 0
        maker = self._makers.get(value)
        if maker is None or len(maker.results) != 1 or not can_take_region(maker.work.op):
            return None
        if value not in self._alone:
            self._alone[value] = self._only_products(value)
        return value if self._alone[value] else None

    def _only_products(self, value: int) -> bool:
        waiting = [value]
        while waiting:
            value = waiting.pop()
            if value in self._written:
                return False
            for node in self._users.get(value, []):
                if _moves(node):
                    waiting.append(node.results[0])
                elif not self._multiplies(node) or value in (*node.operands[2:], *node.extras):
                    return False
        return True

    def _multiplies(self, node: Node) -> bool:
        """Return whether a node is a product of integers of 32 bits."""
        return node.work.op in PRODUCTS and all(i is not None and self._flat.types[i].format == _WIDE for i in node.operands[:2])

    # ---- ranges ------------------------------------------------------------------------------------------------------------------------

    def _range(self, value: int, depth: int) -> Range | None:
        if value not in self._known:
            self._known[value] = self._of_type(value) if depth == _DEPTH else self._found(value, depth + 1)
        return self._known[value]

    def _found(self, value: int, depth: int) -> Range | None:
        node = self._makers.get(value)
        if node is None:
            return self._of_queue(value)
        if _moves(node) and node.operands[0] is not None:
            return self._range(node.operands[0], depth)
        own = result_storage(node.work.results[0], node.unrounded)
        if len(node.results) != 1 or own is None:
            return self._of_type(value)
        first: Range | None = None
        if node.work.op in ELEMENTWISE:
            present = [i for i in node.operands if i is not None]
            storages: list[Storage | None] = [result_storage(self._flat.types[i], node.unrounded) for i in present]
            known: list[Storage] = [storage for storage in storages if storage is not None]
            inner = region_of(node.work, known, node.unrounded) if len(known) == len(present) else None
            first = None if inner is None else range_of(inner, [self._range(i, depth) for i in present])
        region = node.region or identity(own)
        return range_of(region, [first, *(self._range(i, depth) for i in node.extras)])

    def _of_queue(self, value: int) -> Range | None:
        view = self._views.get(value)
        array = None if view is None else view.buffer.array
        if view is None or array is None or array.size == 0 or limits(view.storage) is None or array.dtype != array_dtype(view.storage):
            return self._of_type(value)
        return int(array.min()), int(array.max())

    def _of_type(self, value: int) -> Range | None:
        return range_of_dtype(format_named(self._flat.types[value].format).compute)


def _moves(node: Node) -> bool:
    """Return whether the result of a node is made of elements of its one operand."""
    return has_role(node.work.op, Role.VIEW) and node.region is None and len(node.operands) == len(node.results) == 1

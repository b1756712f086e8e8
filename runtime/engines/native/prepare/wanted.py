"""The step that writes results which are joined or reordered next where they end up, and images with the zeros that are read around them.

A concatenation is no work if its operands are written into its result, nor is a change of the order of dimensions that ends in rows: the
heads of an attention are written side by side.  Kernels that write rows at any strides take such a place (`Lowering.result` with
`strided`); what others write is copied there, as it would be anyhow.  Convolutions in bfloat16 that tiles multiply read images where they
lie if there are zeros around them (`jobs.margins`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ttc.dialects.core.plain.functions import TensorType
from ttc.dialects.tile.facts import is_bijective
from ttc.runtime.engines.native.graph.nodes import Flat, Node
from ttc.runtime.engines.native.graph.region import result_storage
from ttc.runtime.engines.native.graph.storage import STORAGE_BYTES, Storage, needs_rounding
from ttc.runtime.engines.native.graph.tensors import PlanBuffer, View, dense
from ttc.runtime.engines.native.jobs.convolutions import FEW_CHANNELS
from ttc.runtime.engines.native.jobs.frames import MOST_WASTE, reads_in_place
from ttc.runtime.engines.native.jobs.margins import with_margins
from ttc.runtime.engines.native.prepare.rewriter import Allow, always

if TYPE_CHECKING:
    from ttc.runtime.engines.native.codegen.features import Cpu

_CONCAT = "tile.concat"
_WRITERS = ("tile.conv2d", "tile.conv_transpose2d", "tile.max_pool2d", "tile.avg_pool2d")
"""Ops that read and write images whose rows lie anywhere."""
_LEAST_BYTES = 1 << 19
"""The bytes of images from which on it takes longer to copy them than to write zeros around them."""


def wanted_layouts(flat: Flat, cpu: Cpu, allow: Allow = always) -> dict[int, View]:
    """Return strided places of values, by number; those of a concatenation's operands lie in that of its result."""
    return _Places(flat, cpu, allow).found()


class _Places:
    """Works backward, so that the place of a result is known before those of what it is made of."""

    def __init__(self, flat: Flat, cpu: Cpu, allow: Allow) -> None:
        self._flat, self._cpu = flat, cpu
        self._allow = allow
        self._types: Sequence[TensorType] = flat.types
        self._users = flat.users()
        self._made = {value: (node, index) for node in flat.nodes for index, value in enumerate(node.results)}
        self._written = {value for value, _ in flat.writes}
        self._places: dict[int, View] = {}

    def found(self) -> dict[int, View]:
        for node in reversed(self._flat.nodes):
            if _joins(node) and node.region is None:
                self._concat(node)
            elif _reorders(node) and not self._goes_on(node.results[0]):
                self._reordered(node)
            elif self._cpu.has_tiles and (margins := _wanted_margins(node, self._types)) is not None:
                self._with_margins(node, margins)
        return self._places

    def _goes_on(self, value: int) -> bool:
        """Return whether the only use of a value is to be reordered or joined: its place is looked for from there."""
        users = self._users.get(value, [])
        return len(users) == 1 and value not in self._written and (_reorders(users[0]) or _joins(users[0]))

    def _concat(self, node: Node) -> None:
        value = node.results[0]
        shape, storage = self._types[value].shape, self._storage(value)
        axis, sizes = self._parts(node)
        if storage is None or not sizes:
            return
        place = self._places.get(value) or _new(shape, storage)
        start, times = 0, Counter(node.operands)
        for operand, size in zip(node.operands, sizes, strict=True):
            if operand is not None and times[operand] == 1:
                self._place(node, operand, place.sliced(axis, start, size))
            start += size
        self._places[value] = place

    def _with_margins(self, node: Node, margins: tuple[int, int]) -> None:
        """Have the images of a convolution written with zeros around them, if all that read them read them so."""
        value = node.operands[0]
        if value is None or value not in self._made or value in self._written or value in self._places:
            return
        storage, users = self._storage(value), self._users[value]
        makes = _joins(self._made[value][0]) or self._made[value][0].work.op in _WRITERS
        reads = all(user.work.op in _WRITERS or _joins(user) for user in users)
        if storage == "bf16" and makes and reads and self._allow("write-margins", self._made[value][0]):
            self._places[value] = with_margins(self._types[value].shape, storage, margins)

    def _parts(self, node: Node) -> tuple[int, list[int]]:
        """Return the axis of a concatenation and the operands' sizes along it; none if they do not make up the result."""
        shape = self._types[node.results[0]].shape
        axis = node.work.attrs.get("axis")
        if not isinstance(axis, int) or not -len(shape) <= axis < len(shape):
            return 0, []
        axis %= len(shape)
        parts = [self._types[i].shape for i in node.operands if i is not None]
        fit = all(len(part) == len(shape) and (*part[:axis], shape[axis], *part[axis + 1 :]) == shape for part in parts)
        sizes = [part[axis] for part in parts] if fit and len(parts) == len(node.operands) else []
        return axis, sizes if sum(sizes) == shape[axis] and min(sizes, default=0) > 0 else []

    def _place(self, user: Node, value: int, place: View) -> None:
        """Have a value, or what it is reordered from, written to a place."""
        found = self._origin(user, value, place)
        if found is not None:
            self._take(*found)

    def _reordered(self, node: Node) -> None:
        """The last of some reorderings: if any of them would copy, have its origin written such that none does."""
        value = node.results[0]
        storage = self._storage(value)
        found = None if storage is None else self._origin(None, value, _new(self._types[value].shape, storage))
        if found is None or found[0] == value or self._is_free(found[0], value):
            return
        self._take(*found)

    def _origin(self, user: Node | None, value: int, place: View) -> tuple[int, View] | None:
        """Return the value that one is reordered from, and where it lies if this one lies at a place; None if there is no such layout."""
        while value in self._made and _reorders(self._made[value][0]):
            node = self._made[value][0]
            alone = user is None or (self._users[value] == [user] and value not in self._written)
            source = node.operands[0]
            back = None if source is None else _before(node, place, self._types[source].shape)
            if not alone or source is None or back is None:
                return None
            user, value, place = node, source, back
            others = self._users[value] != [user]
            if value in self._written or (others and not place.is_dense):
                return None
        return value, place

    def _is_free(self, origin: int, value: int) -> bool:
        """Return whether a value is reordered without copies from an origin in row-major order, to rows that are dense."""
        node, _ = self._made[value]
        nodes = [node]
        while nodes[-1].operands[0] != origin:
            nodes.append(self._made[nodes[-1].operands[0] or 0][0])
        view: View | None = _new(self._types[origin].shape, "f32")
        for node in reversed(nodes):
            view = None if view is None else _after(node, view, self._types[node.results[0]].shape)
        return view is not None and (view.is_dense or value not in self._written)

    def _take(self, value: int, place: View) -> None:
        """If a kernel can write it so."""
        rows = place.shape[-1:] == (1,) or place.strides[-1:] == (1,)
        if rows and value in self._made and value not in self._places and self._storage(value) == place.storage:
            if self._allow("write-elsewhere", self._made[value][0]):
                self._places[value] = place

    def _storage(self, value: int) -> Storage | None:
        """Return how a value is held; None if it is none of ours, or is rounded after it is written."""
        if value not in self._made or min(self._types[value].shape, default=1) < 1:
            return None
        node, _ = self._made[value]
        type_ = self._types[value]
        return None if needs_rounding(type_.format) and not node.unrounded else result_storage(type_, node.unrounded)


def _wanted_margins(node: Node, types: Sequence[TensorType]) -> tuple[int, int] | None:
    """Return the zeros around its images that a convolution reads where they lie; None where it copies them, or needs none."""
    attrs, value = node.work.attrs, next(iter(node.operands), None)
    if node.work.op != "tile.conv2d" or node.op.precision != "bfloat16" or value is None:
        return None
    pads, plain = attrs.get("pads"), (attrs.get("strides"), attrs.get("dilations"), attrs.get("groups", 1))
    sizes = [size for size in pads if isinstance(size, int)] if isinstance(pads, tuple) else []
    if plain != ((1, 1), (1, 1), 1) or len(sizes) != 4 or min(sizes) < 0 or len(types[value].shape) != 4:
        return None
    above, left, below, right = sizes
    margins, (count, height, width, channels) = (max(above, below), max(left, right)), types[value].shape
    if channels <= FEW_CHANNELS or not reads_in_place(channels) or count * height * width * channels * 2 < _LEAST_BYTES:
        return None
    cells = (height + margins[0]) * (width + margins[1])
    return margins if max(margins) and cells <= MOST_WASTE * height * width else None


def _new(shape: tuple[int, ...], storage: Storage) -> View:
    found = dense(PlanBuffer(0), storage, shape)
    found.buffer.size_bytes = found.elements * STORAGE_BYTES[storage]
    return found


def _joins(node: Node) -> bool:
    return node.work.op == _CONCAT and len(node.results) == 1


def _reorders(node: Node) -> bool:
    return is_bijective(node.work.op) and (len(node.operands), len(node.results)) == (1, 1)


def _after(node: Node, x: View, shape: tuple[int, ...]) -> View | None:
    """Return the result of a reordering, of a shape, as a view of its operand; None if it needs a copy."""
    order = _order(node, len(x.shape))
    if node.work.op == "tile.transpose":
        found = None if order is None else x.permuted(order)
    elif node.work.op == "tile.hslice":
        *lead, heads, rows, columns = (1, 1, *shape)
        split = x.reshaped((*lead[2:], rows, heads, columns))
        found = None if split is None else _heads_moved(split)
    else:
        found = (_heads_moved(x) if node.work.op == "tile.hstack" else x).reshaped(shape)
    return found if found is not None and found.shape == shape else None


def _before(node: Node, y: View, shape: tuple[int, ...]) -> View | None:
    """Return the operand of a reordering, of a shape, as a view of its result; None if there is no such layout."""
    order = _order(node, len(y.shape))
    if node.work.op == "tile.transpose":
        found = None if order is None else y.permuted([order.index(i) for i in range(len(order))])
    elif node.work.op == "tile.hstack":
        *lead, heads, rows, columns = (1, 1, *shape)
        split = y.reshaped((*lead[2:], rows, heads, columns)) if y.shape[-2:] == (rows, heads * columns) else None
        found = None if split is None else _heads_moved(split)
    else:
        found = (_heads_moved(y) if node.work.op == "tile.hslice" else y).reshaped(shape)
    return found if found is not None and found.shape == shape else None


def _order(node: Node, rank: int) -> list[int] | None:
    """Return the order of the dimensions of a transposed tensor; None if it is none."""
    order = node.work.attrs.get("perm")
    found = [i for i in order if isinstance(i, int)] if isinstance(order, tuple) else []
    return found if sorted(found) == list(range(rank)) else None


def _heads_moved(x: View) -> View:
    """The second and third dimensions from the end in each other's place, if there are so many."""
    last = len(x.shape) - 1
    return x.permuted([*range(last - 2), last - 1, last - 2, last]) if last >= 2 else x

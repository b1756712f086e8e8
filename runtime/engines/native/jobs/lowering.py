"""What a lowering works with: it turns one node into jobs.

Lowerings are registered in `ttc.runtime.engines.native.lower` by the mnemonic of the tile op, and take a `Lowering`.  What they do not take
they refuse with `NotTaken`; the node then runs through its reference kernel, between native jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from ttc.dialects.core.plain.functions import Plain, TensorType
from ttc.runtime.engines.native.graph.nodes import Node
from ttc.runtime.engines.native.graph.region import Region, identity, packed, result_storage
from ttc.runtime.engines.native.graph.storage import STORAGE_BYTES, Storage, needs_rounding
from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.jobs.builder import JobBuilder
from ttc.runtime.engines.native.jobs.copies import copied, copy
from ttc.runtime.engines.native.jobs.job import NotTaken

if TYPE_CHECKING:
    from ttc.runtime.engines.native.codegen.features import Cpu
    from ttc.runtime.engines.native.graph.ranges import IntegerFacts

Lower: TypeAlias = "Callable[[Lowering], None]"


class Lowering(JobBuilder):
    """One node that is being lowered to jobs.

    Args:
        node: the op.
        views: of all values so far, by number; None for those that Python holds.
        types: of all values.
        wanted: strided layouts that consumers of values would like, by number.
        integers: what is known of those that are multiplied.
    """

    def __init__(
        self,
        node: Node,
        views: dict[int, View | None],
        types: Sequence[TensorType],
        cpu: Cpu,
        wanted: Mapping[int, View] | None = None,
        integers: IntegerFacts | None = None,
    ) -> None:
        super().__init__(node, cpu)
        self.work = node.work
        self.results: dict[int, View] = {}
        self._views = views
        self._types = types
        self._wanted = wanted or {}
        self._integers = integers

    # ---- what the node is --------------------------------------------------------------------------------------------------------------

    def attr(self, name: str, default: Plain = None) -> Plain:
        """Return an attribute; absent ones and None give the default."""
        found = self.work.attrs.get(name)
        return default if found is None else found

    def only(self, *names: str) -> None:
        """Raises NotTaken if the node has attributes other than these."""
        others = [name for name, value in self.work.attrs.items() if name not in names and value is not None and value is not False]
        if others:
            raise NotTaken(f"attribute {others[0]}")

    def has(self, index: int) -> bool:
        """Return whether the node has the operand of that number."""
        return index < len(self.node.operands) and self.node.operands[index] is not None

    def operand(self, index: int) -> View:
        """Return an operand as it lies, perhaps strided.  Raises NotTaken if it is absent or held by Python."""
        value = self.node.operands[index] if index < len(self.node.operands) else None
        view = None if value is None else self._views[value]
        if view is None:
            raise NotTaken(f"operand {index} is not in memory")
        return view

    def dense(self, index: int) -> View:
        """Return an operand in row-major order: copied if it lies otherwise."""
        return self.densified(self.operand(index))

    def type_of(self, index: int) -> TensorType:
        """Return the type of an operand."""
        value = self.node.operands[index]
        if value is None:
            raise NotTaken(f"operand {index} is absent")
        return self._types[value]

    @property
    def is_narrowed(self) -> bool:
        """Whether the first result is held narrower than its format."""
        return self._integers is not None and self.node.results[0] in self._integers.storages

    def range_of(self, index: int) -> tuple[int, int] | None:
        """Return the smallest and the largest number in an operand of a product of integers; None where nothing is known."""
        value = self.node.operands[index]
        return None if self._integers is None or value is None else self._integers.ranges.get(value)

    @property
    def region(self) -> Region:
        """The function of each element of the result before it is stored: input 0 is the element, rounded, the others are those of
        `extras`.
        """
        found = self.node.region
        if found is None:
            return self._narrowed(identity(self._own_storage(0)))
        views = (self._views[value] for value in self.node.extras)
        held = [storage if view is None else view.storage for storage, view in zip(found.inputs[1:], views, strict=True)]
        return self._narrowed(replace(found, inputs=(found.inputs[0], *held)))

    @property
    def extras(self) -> list[View]:
        """Further operands of the region, broadcast to the shape of the result."""
        found = [self._views[value] for value in self.node.extras]
        if any(view is None for view in found):
            raise NotTaken("an operand of the region is not in memory")
        return [view.expanded(self.result_shape()) for view in found if view is not None]

    def result_shape(self, index: int = 0) -> tuple[int, ...]:
        """Return the shape of a result."""
        return self.work.results[index].shape

    def result_storage(self, index: int = 0) -> Storage:
        """Return how a result is held, after the region."""
        return self.region.storage if index == 0 else self._own_storage(index)

    @property
    def rounds(self) -> bool:
        """Whether floating-point results are rounded to their formats."""
        return not self.node.unrounded

    # ---- memory ------------------------------------------------------------------------------------------------------------------------

    def result(self, index: int = 0, *, strided: bool = False) -> View:
        """Return memory for a result.  strided: the kernel writes rows (the last dimension is dense) at any strides."""
        value = self.node.results[index]
        wanted = self._wanted.get(value) if strided else None
        shape, storage = self.result_shape(index), self.result_storage(index)
        fits = wanted is not None and (wanted.shape, wanted.storage) == (shape, storage)
        view = wanted if wanted is not None and fits else self.temp(shape, storage)
        self.results[index] = view
        return view

    def alias(self, view: View, index: int = 0) -> None:
        """Make a result a view of what is there already, or a copy of it where its format may change the values.

        Raises NotTaken where elements would have to be converted to integers.
        """
        storage = self.result_storage(index)
        narrower = view.storage != storage and STORAGE_BYTES[storage] < STORAGE_BYTES[view.storage]
        if narrower and {view.storage, storage} - {"f32", "bf16", "f16"}:
            raise NotTaken(f"a view of {view.storage} in {storage}")
        rounded = self.rounds and needs_rounding(self.work.results[index].format)
        if narrower or rounded:
            target = self.temp(view.shape, storage) if rounded else self._alike(view, storage)
            copy(self, view, target)
            view = target
        self.results[index] = view

    def _alike(self, view: View, storage: Storage) -> View:
        """Return memory for the elements of a view in the order in which they lie, if they have no gaps: readers choose their own."""
        order = sorted(range(len(view.shape)), key=lambda axis: -abs(view.strides[axis]))
        if not view.permuted(order).is_dense:
            return self.temp(view.shape, storage)
        target = self.temp([view.shape[axis] for axis in order], storage)
        return target.permuted([order.index(axis) for axis in range(len(order))])

    def densified(self, view: View) -> View:
        """Return the elements of a view in row-major order: copied if they lie otherwise."""
        if view.is_dense:
            return view
        return copied(self, view)

    def reshaped(self, view: View, shape: tuple[int, ...]) -> View:
        """Return a view in another shape, copied if its elements lie otherwise.  Raises NotTaken if there are none."""
        found = view.reshaped(shape) or self.densified(view).reshaped(shape)
        if found is None:
            raise NotTaken("no elements")
        return found

    def _narrowed(self, region: Region) -> Region:
        """Return the region with its result held as those that read it like it best."""
        return packed(region, self._integers.storages[self.node.results[0]]) if self._integers and self.is_narrowed else region

    def _own_storage(self, index: int) -> Storage:
        found = result_storage(self.work.results[index], self.node.unrounded)
        if found is None:
            raise NotTaken(f"results in {self.work.results[index].format}")
        return found

"""StableHLO text while it is written."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ttc.dialects.core.names import FreeNames
from ttc.dialects.core.plain.functions import Work
from ttc.exporters.graph import ModelGraph, dtype_of
from ttc.exporters.stablehlo import regions
from ttc.exporters.stablehlo.literals import NARROW, SHOWN, HloValue, NoHloForm, dense, integer, integers, location

INDENT = " " * 4


class HloText:
    """The lines of a function, and the names of its values.

    Args:
        graph: the program.
    """

    def __init__(self, graph: ModelGraph) -> None:
        self.graph = graph
        self.lines: list[str] = []
        self.values: list[HloValue] = []
        self.leaves: dict[str, Work] = {}
        self._constants: dict[tuple[bytes, str], HloValue] = {}
        self._taken = set(regions.NAMES)
        self._names = FreeNames("_")

    def name(self, stem: str) -> str:
        """Return a name that no other value has, made of characters that names may have."""
        plain = re.sub(r"[^A-Za-z0-9_.$-]", "_", stem) or "value"
        name = self._names.of(plain if not plain[0].isdigit() else f"_{plain}", self._taken)
        self._taken.add(name)
        return f"%{name}"

    def constant(self, array: NDArray, stem: str = "constant") -> HloValue:
        """Write a constant; one of the few or equal numbers of another is that one.  Raises NoHloForm for text."""
        if array.dtype == np.bool_ and array.size > SHOWN and 0 < np.count_nonzero(array) < array.size:
            return self.converted(self.constant(array.astype(np.uint8), stem), array.dtype)
        kind = dense(array)
        key = (kind.encode(), stem)
        shared = '"0x' not in kind and array.dtype.name not in NARROW[1:]
        if shared and key in self._constants:
            return self._constants[key]
        made = HloValue(self.name(stem), array.shape, array.dtype)
        self.lines.append(f'{INDENT}{made.name} = "stablehlo.constant"() {{value = {kind}}} : () -> {made.type}')
        if shared:
            self._constants[key] = made
        return made

    def converted(self, value: HloValue, dtype: np.dtype) -> HloValue:
        """Write a conversion without a location."""
        made = HloValue(self.name("constant"), value.shape, dtype)
        self.lines.append(f'{INDENT}{made.name} = "stablehlo.convert"({value.name}) : ({value.type}) -> {made.type}')
        return made


class HloWriter:
    """One op while its text is written: what rules ask, and what they write.

    Args:
        text: of the function.
        work: the op.
        operands: its operands; None for one that is absent.
    """

    def __init__(self, text: HloText, work: Work, operands: Sequence[HloValue | None]) -> None:
        self.text, self.work, self.operands = text, work, operands
        self.mnemonic = work.op.removeprefix("nn.")
        self._location = location(work.location)

    # ---- what rules ask ------------------------------------------------------------------------------------------------------------

    def has(self, index: int) -> bool:
        """Return whether an operand is present."""
        return index < len(self.operands) and self.operands[index] is not None

    def x(self, index: int = 0) -> HloValue:
        """Return an operand.  Raises NoHloForm for one that is absent."""
        found = self.operands[index] if index < len(self.operands) else None
        if found is None:
            raise NoHloForm(f"operand {index} is absent")
        return found

    def all(self) -> list[HloValue]:
        """Return all operands that are present."""
        return [value for value in self.operands if value is not None]

    @property
    def out(self) -> tuple[int, ...]:
        """The shape of the first result."""
        return self.work.results[0].shape

    @property
    def out_dtype(self) -> np.dtype:
        """The dtype of the first result."""
        return dtype_of(self.work.results[0])

    def attr(self, name: str) -> Any:
        """Return the value of an attribute of the op."""
        return self.work.attrs.get(name)

    def array(self, value: HloValue) -> NDArray | None:
        """Return the array of a weight or literal; None for what is computed."""
        leaf = self.text.leaves.get(value.name)
        return None if leaf is None else self.text.graph.leaf(leaf)

    # ---- ops -----------------------------------------------------------------------------------------------------------------------

    def make(
        self,
        op: str,
        *operands: HloValue,
        shape: Sequence[int] | None = None,
        dtype: DTypeLike | None = None,
        attrs: Mapping[str, str] | None = None,
        region: Sequence[str] = (),
    ) -> HloValue:
        """Write an op of StableHLO, or one with a dialect's name; its result is of the first operand's type where nothing else is said."""
        kind = HloValue("", operands[0].shape if shape is None else tuple(shape), operands[0].dtype if dtype is None else np.dtype(dtype))
        return self.make_several(op, operands, [kind], attrs, region)[0]

    def make_several(
        self,
        op: str,
        operands: Sequence[HloValue],
        kinds: Sequence[HloValue],
        attrs: Mapping[str, str] | None = None,
        region: Sequence[str] = (),
    ) -> list[HloValue]:
        """Write an op of several results, whose types are those of `kinds`."""
        made = [HloValue(self.text.name(self.mnemonic), kind.shape, kind.dtype) for kind in kinds]
        names = ", ".join(value.name for value in made)
        head = f'{names} = "{op if "." in op else f"stablehlo.{op}"}"({", ".join(value.name for value in operands)})'
        fields = f" {{{', '.join(f'{name} = {text}' for name, text in attrs.items())}}}" if attrs else ""
        results = made[0].type if len(made) == 1 else f"({', '.join(value.type for value in made)})"
        tail = f"{fields} : ({', '.join(value.type for value in operands)}) -> {results}{self._location}"
        lines = [f"{head} ({{", *region, f"}}){tail}"] if region else [f"{head}{tail}"]
        self.text.lines += [INDENT + line for line in lines]
        return made

    def constant(self, value: Any, dtype: DTypeLike) -> HloValue:
        """Write a constant, and return its value in the text."""
        return self.text.constant(np.asarray(value, dtype))

    def filled(self, value: Any, like: HloValue) -> HloValue:
        """Write a constant of one number, of a value's type."""
        return self.text.constant(np.full(like.shape, value, like.dtype))

    def broadcast(self, value: HloValue, shape: Sequence[int]) -> HloValue:
        """Write a value repeated to a shape, as numpy broadcasts it."""
        return self.spread(value, shape, range(len(shape) - len(value.shape), len(shape)))

    def spread(self, value: HloValue, shape: Sequence[int], places: Sequence[int]) -> HloValue:
        """Write a value repeated to a shape in which its dimensions have these places."""
        if value.shape == tuple(shape):
            return value
        return self.make("broadcast_in_dim", value, shape=shape, attrs={"broadcast_dimensions": integers(places)})

    def elementwise(self, op: str, *operands: HloValue, dtype: DTypeLike | None = None, attrs: Mapping[str, str] | None = None) -> HloValue:
        """Write an elementwise op of operands, which are broadcast as numpy does."""
        shape = np.broadcast_shapes(*(value.shape for value in operands))
        return self.make(op, *(self.broadcast(value, shape) for value in operands), dtype=dtype, attrs=attrs)

    def with_number(self, op: str, value: HloValue, number: float) -> HloValue:
        """Write an elementwise op of a value and a number."""
        return self.make(op, value, self.filled(number, value))

    def compare(self, direction: str, left: HloValue, right: HloValue) -> HloValue:
        """Write a comparison: `LT`, `EQ`."""
        return self.elementwise(
            "compare", left, right, dtype=bool, attrs={"comparison_direction": f"#stablehlo<comparison_direction {direction}>"}
        )

    def select(self, condition: HloValue, yes: HloValue, no: HloValue) -> HloValue:
        """Write a choice between the elements of two values."""
        shape = np.broadcast_shapes(condition.shape, yes.shape, no.shape)
        return self.make("select", *(self.broadcast(value, shape) for value in (condition, yes, no)), dtype=yes.dtype)

    def convert(self, value: HloValue, dtype: DTypeLike) -> HloValue:
        """Write a value in another dtype."""
        return value if value.dtype == np.dtype(dtype) else self.make("convert", value, dtype=dtype)

    def reshape(self, value: HloValue, shape: Sequence[int]) -> HloValue:
        """Write a value's elements under another shape."""
        return value if value.shape == tuple(shape) else self.make("reshape", value, shape=shape)

    def transpose(self, value: HloValue, order: Sequence[int]) -> HloValue:
        """Write a value with its dimensions in another order."""
        if list(order) == list(range(len(value.shape))):
            return value
        return self.make("transpose", value, shape=[value.shape[axis] for axis in order], attrs={"permutation": integers(order)})

    def cut(self, value: HloValue, axis: int, start: int, end: int, step: int = 1) -> HloValue:
        """Write the elements from start to before end along an axis."""
        starts, ends, steps = [0] * len(value.shape), list(value.shape), [1] * len(value.shape)
        starts[axis], ends[axis], steps[axis] = start, end, step
        return self.cut_all(value, starts, ends, steps)

    def cut_all(self, value: HloValue, starts: Sequence[int], ends: Sequence[int], steps: Sequence[int]) -> HloValue:
        """Write the elements from starts to before ends, by dimension."""
        shape = [len(range(*entry)) for entry in zip(starts, ends, steps, strict=True)]
        if shape == list(value.shape):
            return value
        attrs = {"start_indices": integers(starts), "limit_indices": integers(ends), "strides": integers(steps)}
        return self.make("slice", value, shape=shape, attrs=attrs)

    def join(self, values: Sequence[HloValue], axis: int) -> HloValue:
        """Write values one after the other along an axis."""
        if len(values) == 1:
            return values[0]
        shape = list(values[0].shape)
        shape[axis] = sum(value.shape[axis] for value in values)
        return self.make("concatenate", *values, shape=shape, attrs={"dimension": integer(axis)})

    def reverse(self, value: HloValue, axes: Sequence[int]) -> HloValue:
        """Write a value with the order of elements reversed along axes."""
        return self.make("reverse", value, attrs={"dimensions": integers(axes)}) if axes else value

    def count(self, shape: Sequence[int], axis: int, dtype: DTypeLike = np.int64) -> HloValue:
        """Write the place of each element along an axis."""
        (made,) = self.make_several("iota", [], [HloValue("", tuple(shape), np.dtype(dtype))], {"iota_dimension": integer(axis)})
        return made

    def reduce(self, op: str, value: HloValue, axes: Sequence[int], first: Any, *, keep: bool = False) -> HloValue:
        """Write a reduction over axes by an op whose neutral element is `first`."""
        places = sorted(axis % len(value.shape) for axis in axes)
        left = [size for axis, size in enumerate(value.shape) if axis not in places]
        start, region = self.constant(first, value.dtype), regions.combining(op, value.dtype)
        made = self.make("reduce", value, start, shape=left, attrs={"dimensions": integers(places)}, region=region)
        return self.reshape(made, [1 if axis in places else size for axis, size in enumerate(value.shape)]) if keep else made

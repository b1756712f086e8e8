"""The text of `forward` while it is written: statements, names, and values in the forms that ops ask for."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from os.path import commonprefix
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.names import FreeNames
from ttc.dialects.core.plain.functions import Work
from ttc.exporters.graph import ModelGraph
from ttc.exporters.ttnn import weights as store
from ttc.exporters.ttnn.code import CallText, Code, call, comment, deletion, flat, literal, numbers, statement
from ttc.exporters.ttnn.merged import merged_products
from ttc.exporters.ttnn.placing import Placing
from ttc.exporters.ttnn.values import FLAT, FULL, HOST, ROWS, PlacedValue, flattened, lifted, rows_dimension, tiled_bytes
from ttc.exporters.ttnn.weights import StoredWeights

FREED_BYTES = 1 << 21
"""Tensors from this size on are let go after their last use; smaller ones live as long as the function, for the reader's sake."""
TORCH_DTYPES = frozenset(
    (
        *("float32", "float64", "float16", "bfloat16", "bool"),
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    )
)
"""Dtypes that torch has by the names of ours."""
LEAST = -1e30
"""What stands for -inf in masks: the device's exponentials take no infinities."""


class Emitter:
    """Writes the body of `forward`.

    Args:
        graph: the program; of one chip, where several divide the batch.
        whole: the program for all rows, which the host computes.
        weight_format: of weights of products and convolutions: bfloat16, bfloat8_b or float32.
        format_: of all other tensors of the device.
        placing: which memory results get.
    """

    def __init__(self, graph: ModelGraph, whole: ModelGraph, weight_format: str, format_: str, placing: Placing) -> None:
        self.graph, self.whole = graph, whole
        self.weight_format, self.format, self.placing = weight_format, format_, placing
        self.merged = merged_products(graph.function)
        self.weights = StoredWeights.empty()
        self.lines: list[str] = []
        self.values: list[PlacedValue] = []
        self._names = FreeNames("_")
        self._taken = {"device", "inputs", "weights", "torch", "ttnn", "math", "outputs", "given", "found"}
        self._users: dict[str, set[int]] = {}  # the forms of values, by their identity
        self._sizes: dict[str, int] = {}
        self._passing: list[str] = []

    # ---- statements ---------------------------------------------------------------------------------------------------------------------

    def name(self, stem: str) -> str:
        """Return a name that no other value has."""
        name = self._names.of(stem, self._taken)
        self._taken.add(name)
        return name

    def let(self, stem: str, code: Code) -> str:
        """Write `stem = code`, and return the name that it got."""
        if isinstance(code, str) and code in self._taken:
            return code
        name = self.name(stem)
        self.lines += statement(f"{name} = ", code)
        return name

    def write(self, before: str, code: Code) -> None:
        """Write a statement that names nothing new."""
        self.lines += statement(before, code)

    def say(self, text: str) -> None:
        """Write a comment behind an empty line."""
        lines = comment(text)
        if lines:
            self.lines += ["", *lines]

    def hold(self, value: PlacedValue, form: str, name: str) -> str:
        """Remember by which name a value is known in a form."""
        value.forms[form] = name
        self._users.setdefault(name, set()).add(id(value.forms))
        return name

    def pass_through(self, name: str) -> None:
        """Remember a tensor that the op being written needs on its way: `let_go` drops it unless a value has taken its name."""
        self._passing.append(name)

    def let_go(self, values: list[PlacedValue]) -> None:
        """Drop the names of values that nothing reads any more, and of what ops needed on their way, if they are large."""
        for value in values:
            for name in value.forms.values():
                self._users.get(name, set()).discard(id(value.forms))
        names = dict.fromkeys([*self._passing, *(name for value in values for name in value.forms.values())])
        gone = [name for name in names if not self._users.get(name) and self._sizes.get(name, 0) >= FREED_BYTES]
        self._passing.clear()
        for name in gone:
            self.placing.free(name)
        self.lines += deletion(gone)

    def memory(self, stem: str, shape: tuple[int, ...]) -> tuple[str, str]:
        """Return a new name, and the memory of a result of that name."""
        name = self.name(stem)
        size = tiled_bytes(shape, 4 if self.format == store.FLOAT32 else 2)
        self._sizes[name] = size
        return name, self.placing.place(name, size)

    # ---- values in the form that is asked for -------------------------------------------------------------------------------------------

    def full(self, value: PlacedValue) -> str:
        """Return the name of a value on the device, in tiles, in its own shape."""
        if FULL in value.forms:
            return value.forms[FULL]
        if value.leaf is not None:
            return self.weight(value, "full", self.graph.leaf(value.leaf).reshape(lifted(value.shape)), format_=self.format)
        if FLAT in value.forms:
            name, place = self.memory("image", value.shape)
            self.write(f"{name} = ", call("ttnn.reshape", value.forms[FLAT], numbers(lifted(value.shape)), memory_config=place))
            return self.hold(value, FULL, name)
        if ROWS in value.forms:
            return self.hold(value, FULL, self.let("tiles", call("ttnn.to_layout", value.forms[ROWS], "ttnn.TILE_LAYOUT")))
        return self.hold(value, FULL, self.upload(value, store.TILES))

    def flat(self, value: PlacedValue) -> str:
        """Return the name of an image on the device as one row of pixels."""
        if FLAT in value.forms:
            return value.forms[FLAT]
        if value.leaf is not None:
            return self.weight(value, "flat", self.graph.leaf(value.leaf).reshape(flattened(value.shape)), format_=self.format)
        source = self.full(value)
        name, place = self.memory("pixels", flattened(value.shape))
        self.write(f"{name} = ", call("ttnn.reshape", source, numbers(flattened(value.shape)), memory_config=place))
        return self.hold(value, FLAT, name)

    def pixels(self, value: PlacedValue) -> str:
        """Return the name of an image as convolutions and pools read it: one row of pixels, or without tiles as the host sent it."""
        if value.on_device or value.leaf is not None:
            return self.flat(value)
        return self.hold(value, ROWS, self.upload(value, store.ROW_MAJOR))

    def host(self, value: PlacedValue) -> str:
        """Return the name of a value as a tensor of torch on the host, with the rows of all chips."""
        if HOST in value.forms:
            return value.forms[HOST]
        held = value.on_host
        if held.leaf is not None:
            array = self.whole.leaf(held.leaf)
            known = array if str(array.dtype) in TORCH_DTYPES else array.astype(np.float32)
            return self.weight(held, "host", known, place=store.HOST)
        form = next(form for form in (FULL, ROWS, FLAT) if form in value.forms)
        name = self.let("host", f"{flat(self._download(value, form))}.to(torch.{value.dtype})")
        if value.is_flat or len(value.shape) < 2:
            name = self.let("host", call(f"{name}.reshape", numbers(held.shape)))
        return self.hold(value, HOST, name)

    def _download(self, value: PlacedValue, form: str) -> Code:
        """Return the transfer of a value to the host; what every chip has all of comes once."""
        if not self.is_divided:
            return call("ttnn.to_torch", value.forms[form])
        rows = rows_dimension(value, form)
        text = flat(call("to_host", "device", value.forms[form], *(() if rows in (None, 0) else (str(rows),))))
        return text if rows is not None else f"{text}[: {lifted(value.shape)[0] if form != FLAT else 1}]"

    def upload(self, value: PlacedValue, layout: str, dtype: str | None = None, source: str | None = None) -> str:
        """Write the transfer of a value, or of an expression made of it, from the host; returns the name that it has there."""
        source = self.host(value) if source is None else source
        rows = rows_dimension(value, FULL)
        if len(value.shape) < 2:
            source = f"{source}.reshape({flat(numbers(lifted(value.on_host.shape)))})"
        made = call(
            "to_device",
            "device",
            source,
            *(() if layout == store.TILES and dtype is None else (f"ttnn.{layout}",)),
            *(() if dtype is None else (f"ttnn.{dtype}",)),
            rows=None if rows is None else str(rows),
        )
        name = self.let("sent", made)
        self._sizes[name] = tiled_bytes(value.shape)
        return name

    @property
    def is_divided(self) -> bool:
        """Whether several chips divide the batch."""
        return self.whole is not self.graph

    def weight(
        self,
        value: PlacedValue,
        form: str,
        array: NDArray,
        *,
        format_: str = store.FLOAT32,
        place: str = store.DEVICE,
        layout: str = store.TILES,
    ) -> str:
        """Return the expression of a weight in a form; it is stored when it is first asked for."""
        leaf = value.leaf
        stem = "" if leaf is None else str(leaf.attrs.get("key") or "constant")
        key = (str(id(leaf)) if leaf is None or "key" not in leaf.attrs else stem, form)
        name = self.weights.name_of(key)
        if name is None:
            name = self.weights.add(stem, key, array, format_, layout, place)
        return f"weights[{literal(name)}]"

    def joint_weight(self, kind: str, leaves: Sequence[Work], array: NDArray, format_: str) -> str:
        """Return the expression of a weight on the device that was made of several; kind: of it, behind what their names have in common."""
        keys = [str(leaf.attrs.get("key", "")) for leaf in leaves]
        stem = commonprefix(keys).rpartition(".")[0]
        name = self.weights.add(
            f"{stem}.merged.{kind}" if stem else f"merged.{kind}", (*keys, kind), array, format_, store.TILES, store.DEVICE
        )
        return f"weights[{literal(name)}]"


class OpText:
    """One op while its text is written: what rules ask, and what they give.

    Args:
        emitter: the text.
        work: the op.
        operands: its values; None where one is absent.
        results: values to be given names.
    """

    def __init__(self, emitter: Emitter, work: Work, operands: list[PlacedValue | None], results: list[PlacedValue]) -> None:
        self.emitter, self.work, self.operands, self.results = emitter, work, operands, results

    def on_host(self, whole: Work) -> OpText:
        """Return the op as the host computes it, with the rows of all chips.  whole: its work there."""
        operands = [None if value is None else value.on_host for value in self.operands]
        return OpText(self.emitter, whole, operands, [value.on_host for value in self.results])

    def operand(self, index: int) -> PlacedValue:
        """Return an operand that is present."""
        value = self.operands[index] if index < len(self.operands) else None
        if value is None:
            raise Elsewhere(f"operand {index} is absent")
        return value

    def has(self, index: int) -> bool:
        """Return whether an operand is present."""
        return index < len(self.operands) and self.operands[index] is not None

    @property
    def present(self) -> list[PlacedValue]:
        """The operands that are there."""
        return [value for value in self.operands if value is not None]

    @property
    def stem(self) -> str:
        """The op's mnemonic as a name of Python."""
        name = self.work.op.removeprefix("nn.")
        return f"{name}_" if name in ("and", "or", "not") else name

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the first result."""
        return self.results[0].shape

    def axis(self, name: str = "axis", rank: int | None = None) -> int:
        """Return an axis of an attribute, counted from the end: it is the same in tensors that were given more dimensions."""
        axis = cast("int", self.work.attrs[name])
        rank = len(self.operand(0).shape) if rank is None else rank
        return axis if axis < 0 else axis - rank

    def scalar(self, index: int, beside: int) -> int | float | None:
        """Return an operand that is one constant number, as that; None for any other.

        Args:    beside: the operand that the result has its rank of: a constant of more dimensions than it would add some.
        """
        value = self.operand(index)
        if value.leaf is None or prod(value.shape) != 1 or len(value.shape) > max(2, len(self.operand(beside).shape)):
            return None
        return self.emitter.graph.leaf(value.leaf).reshape(()).item()

    def array(self, index: int) -> NDArray:
        """Return the value of a constant operand.  Raises Elsewhere for one that is computed."""
        value = self.operand(index)
        if value.leaf is None:
            raise Elsewhere(f"operand {index} is no constant")
        return self.emitter.graph.leaf(value.leaf)

    def full(self, index: int) -> str:
        """Return an operand on the device in its own shape."""
        return self.emitter.full(self.operand(index))

    def flat(self, index: int) -> str:
        """Return an operand on the device as one row of pixels."""
        return self.emitter.flat(self.operand(index))

    def host(self, index: int) -> str:
        """Return an operand on the host."""
        return self.emitter.host(self.operand(index))

    def as_it_lies(self, index: int) -> tuple[str, str]:
        """Return the form in which the device holds an operand, FLAT or FULL, and its name in that."""
        return (FLAT, self.flat(index)) if self.operand(index).is_flat else (FULL, self.full(index))

    def give(self, code: CallText, form: str = FULL, index: int = 0, *, stem: str | None = None) -> str:
        """Write the op's call, with the memory of its result."""
        value = self.results[index]
        name = self._write(stem or self.stem, code, flattened(value.shape) if form == FLAT else value.shape)
        return self.emitter.hold(value, form, name)

    def keep(self, stem: str, code: CallText, shape: tuple[int, ...]) -> str:
        """Write a call whose result other ops read, too: it lives until the emitter's `pass_through` is told of it."""
        return self._write(stem, code, shape)

    def let(self, stem: str, code: CallText, shape: tuple[int, ...] | None = None) -> str:
        """Write a call whose result is on the way to the op's own.  shape: of it; None: that of the op's result."""
        name = self.keep(stem, code, self.shape if shape is None else shape)
        self.emitter.pass_through(name)
        return name

    def _write(self, stem: str, code: CallText, shape: tuple[int, ...]) -> str:
        name, place = self.emitter.memory(stem, shape)
        self.emitter.write(f"{name} = ", CallText(code.callee, code.arguments, (*code.keywords, ("memory_config", place)), code.brackets))
        return name

    def same(self, form: str, name: str, index: int = 0) -> None:
        """Give a result the name of a value that there is."""
        self.emitter.hold(self.results[index], form, name)

    def torch(self, code: Code, index: int = 0) -> None:
        """Write a computation on the host."""
        self.emitter.hold(self.results[index], HOST, self.emitter.let(self.stem, code))


class Elsewhere(Exception):
    """An op that a rule does not take, and why: another kind of rule may."""


def ints(step: OpText, name: str) -> tuple[int, ...]:
    """Return an attribute that is a list of whole numbers; an absent one is empty."""
    return tuple(cast("tuple[int, ...]", step.work.attrs.get(name) or ()))


def floats(step: OpText, name: str) -> tuple[float, ...]:
    """Return an attribute that is a list of numbers; an absent one is empty."""
    return tuple(cast("tuple[float, ...]", step.work.attrs.get(name) or ()))

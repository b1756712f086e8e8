"""The text of `forward` while it is written: statements, names, and values in the forms that ops ask for."""

from __future__ import annotations

from collections.abc import Sequence
from os.path import commonprefix

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.names import FreeNames
from ttc.dialects.core.plain.functions import Work, numbered
from ttc.exporters.graph import ModelGraph
from ttc.exporters.ttnn import weights as store
from ttc.exporters.ttnn.caches import NO_CACHES, TURN, caches_of
from ttc.exporters.ttnn.code import Code, call, comment, deletion, flat, literal, numbers, statement
from ttc.exporters.ttnn.merged import merged_products
from ttc.exporters.ttnn.placing import Placing
from ttc.exporters.ttnn.precision import Precision
from ttc.exporters.ttnn.values import FLAT, FULL, HOST, ROWS, TURNED, PlacedValue, flattened, in_tiles, lifted, rows_dimension, tiled_bytes
from ttc.exporters.ttnn.weights import StoredWeight, StoredWeights

FREED_BYTES = 1 << 21
"""The least bytes of tensors that are let go after their last use; smaller ones live as long as the function, for the reader's sake."""
TORCH_DTYPES = frozenset(
    (
        *("float32", "float64", "float16", "bfloat16", "bool"),
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    )
)
"""Dtypes that torch has by the names of ours."""
LEAST = -1e30
"""The number that stands for -inf in masks: the device's exponentials take no infinities."""


class Emitter:
    """Writes the body of `forward`.

    Args:
        graph: the program; of one chip, where several divide the batch.
        whole: the program for all rows, which the host computes.
        precision: formats of tensors, and passes of the multiplier.
        placing: which memory results get.
        weights: what programs of one module read.
    """

    def __init__(self, graph: ModelGraph, whole: ModelGraph, precision: Precision, placing: Placing, weights: StoredWeights) -> None:
        self.graph, self.whole = graph, whole
        self.precision, self.format, self.placing = precision, precision.other, placing
        self.merged = merged_products(graph.function, precision)
        self.caches = caches_of(graph) if self.format == store.BFLOAT16 else NO_CACHES  # TT-NN's are of 16 bits
        self.weights = weights
        self.lines: list[str] = []
        self.values: list[PlacedValue] = []
        self._names = FreeNames("_")
        self._taken = {"device", "inputs", "weights", "torch", "ttnn", "math", "outputs", "given", "found"}
        self._users: dict[str, set[int]] = {}  # the forms of values, by their identity
        self._sizes: dict[str, int] = {}
        self._passing: list[str] = []
        self._updated: set[str] = set()
        self._places = {id(work): number for work, number in numbered(graph.function)}

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
            shape = self.stored_shape(value)
            rows = None if value.parts is None else value.parts + len(lifted(shape)) - len(shape)
            return self.weight(value, "full", self.graph.leaf(value.leaf).reshape(lifted(shape)), format_=self.format, rows=rows)
        if FLAT in value.forms:
            name, place = self.memory("image", value.shape)
            self.write(f"{name} = ", call("ttnn.reshape", value.forms[FLAT], numbers(lifted(value.shape)), memory_config=place))
            return self.hold(value, FULL, name)
        if TURNED in value.forms:
            name, place = self.memory("turned", value.shape)
            self.write(f"{name} = ", call("ttnn.permute", value.forms[TURNED], numbers(TURN), memory_config=place))
            return self.hold(value, FULL, name)
        if ROWS in value.forms:
            return self.hold(value, FULL, self.let("tiles", call("ttnn.to_layout", value.forms[ROWS], "ttnn.TILE_LAYOUT")))
        return self.hold(value, FULL, self.upload(value, store.TILES))

    def stored_shape(self, value: PlacedValue) -> tuple[int, ...]:
        """Return the shape of a constant in the file, which holds the parts of all chips."""
        return value.shape if value.parts is None else value.on_host.shape

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
        if TURNED in value.forms:
            self.full(value)
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
        return text if rows is not None else f"{text}[:{lifted(value.shape)[0] if form != FLAT else 1}]"

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

    def send(self, stem: str, source: str, layout: str = store.TILES, dtype: str | None = None) -> str:
        """Write the transfer of what the host computed beside the program's values; returns the name that it has on the device."""
        more = (() if layout == store.TILES and dtype is None else (f"ttnn.{layout}",)) + (() if dtype is None else (f"ttnn.{dtype}",))
        return self.let(stem, call("to_device", "device", source, *more))

    @property
    def variables(self) -> list[str]:
        """The names of the program's variables."""
        return [str(work.attrs["sym"]) for work in self.graph.function.works if work.op == "ttc.state"]

    @property
    def cached(self) -> list[str]:
        """The names of variables that are written in place, rows at a time: doing it twice changes nothing."""
        return [str(leaf.attrs["sym"]) for leaf in self.graph.function.works if id(leaf) in self.caches.leaves]

    # ---- variables ----------------------------------------------------------------------------------------------------------------------

    def variable(self, value: PlacedValue) -> None:
        """Name a variable by where it lies between runs: numbers of the device's formats there, others on the host."""
        form, name = (FULL, self.full(value)) if value.is_float else (HOST, self.host(value))
        value.leaf, value.is_state = None, True
        self.hold(value, form, name)

    def cache(self, leaf: Work) -> str:
        """Return the expression of a cache on the device, [b, heads, places, width] in whole tiles."""
        parts = leaf.attrs.get("parts")
        batch, places, heads, width = leaf.results[0].shape
        heads *= 1 if parts is None else self.graph.chips
        rows = None if parts is None else 1
        stem, shape = str(leaf.attrs.get("key") or leaf.attrs["sym"]), (batch, heads, in_tiles(places), in_tiles(width))
        key = (stem, "cache")
        name = self.weights.name_of(key)
        if name is not None:
            return f"weights[{literal(name)}]"
        array = self.graph.leaf(leaf).transpose(TURN)
        if not array.any():
            name = self.weights.add_cache(stem, key, shape, rows)
        else:
            margins = [(0, wide - size) for wide, size in zip(shape, array.shape, strict=True)]
            stored = StoredWeight.of(np.pad(array, margins), self.format, store.TILES, store.DEVICE, rows)
            name = self.weights.add(stem, key, stored)
        return f"weights[{literal(name)}]"

    def result_of(self, work: Work) -> PlacedValue:
        """Return the first result of an op that was written before, or is being written."""
        return self.values[self._places[id(work)]]

    def update(self, name: str, value: PlacedValue, variable: PlacedValue) -> None:
        """Write the new value of a variable over the old one."""
        if TURNED in value.forms or value is variable:
            return  # a cache, which has it already
        form = FULL if variable.is_float else HOST
        source = self.full(value) if variable.is_float else self.host(value)
        if source in self._updated:
            raise Error("E0503", f"variable '{name}' takes the old value of another one, which is written over")
        self._updated.add(variable.forms[form])
        if variable.is_float:
            self.write("", call("ttnn.copy", source, variable.forms[FULL]))
        else:
            self.write(f"{variable.forms[HOST]} = ", source)

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
        rows: int | None = None,
    ) -> str:
        """Return the expression of a weight in a form; it is stored when it is first asked for.  rows: the dimension that chips divide."""
        leaf = value.leaf
        named = None if leaf is None else leaf.attrs.get("key") or leaf.attrs.get("sym")
        stem = "" if leaf is None else str(named or "constant")
        columns = "" if leaf is None else str(leaf.attrs.get("columns", ""))
        key = (stem if named else str(id(leaf)), f"{form} {rows} {columns}")
        name = self.weights.name_of(key)
        if name is None:
            name = self.weights.add(stem, key, StoredWeight.of(array, format_, layout, place, rows))
        return f"weights[{literal(name)}]"

    def made_weight(self, stem: str, array: NDArray) -> str:
        """Return the expression of a constant that a rule needs, and the program has not: it is stored once by its name."""
        name = self.weights.name_of((stem, "made"))
        if name is None:
            name = self.weights.add(stem, (stem, "made"), StoredWeight.of(array, self.format, store.TILES, store.DEVICE))
        return f"weights[{literal(name)}]"

    def joint_weight(self, kind: str, leaves: Sequence[Work], array: NDArray, format_: str, rows: int | None = None) -> str:
        """Return the expression of a weight on the device that was made of several; kind: of it, behind what their names have in common."""
        keys = [str(leaf.attrs.get("key", "")) for leaf in leaves]
        stem = commonprefix(keys).rpartition(".")[0]
        name = self.weights.name_of((*keys, kind))
        if name is None:
            stored = StoredWeight.of(array, format_, store.TILES, store.DEVICE, rows)
            name = self.weights.add(f"{stem}.merged.{kind}" if stem else f"merged.{kind}", (*keys, kind), stored)
        return f"weights[{literal(name)}]"

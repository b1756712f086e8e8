"""A TFLite model as plain data: its graphs, and where in the file their tensors' values lie.  Nothing is read but what describes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.importers.common.builder import MAX_ELEMENTS, MAX_RANK
from ttc.importers.tflite.flatbuffer import Buffer, FlatReader, FlatTable, Span
from ttc.importers.tflite.schema import (
    CUSTOM_OPTIONS,
    ENUMS,
    HINTS,
    IDENTIFIER,
    OPERATORS,
    PACKED,
    TENSOR_TYPES,
    VERSION,
    Field,
    options_of,
)

Ints: TypeAlias = tuple[int, ...]
ABSENT = -1
"""The index that stands for an optional operand that is not given."""


@record
class Quantization:
    """How integers of a tensor stand for real numbers: (q - zero) * scale; one scale and zero, or one a slice along the axis."""

    scales: tuple[float, ...]
    zeros: Ints
    axis: int

    def same_step(self, other: Quantization | None) -> bool:
        """Return whether both have one scale and zero, and these are the same."""
        return other is not None and len(self.scales) == 1 and (self.scales, self.zeros) == (other.scales, other.zeros)


@record
class Level:
    """One dimension of a sparse tensor in the order of storage: its size, and for a sparse one its segments and indices."""

    size: int
    segments: NDArray | None
    indices: NDArray | None


@record
class Sparsity:
    """The storage of a sparse tensor: order of its dimensions and then those of its blocks, which dimensions have blocks, and the
    levels.
    """

    order: Ints
    blocks: Ints
    levels: tuple[Level, ...]


@record
class Tensor:
    """A tensor of a graph.

    Args:
        name: unique among those of its graph.
        kind: of schema.TENSOR_TYPES.
        shape: sizes; -1 where the model leaves them open.
        data: where its value lies in the file, if it is a constant.
        external: whether its value lies in another file.
        variable: whether it keeps its value from run to run.
    """

    name: str
    kind: str
    shape: Ints
    data: Span | None
    external: bool
    quantization: Quantization | None
    variable: bool
    sparsity: Sparsity | None

    @property
    def is_empty(self) -> bool:
        return 0 in self.shape


@record
class Operator:
    """An operator of a graph.  op: of schema.OPERATORS; inputs, outputs: indices of tensors; options: by the schema's names, enumerations
    as text.
    """

    op: str
    custom: str
    version: int
    inputs: Ints
    outputs: Ints
    options: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """The name by which mappings know the operator: for a custom op its own name, too."""
        return f"CUSTOM:{self.custom[:60]}" if self.op == "CUSTOM" else self.op


@record
class Graph:
    """A graph of a model.  inputs, outputs: indices of tensors; operators: in the order in which they run."""

    name: str
    tensors: tuple[Tensor, ...]
    inputs: Ints
    outputs: Ints
    operators: tuple[Operator, ...]


@record
class GraphSignature:
    """A name for a graph, and its own names for the graph's inputs and outputs, by index of their tensors: one may have several."""

    key: str
    graph: int
    inputs: Mapping[int, Sequence[str]]
    outputs: Mapping[int, Sequence[str]]


@record
class Model:
    """A TFLite model.  data: the whole file; graphs: the first is the one that runs, which calls the others."""

    data: Buffer
    graphs: tuple[Graph, ...]
    signatures: tuple[GraphSignature, ...]


def parse(data: Buffer) -> Model:
    """Read a TFLite model.  Raises E0201, E0203."""
    if len(data) < 8 or data[4:8] != IDENTIFIER:
        raise Error("E0201", f"not a TFLite model: it lacks the identifier '{IDENTIFIER.decode()}'")
    root = FlatReader(data).root()
    if root.whole(0, "u4") != VERSION:
        raise Error("E0201", f"a TFLite model of schema version {root.whole(0, 'u4')}, not {VERSION}")
    codes = [_code(t) for t in root.tables(1)]
    buffers = [_span(t, len(data)) for t in root.tables(4)]
    graphs = tuple(_graph(t, i, codes, buffers) for i, t in enumerate(root.tables(2)))
    if not graphs:
        raise Error("E0203", "the model has no graph")
    return Model(data, graphs, tuple(_signature(t, graphs) for t in root.tables(7)))


def _code(table: FlatTable) -> tuple[str, str, int]:
    """Op, name of a custom one, version.  Codes below 127 stand in the first field of files of any age."""
    number = max(table.whole(0, "i1"), table.whole(3, "i4"))
    op = OPERATORS[number] if 0 <= number < len(OPERATORS) else f"op {number}"
    return op, table.text(1), table.whole(2, "i4", 1)


def _span(table: FlatTable, size: int) -> Span | None:
    """Return where a buffer lies: in a vector of its own, or behind the flatbuffer.  Raises E0201."""
    offset, count = table.whole(1, "u8"), table.whole(2, "u8")
    if offset > 1:
        if offset + count > size:
            raise Error("E0201", f"a buffer of {count} bytes at {offset} lies past the end of the file ({size} bytes)")
        return Span(offset, count) if count else None
    found = table.span(0)
    return found if found is not None and found.size else None


def _graph(table: FlatTable, number: int, codes: list[tuple[str, str, int]], buffers: list[Span | None]) -> Graph:
    name = table.text(4) or f"subgraph {number}"
    taken: dict[str, int] = {}
    tensors = tuple(_tensor(t, i, taken, buffers) for i, t in enumerate(table.tables(0)))
    inputs, outputs = (_indices(table.ints(field), len(tensors), f"{name}: {what}") for field, what in ((1, "inputs"), (2, "outputs")))
    if len(set(inputs)) != len(inputs):
        raise Error("E0203", f"{name}: a tensor is two of its inputs")
    operators = tuple(_operator(t, f"{name}: operator {i}", codes, len(tensors)) for i, t in enumerate(table.tables(3)))
    return Graph(name, tensors, inputs, outputs, operators)


def _indices(found: Ints | None, count: int, what: str, *, optional: bool = False) -> Ints:
    """Return indices of tensors.  Raises E0203 for one that there is not."""
    for index in found or ():
        if not (0 <= index < count or (optional and index == ABSENT)):
            raise Error("E0203", f"{what} name tensor {index} of {count}")
    return found or ()


# ---- tensors ---------------------------------------------------------------------------------------------------------------------


def _tensor(table: FlatTable, index: int, taken: dict[str, int], buffers: list[Span | None]) -> Tensor:
    name = _unique(table.text(3) or f"tensor {index}", taken)
    number, buffer = table.whole(1, "i1"), table.whole(2, "u4")
    if not 0 <= number < len(TENSOR_TYPES):
        raise Error("E0203", f"tensor '{name}' is of unknown type {number}")
    if buffer >= len(buffers) and buffer:
        raise Error("E0203", f"tensor '{name}' has its value in buffer {buffer} of {len(buffers)}")
    shape = _shape(table.ints(0), table.ints(7), name)
    quantization = table.table(4)
    sparsity = table.table(6)
    return Tensor(
        name,
        TENSOR_TYPES[number],
        shape,
        buffers[buffer] if buffer else None,
        table.whole(10, "u4") != 0,
        None if quantization is None else _quantization(quantization, TENSOR_TYPES[number], shape, name),
        bool(table.scalar(5, "b1")),
        None if sparsity is None else _sparsity(sparsity),
    )


def _unique(name: str, taken: dict[str, int]) -> str:
    """Return the name, with a number if it is taken."""
    while name in taken:
        taken[name] += 1
        name = f"{name}.{taken[name]}"
    taken[name] = 0
    return name


def _shape(shape: Ints | None, signature: Ints | None, name: str) -> Ints:
    """Sizes, -1 where the signature leaves them open.  Raises E0203."""
    shape = shape or ()
    if signature is not None and len(signature) == len(shape):
        shape = tuple(-1 if s == -1 else d for d, s in zip(shape, signature, strict=True))
    if len(shape) > MAX_RANK or min(shape, default=0) < -1 or prod(max(d, 1) for d in shape) > MAX_ELEMENTS:
        raise Error("E0203", f"tensor '{name}' has an impossible shape: {list(shape[:40])}")
    return shape


def _quantization(table: FlatTable, kind: str, shape: Ints, name: str) -> Quantization | None:
    """None where scales are missing: the tensor holds plain numbers.  Raises E0203."""
    scales, zeros = table.numbers(2, "f4"), table.numbers(3, "i8")
    if scales is None or not scales.size or kind not in _CODES:
        return None
    axis = table.whole(6, "i4")
    counts = {scales.size} if zeros is None or not zeros.size else {scales.size, zeros.size}
    if table.whole(4, "u1"):
        raise Error("E0202", f"tensor '{name}' is quantized in a way of its own, or by blocks", hint="only scales of an axis are supported")
    if len(counts) > 1 or (scales.size > 1 and (not 0 <= axis < len(shape) or shape[axis] != scales.size)):
        raise Error("E0203", f"tensor '{name}' has {scales.size} scales along axis {axis} of {list(shape)}")
    if not np.all(np.isfinite(scales) & (scales > 0)):
        raise Error("E0203", f"tensor '{name}' has a scale that is not a positive number")
    low, high = _CODES[kind]
    if zeros is not None and zeros.size and not low <= int(zeros.min()) <= int(zeros.max()) <= high:
        raise Error("E0203", f"tensor '{name}' has a zero point outside its type, {kind}")
    found = tuple(zeros.tolist()) if zeros is not None and zeros.size else (0,) * scales.size
    return Quantization(tuple(scales.tolist()), found, axis if scales.size > 1 else 0)


def _range(bits: int, *, signed: bool) -> tuple[int, int]:
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)


_CODES = {name: _range(bits, signed=signed) for name, (bits, signed) in PACKED.items()} | {
    name: _range(bits, signed=signed)
    for name, bits, signed in (
        ("INT8", 8, True),
        ("UINT8", 8, False),
        ("INT16", 16, True),
        ("UINT16", 16, False),
        ("INT32", 32, True),
        ("INT64", 64, True),
    )
}
"""Ranges of the types that quantized tensors have."""


def _sparsity(table: FlatTable) -> Sparsity:
    levels: list[Level] = []
    for entry in table.tables(2):
        if entry.whole(0, "i1") == 0:
            levels.append(Level(entry.whole(1, "i4"), None, None))
            continue
        segments, indices = (_places(entry, field) for field in (2, 4))
        levels.append(Level(0, segments, indices))
    return Sparsity(table.ints(0) or (), table.ints(1) or (), tuple(levels))


def _places(table: FlatTable, field: int) -> NDArray:
    """Return a vector in one of three widths.  Raises E0203."""
    width = {1: "i4", 2: "u2", 3: "u1"}.get(table.whole(field, "u1"))
    inner = table.table(field + 1)
    found = None if width is None or inner is None else inner.numbers(0, width)
    if found is None:
        raise Error("E0203", "a sparse tensor lacks its indices")
    return found


# ---- operators -------------------------------------------------------------------------------------------------------------------


def _operator(table: FlatTable, what: str, codes: list[tuple[str, str, int]], tensors: int) -> Operator:
    code = table.whole(0, "u4")
    if code >= len(codes):
        raise Error("E0203", f"{what} is of op code {code} of {len(codes)}")
    op, custom, version = codes[code]
    inputs = _indices(table.ints(1), tensors, f"{what} ({op}): inputs", optional=True)
    outputs = _indices(table.ints(2), tensors, f"{what} ({op}): outputs")
    options = _custom_options(table, custom, what) if op == "CUSTOM" else _options(table, op, what)
    return Operator(op, custom, version, inputs, outputs, options)


def _custom_options(table: FlatTable, custom: str, what: str) -> dict[str, Any]:
    """Return the words of a custom op that has a definition; none of another.  Raises E0203."""
    fields = CUSTOM_OPTIONS.get(custom, "").split()
    data = table.numbers(5, "u1") if fields else None
    if not fields:
        return {}
    if data is None or data.size < 4 * len(fields):
        raise Error("E0203", f"{what} ({custom}) lacks its options")
    words = np.frombuffer(data.tobytes(), "<i4", len(fields)).tolist()
    found: dict[str, Any] = dict(zip(fields, words, strict=True))
    for name in ENUMS.keys() & found.keys():
        if not 0 <= found[name] < len(ENUMS[name]):
            raise Error("E0203", f"{what}: {name} has the unknown value {found[name]}")
        found[name] = ENUMS[name][found[name]]
    return {name.removeprefix("custom_"): value for name, value in found.items()}


def _options(table: FlatTable, op: str, what: str) -> dict[str, Any]:
    """Return the op's options, each its default where the table or the field is absent.  Raises E0203 for a table of another op."""
    wanted = options_of(op)
    if wanted is None:
        return {}
    kind = table.whole(11 if wanted.second else 3, "u1")
    if kind not in (0, wanted.table):
        raise Error("E0203", f"{what} ({op}) has the options of another op")
    options = table.table(12 if wanted.second else 4) if kind else None
    return {f.name: _option(options, i, f, what) for i, f in enumerate(wanted.fields) if f.name not in HINTS}


def _option(table: FlatTable | None, number: int, field: Field, what: str) -> Any:
    if field.kind == "text":
        return "" if table is None else table.text(number)
    if field.kind.startswith("["):
        kind = field.kind[1:-1]
        found = None if table is None else table.numbers(number, kind)
        if found is not None and found.size > 1 << 16:
            raise Error("E0203", f"{what}: {field.name} has {found.size} values")
        return None if found is None else tuple(found.tolist())
    names = ENUMS.get(field.kind)
    value = field.default if table is None else table.scalar(number, field.kind if names is None else "i1", field.default)
    if names is None:
        return value if field.kind == "f4" else bool(value) if field.kind == "b1" else int(value)
    if not 0 <= int(value) < len(names):
        raise Error("E0203", f"{what}: {field.name} has the unknown value {int(value)}")
    return names[int(value)]


def _signature(table: FlatTable, graphs: tuple[Graph, ...]) -> GraphSignature:
    graph, key = table.whole(4, "u4"), table.text(2)
    if graph >= len(graphs):
        raise Error("E0203", f"signature '{key}' is of graph {graph} of {len(graphs)}")
    names: tuple[dict[int, list[str]], dict[int, list[str]]] = {}, {}
    for field, found in enumerate(names):
        for entry in table.tables(field):
            found.setdefault(entry.whole(1, "u4"), []).append(entry.text(0))
    return GraphSignature(key, graph, *names)

"""Writes TFLite models of a few operators: flatbuffers laid out forwards, each table before what it points to."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttc.importers.tflite.schema import CUSTOM_OPTIONS, ENUMS, IDENTIFIER, OPERATORS, TENSOR_TYPES, VERSION, options_of

LEAST_VERSIONS = {"BROADCAST_TO": 2}
"""Of ops that TensorFlow's interpreter does not have in version 1."""
CODES = {"b1": "?", "i1": "b", "u1": "B", "u2": "H", "i4": "i", "u4": "I", "i8": "q", "u8": "Q", "f4": "f"}


@dataclass(frozen=True)
class Scalar:
    kind: str
    value: float


@dataclass(frozen=True)
class Vector:
    """Numbers; align: of the first one, in bytes."""

    kind: str
    values: NDArray
    align: int = 8


Content: TypeAlias = "Scalar | Vector | str | Mapping[int, Any] | Sequence[Mapping[int, Any]]"
"""Of a field: a number, numbers, text, a table by number of field, or tables."""


def flatbuffer(root: Mapping[int, Any]) -> bytearray:
    out = bytearray(4) + IDENTIFIER
    struct.pack_into("<I", out, 0, _table(out, root))
    return out


def _pad(out: bytearray, rest: int, align: int) -> None:
    """Until the length leaves that rest."""
    out.extend(b"\0" * ((rest - len(out)) % align))


def _table(out: bytearray, fields: Mapping[int, Content]) -> int:
    sizes = {f: struct.calcsize(CODES[c.kind]) if isinstance(c, Scalar) else 4 for f, c in fields.items()}
    vtable_bytes = 4 + 2 * (max(fields, default=-1) + 1)
    _pad(out, 0, 2)
    vtable = len(out)
    out.extend(bytes(vtable_bytes))
    _pad(out, 4, 8)
    at = len(out)
    out.extend(struct.pack("<i", at - vtable))
    places: dict[int, int] = {}
    for number in sorted(fields, key=lambda f: -sizes[f]):
        content = fields[number]
        places[number] = len(out)
        out.extend(struct.pack("<" + CODES[content.kind], content.value) if isinstance(content, Scalar) else bytes(4))
    struct.pack_into("<HH", out, vtable, vtable_bytes, len(out) - at)
    for number, place in places.items():
        struct.pack_into("<H", out, vtable + 4 + 2 * number, place - at)
        if not isinstance(fields[number], Scalar):
            struct.pack_into("<I", out, place, _child(out, fields[number]) - place)
    return at


def _child(out: bytearray, content: Any) -> int:
    if isinstance(content, str):
        data = content.encode()
        _pad(out, 0, 4)
        at = len(out)
        out.extend(struct.pack("<I", len(data)) + data + b"\0")
        return at
    if isinstance(content, Vector):
        _pad(out, -4, content.align)
        at = len(out)
        out.extend(struct.pack("<I", content.values.size) + content.values.tobytes())
        return at
    if isinstance(content, Mapping):
        return _table(out, content)
    _pad(out, 0, 4)
    at = len(out)
    out.extend(struct.pack("<I", len(content)) + bytes(4 * len(content)))
    for i, entry in enumerate(content):
        place = at + 4 + 4 * i
        struct.pack_into("<I", out, place, _table(out, entry) - place)
    return at


def numbers(kind: str, *values: float) -> Vector:
    return Vector(kind, np.array(values, "bool" if kind == "b1" else kind))


# ---- models ----------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tensor:
    """data: of a constant, as it is stored.  signature: shape with -1 where it is open."""

    name: str
    shape: tuple[int, ...] = ()
    kind: str = "FLOAT32"
    data: NDArray | bytes | None = None
    scale: Sequence[float] = ()
    zero: Sequence[int] = ()
    axis: int = 0
    signature: tuple[int, ...] = ()
    variable: bool = False
    sparsity: Mapping[int, Any] | None = None
    outside: bool = False


@dataclass(frozen=True)
class Op:
    """inputs, outputs: names of tensors, None for an absent one, or their indices."""

    op: str
    inputs: Sequence[str | int | None]
    outputs: Sequence[str | int]
    options: Mapping[str, Any] = field(default_factory=dict)
    custom: str = ""


@dataclass(frozen=True)
class Graph:
    tensors: Sequence[Tensor]
    inputs: Sequence[str | int]
    outputs: Sequence[str | int]
    ops: Sequence[Op]


@dataclass(frozen=True)
class Signature:
    """inputs, outputs: names by the names of tensors, one or several."""

    inputs: Mapping[str, str | Sequence[str]]
    outputs: Mapping[str, str | Sequence[str]]
    graph: int = 0


def model(*graphs: Graph, signatures: Sequence[Signature] = ()) -> bytes:
    """The file.  Values of tensors that are `outside` lie behind the flatbuffer."""
    kinds = sorted({(op.op, op.custom) for graph in graphs for op in graph.ops})
    buffers: list[dict[int, Any]] = [{}]
    behind: list[tuple[int, bytes]] = []
    tables = [_graph(graph, kinds, buffers, behind) for graph in graphs]
    root: dict[int, Any] = {
        0: Scalar("u4", VERSION),
        1: [_code(op, custom) for op, custom in kinds],
        2: tables,
        4: buffers,
        7: [_signature(s, graphs[s.graph]) for s in signatures],
    }
    size = len(flatbuffer(root))
    for number, data in behind:
        buffers[number] = {1: Scalar("u8", size), 2: Scalar("u8", len(data))}
        size += len(data)
    return bytes(flatbuffer(root)) + b"".join(data for _, data in behind)


def _code(op: str, custom: str) -> dict[int, Any]:
    number = OPERATORS.index(op)
    version = LEAST_VERSIONS.get(op, 1)
    found: dict[int, Any] = {0: Scalar("i1", min(number, 127)), 2: Scalar("i4", version), 3: Scalar("i4", number)}
    return {**found, 1: custom} if custom else found


def _graph(graph: Graph, kinds: list[tuple[str, str]], buffers: list[dict[int, Any]], behind: list[tuple[int, bytes]]) -> dict[int, Any]:
    return {
        0: [_tensor(t, buffers, behind) for t in graph.tensors],
        1: _indices(graph, graph.inputs),
        2: _indices(graph, graph.outputs),
        3: [_op(op, graph, kinds) for op in graph.ops],
    }


def _indices(graph: Graph, names: Sequence[str | int | None]) -> Vector:
    known = [t.name for t in graph.tensors]
    return numbers("i4", *(-1 if n is None else n if isinstance(n, int) else known.index(n) for n in names))


def _tensor(t: Tensor, buffers: list[dict[int, Any]], behind: list[tuple[int, bytes]]) -> dict[int, Any]:
    found: dict[int, Any] = {0: numbers("i4", *t.shape), 1: Scalar("i1", TENSOR_TYPES.index(t.kind)), 3: t.name}
    found[5], found[8] = Scalar("b1", t.variable), Scalar("b1", True)
    if t.data is not None:
        data = t.data if isinstance(t.data, bytes) else t.data.tobytes()
        found[2] = Scalar("u4", len(buffers))
        # places behind the flatbuffer are not known yet; 2 is larger than any that count as missing
        buffers.append({1: Scalar("u8", 2), 2: Scalar("u8", 0)} if t.outside else {0: Vector("u1", np.frombuffer(data, np.uint8), 16)})
        if t.outside:
            behind.append((len(buffers) - 1, data))
    if t.scale:
        zeros = numbers("i8", *(t.zero or (0,) * len(t.scale)))
        found[4] = {2: numbers("f4", *t.scale), 3: zeros, 6: Scalar("i4", t.axis)}
    if t.sparsity is not None:
        found[6] = t.sparsity
    if t.signature:
        found[7] = numbers("i4", *t.signature)
    return found


def _op(op: Op, graph: Graph, kinds: list[tuple[str, str]]) -> dict[int, Any]:
    found: dict[int, Any] = {
        0: Scalar("u4", kinds.index((op.op, op.custom))),
        1: _indices(graph, op.inputs),
        2: _indices(graph, op.outputs),
    }
    wanted = options_of(op.op)
    if op.custom in CUSTOM_OPTIONS and op.options:
        names = [name.removeprefix("custom_") for name in CUSTOM_OPTIONS[op.custom].split()]
        found[5] = numbers("u1", *np.array([_word(name, op.options.get(name, 0)) for name in names], "<i4").tobytes())
    if wanted is None:
        return found
    places = (11, 12) if wanted.second else (3, 4)
    fields = {i: _option(f.kind, op.options[f.name]) for i, f in enumerate(wanted.fields) if f.name in op.options}
    return {**found, places[0]: Scalar("u1", wanted.table), places[1]: fields}


def _word(name: str, value: Any) -> int:
    return ENUMS[f"custom_{name}"].index(value) if isinstance(value, str) else value


def _option(kind: str, value: Any) -> Any:
    if kind == "text":
        return value
    if kind.startswith("["):
        return numbers(kind[1:-1], *value)
    return Scalar("i1", ENUMS[kind].index(value)) if kind in ENUMS else Scalar(kind, value)


def _signature(signature: Signature, graph: Graph) -> dict[int, Any]:
    known = [t.name for t in graph.tensors]

    def ports(names: Mapping[str, str | Sequence[str]]) -> list[dict[int, Any]]:
        pairs = [(tensor, name) for tensor, given in names.items() for name in ([given] if isinstance(given, str) else given)]
        return [{0: name, 1: Scalar("u4", known.index(tensor))} for tensor, name in pairs]

    return {0: ports(signature.inputs), 1: ports(signature.outputs), 2: "serving_default", 4: Scalar("u4", signature.graph)}

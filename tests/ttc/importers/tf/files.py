"""Hand-made SavedModels: protobuf messages and an index of variables, written field by field, so that they can be wrong in any way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttc.importers.common.protobuf import BYTES, VARINT, write_varint
from ttc.importers.tf.sstable import MAGIC

CODES = {"float32": 1, "int32": 3, "int64": 9, "resource": 20}


def number(field: int, value: int) -> bytes:
    return write_varint(field << 3 | VARINT) + write_varint(value & (1 << 64) - 1)


def part(field: int, content: bytes | str) -> bytes:
    data = content.encode() if isinstance(content, str) else content
    return write_varint(field << 3 | BYTES) + write_varint(len(data)) + data


def shape(dims: Sequence[int]) -> bytes:
    return b"".join(part(2, number(1, d)) for d in dims)


def tensor(value: NDArray | None = None, *, code: int = 1, dims: Sequence[int] = (), content: bytes = b"") -> bytes:
    """A TensorProto of a value, or of what is given."""
    if value is not None:
        code, dims, content = CODES[value.dtype.name], value.shape, value.tobytes()
    return number(1, code) + part(2, shape(dims)) + part(4, content)


def attribute(value: Any) -> bytes:
    """An AttrValue: text, integer, boolean, list of integers, tensor, or a function's name after `@`."""
    match value:
        case bool():
            return number(5, value)
        case int():
            return number(3, value)
        case str() if value.startswith("@"):
            return part(10, part(1, value[1:]))
        case str():
            return part(2, value)
        case np.ndarray():
            return part(8, tensor(value))
        case bytes():
            return part(8, value)
        case _:
            return part(1, b"".join(number(3, v) for v in value))


def node(name: str, op: str, *inputs: str, **attributes: Any) -> bytes:
    """A NodeDef."""
    entries = b"".join(part(5, part(1, key) + part(2, attribute(value))) for key, value in attributes.items())
    return part(1, name) + part(2, op) + b"".join(part(3, i) for i in inputs) + entries


def function(
    name: str, arguments: Mapping[str, str], results: Mapping[str, str], nodes: Sequence[bytes], effects: Sequence[str] = ()
) -> bytes:
    """A FunctionDef.  arguments: types by name; results: the body's tensors by output."""
    inputs = b"".join(part(2, part(1, key) + number(3, CODES[kind])) for key, kind in arguments.items())
    outputs = b"".join(part(3, part(1, key) + number(3, 1)) for key in results)
    returned = b"".join(part(4, part(1, key) + part(2, value)) for key, value in results.items())
    controls = b"".join(part(6, part(1, name) + part(2, name)) for name in effects)
    return part(1, part(1, name) + inputs + outputs) + b"".join(part(3, n) for n in nodes) + returned + controls


def signature(inputs: Mapping[str, tuple[str, Sequence[int]]], outputs: Mapping[str, str]) -> bytes:
    """A SignatureDef: tensor and sizes of float32 inputs, tensors of outputs."""
    found = b"".join(part(1, part(1, key) + part(2, part(1, t) + number(2, 1) + part(3, shape(d)))) for key, (t, d) in inputs.items())
    return found + b"".join(part(2, part(1, key) + part(2, part(1, t) + number(2, 1))) for key, t in outputs.items())


def object_graph(children: Sequence[Mapping[str, int]], bound: Mapping[str, Sequence[int]]) -> bytes:
    """A SavedObjectGraph.  children: numbers of what each object holds, by name; bound: objects that functions were traced with."""
    held = b"".join(part(1, b"".join(part(1, number(1, child) + part(2, name)) for name, child in c.items())) for c in children)
    return held + b"".join(part(2, part(1, name) + part(2, b"".join(number(2, i) for i in ids))) for name, ids in bound.items())


def save(
    folder: Path,
    nodes: Sequence[bytes],
    output: str,
    functions: Sequence[bytes] = (),
    *,
    sizes: Sequence[int] = (2, 4),
    signatures: Mapping[str, bytes] | None = None,
    restore: str = "",
    objects: bytes = b"",
) -> Path:
    """A SavedModel with the input `x` and the output `y`, whose placeholder `x` is added."""
    folder.mkdir(exist_ok=True)
    graph = b"".join(part(1, n) for n in (node("x", "Placeholder"), *nodes)) + part(2, b"".join(part(1, f) for f in functions))
    signatures = {"serving_default": signature({"x": ("x:0", sizes)}, {"y": output})} if signatures is None else signatures
    chosen = b"".join(part(5, part(1, key) + part(2, value)) for key, value in signatures.items())
    meta = part(1, part(4, "serve")) + part(2, graph) + part(3, part(3, restore)) + chosen + part(7, objects)
    (folder / "saved_model.pb").write_bytes(number(1, 1) + part(2, meta))
    return folder


def save_variables(folder: Path, values: Mapping[str, NDArray], *, shards: int = 1, compressed: bool = False, **wrong: int) -> None:
    """The files of variables.  wrong: fields of the entries that are to differ: shard, offset, size."""
    place = folder / "variables"
    place.mkdir(exist_ok=True)
    rows, data = [(b"", number(1, shards))], b""
    for key, value in sorted(values.items()):
        entry = number(1, CODES[value.dtype.name]) + part(2, shape(value.shape)) + number(3, wrong.get("shard", 0))
        rows.append((key.encode(), entry + number(4, wrong.get("offset", len(data))) + number(5, wrong.get("size", value.nbytes))))
        data += value.tobytes()
    (place / "variables.data-00000-of-00001").write_bytes(data)
    (place / "variables.index").write_bytes(table_file(block(rows), compressed))


def table_file(data: bytes, compressed: bool = False, place: tuple[int, int] | None = None) -> bytes:
    """An index of one block of entries.  place: offset and size that it tells of the block, if they are to be wrong."""
    trailer = bytes([int(compressed)]) + b"\0" * 4
    index = block([(b"\xff", b"".join(map(write_varint, place or (0, len(data)))))])
    handles = write_varint(0) + write_varint(0) + write_varint(len(data) + 5) + write_varint(len(index))
    return data + trailer + index + trailer + handles.ljust(40, b"\0") + MAGIC


def block(rows: Sequence[tuple[bytes, bytes]]) -> bytes:
    """Entries of keys and values, none of which shares the beginning of its key with the one before."""
    entries = b"".join(write_varint(0) + write_varint(len(k)) + write_varint(len(v)) + k + v for k, v in rows)
    return entries + (0).to_bytes(4, "little") + (1).to_bytes(4, "little")

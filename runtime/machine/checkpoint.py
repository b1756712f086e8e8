"""Checkpoints: what a session holds, as one file of the safetensors format.

Tensors are named `parameters/NAME` and `states/NAME`, after the model, and `queues/I/K`: entry K of the I-th queue that has entries, in the
order of the head.  The head, JSON under `ttc` in the file's metadata, says of which model the values are.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats.text import STRING
from ttc.dialects.core.json_hooks import unique_keys
from ttc.dialects.core.plain.functions import Plain
from ttc.dialects.core.records import record
from ttc.dialects.netlist.codec import decode, encode
from ttc.runtime.atomic_file import replacing
from ttc.runtime.manifest import DTYPE_NAMES, Description, ManifestVariable
from ttc.runtime.read_file import in_file, open_regular

FORMAT_VERSION = 1
MAX_HEADER_BYTES = 1 << 26
NO_NOTES: Mapping[str, Plain] = MappingProxyType({})
_KEY = "ttc"
_CODES = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8",
    "uint64": "U64", "uint32": "U32", "uint16": "U16", "uint8": "U8", "bool": "BOOL",
}  # fmt: skip
"""What the format calls dtypes; values of others, a byte each, are stored as U8."""


@record(slots=True)
class Waiting:
    """A queue that has entries.

    Args:
        program: whose queue it is; None: it joins programs.
        entries: how many there are.
        read: how many of them each reader has read, by reader; none for a ram, whose entry stays.
    """

    program: str | None
    queue: str
    entries: int
    read: dict[str, int]


@record
class CheckpointHead:
    """The head of a checkpoint: the model, and what the tensors that follow are.

    Args:
        format_version: of checkpoints; producer: what wrote it; model: name of the model.
        parameters, states: all of the model, with shapes and dtypes; keys are left out, as they differ between targets.
        tensors: dtypes of the file's tensors, by name.
        statics: static variables of programs.
        queues: those that have entries.
        notes: of whoever asked for the checkpoint.
    """

    format_version: int
    producer: str
    model: str
    parameters: dict[str, ManifestVariable]
    states: dict[str, ManifestVariable]
    tensors: dict[str, str]
    statics: dict[str, dict[str, int]]
    queues: tuple[Waiting, ...]
    notes: dict[str, Plain] = field(default_factory=dict)


def head_of(
    description: Description,
    tensors: Mapping[str, NDArray],
    statics: Mapping[str, Mapping[str, int]],
    queues: tuple[Waiting, ...],
    notes: Mapping[str, Plain] = NO_NOTES,
) -> CheckpointHead:
    """Return the head of a checkpoint of a model.  Raises E0103 for entries of text, which the format has no place for."""
    for name, value in tensors.items():
        if value.dtype.hasobject:
            raise Error("E0103", f"{name}: a checkpoint cannot hold text", hint="pop the results before")
    dtypes = {name: str(value.dtype) for name, value in tensors.items()}
    parameters, states = ({n: replace(v, key=None) for n, v in found.items()} for found in (description.parameters, description.states))
    kept = {name: dict(values) for name, values in statics.items() if values}
    return CheckpointHead(
        FORMAT_VERSION, f"ttc {description.version}", description.model, parameters, states, dtypes, kept, queues, dict(notes)
    )


def write_checkpoint(path: Path, head: CheckpointHead, tensors: Mapping[str, NDArray]) -> None:
    """Write a checkpoint whole, or leave `path` as it was.  Tensors are written from where they are.  Raises E0103."""
    plain = {name: _plain(value) for name, value in tensors.items()}
    order = sorted(plain, key=lambda name: (-plain[name].dtype.itemsize, name))  # each is aligned to its elements
    header: dict[str, Any] = {"__metadata__": {_KEY: json.dumps(encode(head))}}
    position = 0
    for name in order:
        value = plain[name]
        header[name] = {
            "dtype": _CODES[str(value.dtype)],
            "shape": list(value.shape),
            "data_offsets": [position, position := position + value.nbytes],
        }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > MAX_HEADER_BYTES:
        raise Error("E0103", f"cannot write {path}: names of tensors take more than {MAX_HEADER_BYTES >> 20} MB")
    with replacing(path) as descriptor, os.fdopen(os.dup(descriptor), "wb", buffering=0) as file:
        for part in (len(text).to_bytes(8, "little"), text, *(plain[name].reshape(-1).view(np.uint8).data for name in order)):
            rest = memoryview(part)
            while rest:
                rest = rest[file.write(rest) :]


def _plain(value: NDArray) -> NDArray:
    """Return the value in row-major order, of a dtype that the format has."""
    value = np.asarray(value, order="C")
    return value if str(value.dtype) in _CODES else value.view(np.uint8)


class OpenCheckpoint:
    """An open checkpoint, whose head has been read.

    Args:
        file: what the library opened.
    """

    def __init__(self, file: Any, head: CheckpointHead) -> None:
        self._file = file
        self.head = head

    def load(self, name: str, shape: tuple[int, ...], dtype: np.dtype) -> NDArray:
        """Return a tensor of the checkpoint, in memory of its own.

        Args:   shape: that it must have; -1: any number.
                dtype: of values that it is to hold; it may be wider, and integers may be of any size.
        Raises: E0807 if it has others, or cannot be read.
        """
        stored = self.head.tensors.get(name)
        if stored is None or name not in self._file.keys():  # noqa: SIM118 - the library's object is no mapping
            raise Error("E0807", f"the checkpoint lacks tensor '{name}'")
        found = self._file.get_slice(name)
        fits = len(found.get_shape()) == len(shape) and all(a in (-1, b) for a, b in zip(shape, found.get_shape(), strict=True))
        kept = {dtype.kind, np.dtype(stored).kind} <= {"i", "u"} or np.can_cast(dtype, np.dtype(stored), "same_kind")
        if not fits or not kept or found.get_dtype() != _CODES.get(stored, "U8"):
            what = f"{stored} of {found.get_shape()}, stored as {found.get_dtype()}"
            raise Error("E0807", f"tensor '{name}' of the checkpoint is {what}, where {dtype} of {list(shape)} is expected")
        value = self._file.get_tensor(name)
        return value if stored in _CODES else value.view(np.dtype(stored))


@contextmanager
def open_checkpoint(path: Path, description: Description) -> Iterator[OpenCheckpoint]:
    """Open a checkpoint of a model, which may have been compiled for another target or in other formats.

    Raises: E0102 if there is no such file, E0807 if it is none, of another version, damaged, or of another model.
    """
    with in_file(path), closing(os.fdopen(open_regular(path), "rb", buffering=0)) as file:
        check_header(file)
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(f"/proc/self/fd/{file.fileno()}", framework="np", backend="pread") as opened:
                found = OpenCheckpoint(opened, _head(opened))
                if set(opened.keys()) != set(found.head.tensors):
                    raise Error("E0807", "tensors of the checkpoint and of its head differ")
                _check_model(found.head, description)
                yield found
        except (SafetensorError, OSError) as error:
            raise damaged(str(error)) from None


def check_header(file: Any) -> None:
    """Raises E0807 for a header that is too large or no JSON, or that names a tensor twice, which the library accepts."""
    size = int.from_bytes(file.read(8), "little")
    if size > min(MAX_HEADER_BYTES, os.fstat(file.fileno()).st_size):
        raise damaged("its header has no end")
    try:
        json.loads(file.read(size), object_pairs_hook=unique_keys)
    except (ValueError, RecursionError) as error:
        raise damaged(str(error)) from None


def _head(opened: Any) -> CheckpointHead:
    text = (opened.metadata() or {}).get(_KEY)
    if text is None:
        raise Error("E0807", "the file holds tensors, but is no checkpoint of ttc")
    try:
        raw = json.loads(text, object_pairs_hook=unique_keys)
        version = raw.get("format_version") if isinstance(raw, dict) else None
        if version != FORMAT_VERSION and type(version) is int:
            raise Error("E0807", f"the checkpoint is of format version {version!s:.20}; this ttc reads version {FORMAT_VERSION}")
        head = decode(CheckpointHead, raw, "head")
    except (ValueError, RecursionError) as error:
        raise damaged(str(error)) from None
    except Error as error:
        raise Error("E0807", error.message, error.where, error.hint) from None
    unknown = set(head.tensors.values()) - DTYPE_NAMES | {str(STRING)} & set(head.tensors.values())
    if unknown:
        raise damaged(f"'{min(unknown)}' is no dtype of a tensor")
    return head


def _check_model(head: CheckpointHead, description: Description) -> None:
    """Raises E0807 naming the first parameter or state in which the checkpoint's model is another."""
    own = head_of(description, {}, {}, ())
    for kind, there, here in (("parameter", head.parameters, own.parameters), ("state", head.states, own.states)):
        for name in (*there, *here):
            if there.get(name) != here.get(name):
                sides = " and ".join(f"{_described(found.get(name))} {side}" for found, side in ((there, "there"), (here, "here")))
                raise Error("E0807", f"the checkpoint is of another model, '{head.model}': {kind} '{name}' is {sides}")


def _described(variable: ManifestVariable | None) -> str:
    return "missing" if variable is None else f"{variable.dtype} of {list(variable.shape)}"


def damaged(reason: str) -> Error:
    """Return an E0807 that says that a file is no checkpoint."""
    return Error("E0807", f"the file is no checkpoint, or damaged: {reason[:200]}", hint="write it again, or take an older one")

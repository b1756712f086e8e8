"""A bounded reader of the sorted tables in which a TensorFlow checkpoint keeps its index.

Source: leveldb's doc/table_format.md.  Compressed blocks are refused: TensorFlow does not write them.
"""

from __future__ import annotations

from collections.abc import Iterator

from ttc.dialects.core.errors import Error
from ttc.importers.common.protobuf import Buffer, read_varint

KIND = "an index of TensorFlow variables"
MAGIC = (0xDB4775248B80FB57).to_bytes(8, "little")
FOOTER_BYTES, TRAILER_BYTES = 48, 5
MAX_ENTRIES = 1_000_000
MAX_KEY_BYTES = 1 << 14
MAX_SHARED_BYTES = 1 << 25
"""The most bytes of all keys together, beyond the size of the file: a key may repeat the beginning of the one before at no cost."""


def table(data: Buffer) -> Iterator[tuple[bytes, int, int]]:
    """Yield keys, and where their values begin and end, in order. Raises E0201."""
    if len(data) < FOOTER_BYTES or data[len(data) - 8 :] != MAGIC:
        raise Error("E0201", f"not {KIND}, or a truncated one")
    start = len(data) - FOOTER_BYTES
    _, at = _handle(data, start, len(data))
    index, _ = _handle(data, at, len(data))
    count, left = 0, MAX_SHARED_BYTES + len(data)
    for _, begin, end in _block(data, *index):
        block, _ = _handle(data, begin, end)
        for entry in _block(data, *block):
            count, left = count + 1, left - len(entry[0])
            if count > MAX_ENTRIES:
                raise Error("E0201", f"an index of more than {MAX_ENTRIES} variables")
            if left < 0:
                raise Error("E0201", f"an index of which the keys take more than {MAX_SHARED_BYTES} bytes beyond the file's size")
            yield entry


def _handle(data: Buffer, at: int, end: int) -> tuple[tuple[int, int], int]:
    """Return where a block begins and ends, and the offset after the handle."""
    offset, at = read_varint(data, at, end, KIND)
    size, at = read_varint(data, at, end, KIND)
    if offset + size + TRAILER_BYTES > len(data):
        raise Error("E0201", f"not {KIND}, or a damaged one: a block lies past the end")
    if data[offset + size] != 0:
        raise Error("E0201", "the index of the variables is compressed, which is not supported")
    return (offset, offset + size), at


def _block(data: Buffer, start: int, end: int) -> Iterator[tuple[bytes, int, int]]:
    """Yield the entries of a block: each key shares its beginning with the one before."""
    restarts = int.from_bytes(data[end - 4 : end], "little") if end - start >= 4 else 1 << 32
    stop = end - 4 - 4 * restarts
    if stop < start:
        raise Error("E0201", f"not {KIND}, or a damaged one: a block is too short")
    key, at = b"", start
    while at < stop:
        shared, at = read_varint(data, at, stop, KIND)
        added, at = read_varint(data, at, stop, KIND)
        size, at = read_varint(data, at, stop, KIND)
        if shared > len(key) or shared + added > MAX_KEY_BYTES or at + added + size > stop:
            raise Error("E0201", f"not {KIND}, or a damaged one: the entry at byte {at} runs past the end")
        key = key[:shared] + bytes(data[at : at + added])
        yield key, at + added, at + added + size
        at += added + size

"""Headers of numpy's .npy files, which are read by nobody before they are checked."""

from __future__ import annotations

from io import BytesIO
from typing import IO, Any

import numpy as np

from ttc.dialects.core.errors import Error

MAX_HEADER_BYTES = 10_000
"""Of a .npy file: numpy's own limit."""
_HEADERS = {(1, 0): (2, np.lib.format.read_array_header_1_0), (2, 0): (4, np.lib.format.read_array_header_2_0)}
"""By version: bytes of the header's length, and what reads from there."""


def read_header(stream: IO[bytes], where: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether in Fortran order, and dtype; nothing is unpickled, and no more read than a header of honest length.

    where: name of the file, for messages.  Raises E0801.
    """
    try:
        version = np.lib.format.read_magic(stream)
        if version not in _HEADERS:
            raise ValueError(f"version {version[0]}.{version[1]}")
        size_bytes, reader = _HEADERS[version]
        size = stream.read(size_bytes)
        if int.from_bytes(size, "little") > MAX_HEADER_BYTES:
            raise ValueError(f"its header is longer than {MAX_HEADER_BYTES} bytes")
        shape, fortran, dtype = reader(BytesIO(size + stream.read(int.from_bytes(size, "little"))))
    except (ValueError, EOFError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise Error("E0801", f"not a readable .npy file: {str(error) or 'its header nests too deeply'}", where=where) from None
    if dtype.hasobject:
        raise Error("E0801", "the file holds pickled objects, which are never read", where=where)
    if any(type(size) is not int or size < 0 for size in shape):
        raise Error("E0801", f"not a readable .npy file: its shape is {shape}", where=where)
    return shape, fortran, dtype

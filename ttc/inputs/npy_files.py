"""Arrays from numpy's .npy and .npz files, which are checked before their data is read; and random ones."""

from __future__ import annotations

import lzma
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from math import prod
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.formats.text import STRING
from ttc.dialects.netlist.model import Argument
from ttc.inputs.files import require_input

MAX_HEADER_BYTES = 10_000
"""The most bytes of the header of a .npy file: numpy's own limit."""
MAX_BUNDLE_BYTES = 16 << 30
"""The most bytes of all arrays in an .npz file, as they are in memory."""
_HEADERS = {(1, 0): (2, np.lib.format.read_array_header_1_0), (2, 0): (4, np.lib.format.read_array_header_2_0)}
"""By version: bytes of the header's length, and what reads from there."""


def read_header(stream: IO[bytes], where: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, whether in Fortran order, and dtype; nothing is unpickled, and no more read than a header of honest length.

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
    except (ValueError, EOFError, TypeError, SyntaxError, TokenError, RecursionError, MemoryError) as error:
        raise Error("E0801", f"not a readable .npy file: {str(error) or 'its header nests too deeply'}", where=where) from None
    if dtype.hasobject:
        raise Error("E0801", "the file holds pickled objects, which are never read", where=where)
    if any(type(size) is not int or size < 0 for size in shape):
        raise Error("E0801", f"not a readable .npy file: its shape is {shape}", where=where)
    return shape, fortran, dtype


def dtype_of(argument: Argument) -> np.dtype:
    """Return the numpy dtype of an argument; bfloat16 is that of ml_dtypes."""
    return np.dtype(ml_dtypes.bfloat16) if argument.dtype == "bfloat16" else np.dtype(argument.dtype)


def fits(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Return whether an array may have this shape; -1 stands for any size."""
    return len(shape) == len(wanted) and all(size == want or (want == -1 and size >= 0) for size, want in zip(shape, wanted, strict=True))


def read_array(path: Path, argument: Argument) -> NDArray:
    """Return the array of a .npy file, checked against the signature before its data is read. Raises E0102, E0801."""
    require_input(path)
    try:
        with path.open("rb") as file:
            return _read_stream(file, argument, str(path), path.stat().st_size)
    except OSError as error:
        raise Error("E0102", f"cannot read {path}: {error.strerror}") from None


@contextmanager
def reading_bundle(path: Path) -> Iterator[zipfile.ZipFile]:
    """Yield an .npz file whose arrays are of bounded size; what goes wrong while it is read is an error of ours.  Raises E0102, E0801."""
    require_input(path)
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(info.file_size for info in archive.infolist()) > MAX_BUNDLE_BYTES:
                raise Error("E0801", f"its arrays take more than {MAX_BUNDLE_BYTES >> 30} GB", where=str(path))
            yield archive
    except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise Error("E0801", f"not a readable .npz file: {error}", where=str(path)) from None


def read_bundle(path: Path, known: Mapping[str, Argument]) -> dict[str, NDArray]:
    """Return arrays of an .npz file by input name, each checked before its data is read. Raises E0102, E0801."""
    found: dict[str, NDArray] = {}
    with reading_bundle(path) as archive:
        for info in archive.infolist():
            name = info.filename.removesuffix(".npy")
            if name not in known or name in found:
                problem = "is given twice" if name in found else "is not an input of the program"
                raise Error("E0801", f"'{name}' {problem}", where=str(path), hint=nearest(name, known))
            with archive.open(info) as member:
                found[name] = _read_stream(member, known[name], f"{path}:{info.filename}", info.file_size)
    return found


def _read_stream(stream: IO[bytes], argument: Argument, where: str, size_bytes: int) -> NDArray:
    shape, fortran, dtype = read_header(stream, where)
    wanted = dtype_of(argument)
    if dtype.kind == "V" and wanted.kind == "V" and dtype.itemsize == wanted.itemsize:
        dtype = wanted  # numpy's files have no name for bfloat16 and its like
    alike = dtype.kind == "U" if wanted == STRING else dtype.newbyteorder("=") == wanted
    if not fits(shape, argument.shape) or not alike:
        message = f"input '{argument.name}' takes {argument.dtype}{list(argument.shape)}, not {dtype}{list(shape)}"
        raise Error("E0801", message, where=where)
    count = prod(shape)
    if dtype.itemsize == 0:  # numpy's files have texts of no characters
        return np.full(shape, "", wanted)
    if size_bytes < count * dtype.itemsize:
        raise Error("E0801", "the file is cut short", where=where)
    data = stream.read(count * dtype.itemsize)
    if len(data) != count * dtype.itemsize:
        raise Error("E0801", "the file is cut short", where=where)
    try:
        return np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C").astype(wanted)
    except ValueError as error:  # text whose numbers are no characters
        raise Error("E0801", f"not readable: {error}", where=where) from None


def draw(argument: Argument, generator: np.random.Generator) -> NDArray:
    """Return standard normal numbers; for integers zeros and ones, which both suit indices of any table and masks; or text."""
    if -1 in argument.shape:
        raise Error("E0801", f"the shape of input '{argument.name}' depends on data: it must be given")
    dtype = dtype_of(argument)
    if dtype.kind in "iubO":
        numbers = generator.integers(0, 2, argument.shape)
        return numbers.astype(str).astype(object) if dtype.kind == "O" else numbers.astype(dtype)
    return generator.standard_normal(argument.shape, np.float32).astype(dtype)

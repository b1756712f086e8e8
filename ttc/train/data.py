"""Data sets in .npz files and folders of .npy files: an array for each input, with a row a sample, mapped from the file where possible."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path
from typing import IO, Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.records import record
from ttc.inputs.files import require_input
from ttc.inputs.npy_files import read_header, reading_bundle

_LOCAL_HEADER_BYTES = 30
"""Bytes of a zip member's local header, before its name; lengths of the name and of what follows it stand at 26 and 28."""
_SCANNED_BYTES = 1 << 24
"""How much of an array is looked at in one piece."""


@record(slots=True)
class Column:
    """The type and shape of what a program takes of each sample, for one input.

    Args:
        name: of the input.
        shape: of one sample: without the leading dimension.
        dtype: name of the numpy dtype.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str

    @property
    def type(self) -> np.dtype[Any]:
        """The numpy dtype; bfloat16 is that of ml_dtypes."""
        return np.dtype(ml_dtypes.bfloat16) if self.dtype == "bfloat16" else np.dtype(self.dtype)


@record(eq=False)
class Data:
    """Samples of a data set.

    Args:
        where: name of the file or folder, for messages.
        arrays: by name of the input, each of `rows` rows.
        columns: what the program takes, by name.
        rows: number of samples.
    """

    where: str
    arrays: Mapping[str, NDArray[Any]]
    columns: Mapping[str, Column]
    rows: int

    @staticmethod
    def of(where: str, arrays: Mapping[str, NDArray[Any]], wanted: Mapping[str, Column]) -> Data:
        """Return the data set of these arrays.

        Integers may be of any size, and stand for floating-point numbers; floating-point numbers may be wider than what the program takes.
        Raises: E0801 if an array is missing, unknown, of another shape or kind, or has another number of rows than the first.
        """
        for name in arrays:
            if name not in wanted:
                raise Error("E0801", f"'{name[:80]}' is not an input of the program", where=where, hint=nearest(name, wanted))
        missing = [name for name in wanted if name not in arrays]
        if missing:
            raise Error("E0801", f"the data lack {', '.join(missing)}", where=where, hint="an array for each input, under its name")
        for name, column in wanted.items():
            _check_column(where, arrays[name], column)
        counts = {name: len(arrays[name]) for name in wanted}
        rows = next(iter(counts.values()), 0)
        for name, count in counts.items():
            if count != rows:
                first = next(iter(counts))
                raise Error("E0801", f"'{first}' has {rows} rows, and '{name}' {count}", where=where)
        if rows == 0:
            raise Error("E0801", "the data have no rows", where=where)
        return Data(where, {name: arrays[name] for name in wanted}, dict(wanted), rows)

    def take(self, rows: NDArray[np.int64] | slice) -> dict[str, NDArray[Any]]:
        """Return rows of every array, copied, in the dtypes that the program takes.  Raises E0802 for an integer that one cannot hold."""
        return {name: self._converted(self.columns[name], array[rows]) for name, array in self.arrays.items()}

    def _converted(self, column: Column, rows: NDArray[Any]) -> NDArray[Any]:
        wanted = column.type
        if rows.dtype.kind == "V":  # numpy's files have no name for bfloat16 and its like
            return rows.view(wanted)
        if rows.dtype.kind in "iu" and wanted.kind in "iu" and rows.size:
            limits, low, high = np.iinfo(wanted), int(rows.min()), int(rows.max())
            if low < limits.min or high > limits.max:
                worst = low if low < limits.min else high
                raise Error("E0802", f"'{column.name}' holds {worst}, which {column.dtype} cannot hold", where=self.where)
        with np.errstate(over="ignore"):  # what a narrower float cannot hold is infinite
            return rows.astype(wanted)

    def check_range(self, name: str, low: int, high: int, ignored: int | None = None) -> None:
        """Raise E0802 for the first integer of an array outside [low, high) that is not the ignored one."""
        for first, piece in _pieces(self.arrays[name]):
            wrong = (piece < low) | (piece >= high)
            if ignored is not None:
                wrong &= piece != ignored
            if wrong.any():
                place = tuple(int(i) for i in np.argwhere(wrong)[0])
                message = f"'{name}' holds {int(piece[place])} in row {first + place[0]}, which is not from {low} to {high - 1}"
                raise Error("E0802", message, where=self.where)

    def check_finite(self) -> None:
        """Raise E0808 for the first number that is not finite."""
        for name, array in self.arrays.items():
            if array.dtype.kind != "f" and self.columns[name].type.kind not in "fV":
                continue
            for first, piece in _pieces(array):
                typed = piece.view(self.columns[name].type) if piece.dtype.kind == "V" else piece
                wrong = ~np.isfinite(typed)
                if wrong.any():
                    place = tuple(int(i) for i in np.argwhere(wrong)[0])
                    raise Error("E0808", f"'{name}' holds {float(typed[place])} in row {first + place[0]}", where=self.where)


def read_data(path: Path, wanted: Mapping[str, Column]) -> Data:
    """Return a data set: an .npz file with an array a name, or a folder with a file NAME.npy a name.

    Files of a folder, and members of an .npz that are not compressed, are mapped: memory holds what is read of them.
    Nothing is unpickled.
    Raises: E0102 for a file that cannot be read, E0801 for one that is cut, of another kind, or does not fit the program.
    """
    return Data.of(str(path), read_arrays(path), wanted)


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a data set by name, as they lie in its files.  Raises E0102, E0801 as `read_data` does."""
    return dict(_folder_arrays(path) if path.is_dir() else _bundle_arrays(path))


def _folder_arrays(path: Path) -> Iterator[tuple[str, NDArray[Any]]]:
    try:
        files = sorted(file for file in path.iterdir() if file.suffix == ".npy")
    except OSError as error:
        raise Error("E0102", f"cannot read {path}: {error.strerror}") from None
    if not files:
        raise Error("E0102", f"folder {path} holds no .npy file", hint="a file NAME.npy for each input of the program")
    for file in files:
        require_input(file)
        try:
            with file.open("rb") as stream:
                yield file.stem, _mapped(stream, 0, os.fstat(stream.fileno()).st_size, str(file))
        except OSError as error:
            raise Error("E0102", f"cannot read {file}: {error.strerror}") from None


def _bundle_arrays(path: Path) -> Iterator[tuple[str, NDArray[Any]]]:
    with reading_bundle(path) as archive, path.open("rb") as stream:
        names = set[str]()
        for info in archive.infolist():
            name, where = info.filename.removesuffix(".npy"), f"{path}:{info.filename}"
            if name in names:
                raise Error("E0801", f"'{name}' is given twice", where=str(path))
            names.add(name)
            if info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & 1:
                yield name, _mapped(stream, _start_of(stream, info, where), info.file_size, where)
            else:
                with archive.open(info) as member:
                    yield name, _read(member, info.file_size, where)


def _start_of(stream: IO[bytes], info: zipfile.ZipInfo, where: str) -> int:
    """Return where the bytes of a stored member begin.  Raises E0801."""
    stream.seek(info.header_offset)
    header = stream.read(_LOCAL_HEADER_BYTES)
    if len(header) != _LOCAL_HEADER_BYTES or header[:4] != b"PK\x03\x04":
        raise Error("E0801", "the file is cut short", where=where)
    name, extra = (int.from_bytes(header[place : place + 2], "little") for place in (26, 28))
    return info.header_offset + _LOCAL_HEADER_BYTES + name + extra


def _mapped(stream: IO[bytes], start: int, size: int, where: str) -> NDArray[Any]:
    """The array of a .npy file that takes `size` bytes from `start` of a file, mapped from there.  Raises E0801."""
    stream.seek(start)
    shape, fortran, dtype = _sized_header(stream, where)
    offset, count = stream.tell(), prod(shape)
    end = min(start + size, os.fstat(stream.fileno()).st_size)
    if offset + count * dtype.itemsize > end:
        raise Error("E0801", "the file is cut short", where=where)
    if count == 0:
        return np.zeros(shape, dtype)
    return np.memmap(stream, dtype, "r", offset, shape, "F" if fortran else "C")  # pyright: ignore[reportArgumentType, reportCallIssue]


def _read(stream: IO[bytes], size: int, where: str) -> NDArray[Any]:
    """Return the array of a compressed member, in memory.  Raises E0801."""
    shape, fortran, dtype = _sized_header(stream, where)
    count = prod(shape) * dtype.itemsize
    data = stream.read(count) if count <= size else b""
    if len(data) != count:
        raise Error("E0801", "the file is cut short", where=where)
    return np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C")


def _sized_header(stream: IO[bytes], where: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read the header of an array, as `read_header` does.  Raises E0801 also for arrays of text, records and dates."""
    shape, fortran, dtype = read_header(stream, where)
    if dtype.kind not in "biufcV" or dtype.names is not None or dtype.subdtype is not None or dtype.itemsize == 0:
        raise Error("E0801", f"an array of {dtype} holds no numbers", where=where)
    return shape, fortran, dtype


def _check_column(where: str, array: NDArray[Any], column: Column) -> None:
    """Raises E0801 for an array that does not hold samples of this shape and kind."""
    wanted, found = column.type, array.dtype
    alike = np.can_cast(found, wanted, "same_kind") if found.kind != "V" else wanted.kind == "V" and found.itemsize == wanted.itemsize
    if wanted.kind == "V" and found.kind in "biuf":
        alike = True
    if array.ndim != len(column.shape) + 1 or array.shape[1:] != column.shape or not alike:
        sizes = ", ".join(["rows", *map(str, column.shape)])
        message = f"input '{column.name}' takes {column.dtype}[{sizes}], not {found}{list(array.shape)}"
        raise Error("E0801", message, where=where)


def _pieces(array: NDArray[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield rows of an array in pieces of bounded size, each with the number of its first row."""
    row = max(prod(array.shape[1:]) * array.dtype.itemsize, 1)
    step = max(_SCANNED_BYTES // row, 1)
    for first in range(0, len(array), step):
        yield first, array[first : first + step]

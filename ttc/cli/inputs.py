"""Inputs of a run: from .npy and .npz files, or random."""

from __future__ import annotations

import lzma
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.netlist.model import Argument
from ttc.files import require_input
from ttc.npy_files import read_header

NOTHING_FIXED: Mapping[str, NDArray[Any]] = MappingProxyType({})
MAX_BUNDLE_BYTES = 16 << 30
"""Of all arrays in an .npz file, as they are in memory."""


@dataclass(frozen=True)
class Inputs:
    """arrays: by input name, in the program's order; drawn: names of those that are random."""

    arrays: dict[str, NDArray]
    drawn: tuple[str, ...]


def gather(
    arguments: Sequence[Argument],
    files: Sequence[str],
    bundle: Path | None,
    *,
    random: bool,
    seed: int,
    fixed: Mapping[str, NDArray[Any]] = NOTHING_FIXED,
) -> Inputs:
    """The inputs of a program.

    Args:
        arguments: its signature.
        files: `NAME=FILE.npy` texts.
        bundle: an .npz file with one array an input.
        random: draw the inputs that are not given; without any given, all are drawn.
        fixed: values of inputs that can have no other; they need not be given.
    Raises: E0801 for unknown, missing or unfitting inputs; E0102 for unreadable files.
    """
    known = {argument.name: argument for argument in arguments}
    given = _read_files(known, files)
    if bundle is not None:
        for name, array in read_bundle(bundle, known).items():
            if name in given:
                raise Error("E0801", f"input '{name}' is given twice")
            given[name] = array
    missing = [name for name in known if name not in given and name not in fixed]
    if missing and given and not random:
        raise Error("E0801", f"no value for input {', '.join(missing)}", hint="give it with --input NAME=FILE.npy, or --random")
    generator = np.random.default_rng(seed)
    given = {**fixed, **given}
    arrays = {name: given[name] if name in given else draw(argument, generator) for name, argument in known.items()}
    return Inputs(arrays, tuple(missing))


def draw(argument: Argument, generator: np.random.Generator) -> NDArray:
    """Standard normal numbers; zeros and ones for integers, so that indices of any table and masks are both in range."""
    if -1 in argument.shape:
        raise Error("E0801", f"the shape of input '{argument.name}' depends on data: it must be given")
    dtype = dtype_of(argument)
    if dtype.kind in "iub":
        return generator.integers(0, 2, argument.shape).astype(dtype)
    return generator.standard_normal(argument.shape, np.float32).astype(dtype)


def dtype_of(argument: Argument) -> np.dtype:
    """The numpy dtype of an argument; bfloat16 is that of ml_dtypes."""
    return np.dtype(ml_dtypes.bfloat16) if argument.dtype == "bfloat16" else np.dtype(argument.dtype)


def fits(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Whether an array may have this shape; -1 stands for any size."""
    return len(shape) == len(wanted) and all(size == want or (want == -1 and size >= 0) for size, want in zip(shape, wanted, strict=True))


def _read_files(known: Mapping[str, Argument], files: Sequence[str]) -> dict[str, NDArray]:
    given: dict[str, NDArray] = {}
    for text in files:
        name, path = _split(text, known)
        if name in given:
            raise Error("E0801", f"input '{name}' is given twice")
        given[name] = read_array(path, known[name])
    return given


def _split(text: str, known: Mapping[str, Argument]) -> tuple[str, Path]:
    """`NAME=FILE`; a name may itself hold `=`, so the longest known one counts."""
    matching = [name for name in known if text.startswith(name + "=")]
    if matching:
        name = max(matching, key=len)
        return name, Path(text[len(name) + 1 :])
    name, equals, _ = text.partition("=")
    if not equals:
        raise Error("E0101", f"--input cannot be '{text}'", hint="it takes NAME=FILE.npy")
    raise Error("E0801", f"there is no input '{name}'", hint=nearest(name, known))


def read_array(path: Path, argument: Argument) -> NDArray:
    """An array of a .npy file, checked against the signature before its data is read.  Raises E0102, E0801."""
    require_input(path)
    try:
        with path.open("rb") as file:
            return _read_stream(file, argument, str(path), path.stat().st_size)
    except OSError as error:
        raise Error("E0102", f"cannot read {path}: {error.strerror}") from None


def read_bundle(path: Path, known: Mapping[str, Argument]) -> dict[str, NDArray]:
    """Arrays of an .npz file by input name, each checked before its data is read.  Raises E0102, E0801."""
    require_input(path)
    found: dict[str, NDArray] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(info.file_size for info in archive.infolist()) > MAX_BUNDLE_BYTES:
                raise Error("E0801", f"its arrays take more than {MAX_BUNDLE_BYTES >> 30} GB", where=str(path))
            for info in archive.infolist():
                name = info.filename.removesuffix(".npy")
                if name not in known or name in found:
                    problem = "is given twice" if name in found else "is not an input of the program"
                    raise Error("E0801", f"'{name}' {problem}", where=str(path), hint=nearest(name, known))
                with archive.open(info) as member:
                    found[name] = _read_stream(member, known[name], f"{path}:{info.filename}", info.file_size)
    except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise Error("E0801", f"not a readable .npz file: {error}", where=str(path)) from None
    return found


def _read_stream(stream: IO[bytes], argument: Argument, where: str, size_bytes: int) -> NDArray:
    shape, fortran, dtype = read_header(stream, where)
    wanted = dtype_of(argument)
    if dtype == np.dtype("V2") and argument.dtype == "bfloat16":
        dtype = wanted  # numpy's files have no name for bfloat16
    if not fits(shape, argument.shape) or dtype.newbyteorder("=") != wanted:
        message = f"input '{argument.name}' takes {argument.dtype}{list(argument.shape)}, not {dtype}{list(shape)}"
        raise Error("E0801", message, where=where)
    count = prod(shape)
    if size_bytes < count * dtype.itemsize:
        raise Error("E0801", "the file is cut short", where=where)
    data = stream.read(count * dtype.itemsize)
    if len(data) != count * dtype.itemsize:
        raise Error("E0801", "the file is cut short", where=where)
    return np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C").astype(wanted)

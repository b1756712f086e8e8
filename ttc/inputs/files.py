"""Checks on files that are read or written, before any work is done for them."""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Iterable, Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

from ttc.dialects.core.errors import Error, nearest, passed_over, warn
from ttc.runtime.atomic_file import check_replaceable, replacing

if TYPE_CHECKING:
    from numpy.typing import NDArray

STDOUT = Path("-")
"""The path that stands for standard output where a command can write there."""
MAX_CONFIG_BYTES = 1 << 22
"""The largest TOML file that is read, in bytes."""
MAX_CONFIG_DEPTH = 64
"""The most keys of a TOML file nested in each other."""


def require_input(path: Path) -> Path:
    """Return the path of a file that can be read. Raises E0102."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        raise Error("E0102", f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    if not stat.S_ISREG(mode):
        raise Error("E0102", f"{path} is not a regular file")
    if not os.access(path, os.R_OK):
        raise Error("E0102", f"cannot read {path}: permission denied")
    return path


def require_model(path: Path) -> Path:
    """Return the path of a file, or of a folder that a model is saved as.  Raises E0102."""
    return path if path.is_dir() else require_input(path)


def require_output(path: Path, source: Path | None = None) -> Path:
    """Return the path of a file that can be written: new in a folder that exists, or a regular file other than the source. Raises E0103."""
    if path == STDOUT:
        raise Error("E0103", "cannot write -: this goes into a file", hint="name a file; ./- for one that is called so")
    check_replaceable(path)
    if path.exists() and source is not None and source.exists() and path.samefile(source):
        raise Error("E0103", f"cannot write {path}: it is the input")
    if not os.access(path.parent, os.W_OK):
        raise Error("E0103", f"cannot write {path}: folder {path.parent} is not writable")
    return path


def require_folder(path: Path) -> Path:
    """Return a folder that can be written, or one to be made in a folder that exists.  Raises E0103."""
    if path.is_dir():
        if not os.access(path, os.W_OK):
            raise Error("E0103", f"cannot write into {path}: permission denied")
        return path
    if path.exists() or path.is_symlink():
        raise Error("E0103", f"{path} is not a folder")
    if not path.resolve().parent.is_dir():
        raise Error("E0103", f"cannot make folder {path}: there is no folder {path.resolve().parent}")
    return path


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file whole or not at all.  Raises E0103."""
    with replacing(path) as descriptor, os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(data)


def npz_of(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return an .npz file of arrays by any names; `numpy.savez` takes none that one of its parameters has, such as `file`."""
    from numpy.lib.format import write_array

    stream = BytesIO()
    with ZipFile(stream, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                write_array(member, array, allow_pickle=False)
    return stream.getvalue()


def read_config(path: Path) -> dict[str, Any]:
    """Return the tables of a TOML file.  Raises E0102, and E0101 where it is not TOML."""
    if require_input(path).stat().st_size > MAX_CONFIG_BYTES:
        raise Error("E0101", f"a TOML file of more than {MAX_CONFIG_BYTES >> 20} MB", where=str(path))
    try:
        text = path.read_text(encoding="utf-8")
        if (line := _deep_line(text)) is not None:
            raise Error("E0101", f"keys nest more than {MAX_CONFIG_DEPTH} deep in line {line}", where=str(path))
        return tomllib.loads(text)
    except OSError as error:
        raise Error("E0102", f"cannot read {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise Error("E0101", f"not a TOML file: {error}", where=str(path)) from None


_QUOTED = re.compile(r'"(?:[^"\\]++|\\.)*+"|\'[^\']*+\'|#.*+')


def _deep_line(text: str) -> int | None:
    """The first line with more dots outside quotes than keys may nest deep: the parser takes as many steps for each line below it."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.count(".") > MAX_CONFIG_DEPTH and _QUOTED.sub("", line).count(".") > MAX_CONFIG_DEPTH:
            return number
    return None


def rules_table(path: Path, key: str, kind: str) -> Any:
    """Return what a TOML file of rules holds under a key.  kind: of rules. Raises E0101, also for a file of other tables alone, E0102."""
    tables = read_config(path)
    if tables and key not in tables:
        hint = nearest(next(iter(tables)), [key])
        raise Error("E0101", f"a file of {kind} rules has no table '{next(iter(tables))}'", where=str(path), hint=hint)
    check_tables(tables, [key], str(path))
    return tables.get(key, [])


def check_tables(config: Mapping[str, Any], known: Iterable[str], where: str | None = None) -> None:
    """Warn of tables of a TOML file that are others', or misspelt.  Raises E0101 for a key that is in no table."""
    known = list(known)
    foreign = [name for name in config if name not in known]
    for name in foreign:
        if not _is_table(config[name]):
            raise Error("E0101", f"key '{name}' is in no table", where=where, hint=f"write [{known[0]}] on a line before it")
    if foreign:
        tables = "tables that are" if len(foreign) > 1 else "a table that is"
        warn(f"{where or 'the TOML file of --config'} has {tables} not for ttc, passed over: {passed_over(foreign, known)}")


def _is_table(value: object) -> bool:
    """Return whether it is a table, or an array of them."""
    return isinstance(value, dict) or (isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value))

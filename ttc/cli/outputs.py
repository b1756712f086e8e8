"""Results of a run as files in one flat folder."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats.text import STRING
from ttc.dialects.core.kernels.text import MAX_CHARACTERS
from ttc.inputs.files import require_folder, write_bytes

INDEX = "outputs.json"
MAX_STEM = 200
"""The most characters of a file's stem: file systems stop at 255 bytes."""


def file_names(names: Sequence[str]) -> list[str]:
    """Return a file name for each output: characters outside [A-Za-z0-9_.-] become `_`; names that then collide are numbered."""
    taken: set[str] = set()
    found: list[str] = []
    for name in names:
        stem = re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:MAX_STEM] or "_"
        candidate, number = stem, 1
        while candidate.lower() in taken:
            candidate = f"{stem}.{number}"
            number += 1
        taken.add(candidate.lower())
        found.append(f"{candidate}.npy")
    return found


def write_outputs(folder: Path, outputs: Mapping[str, NDArray], notes: Mapping[str, Mapping[str, Any]] | None = None) -> list[str]:
    """Write NAME.npy for each output, and outputs.json with real names, in order; returns the file names.  Raises E0103.

    notes: what else outputs.json says of an output.
    Text is stored in numpy's type of fixed width, bfloat16 as two raw bytes an element, as its files have no name for it; outputs.json
    says so.
    """
    require_folder(folder)
    with _filling(folder) as place:
        return _write(place, outputs, notes or {})


def _write(folder: Path, outputs: Mapping[str, NDArray], notes: Mapping[str, Mapping[str, Any]]) -> list[str]:
    files = file_names(list(outputs))
    for file, array in zip(files, outputs.values(), strict=True):
        stream = BytesIO()
        np.save(stream, _fixed_width(array) if array.dtype == STRING else array, allow_pickle=False)
        write_bytes(folder / file, stream.getvalue())
    entries = [
        {"name": name, "file": file, "dtype": str(array.dtype), "shape": list(array.shape), **notes.get(name, {})}
        for file, (name, array) in zip(files, outputs.items(), strict=True)
    ]
    write_bytes(folder / INDEX, json.dumps({"outputs": entries}, indent=2).encode())
    return files


def _fixed_width(words: NDArray) -> NDArray:
    """Return text as numpy's files hold it: every element as long as the longest.  Raises E0103 if that is too much."""
    longest = max((len(word) for word in words.flat), default=0)
    if longest * words.size > MAX_CHARACTERS:
        raise Error("E0103", f"{words.size} texts of up to {longest} characters are too many for a .npy file")
    return words.astype(f"U{max(longest, 1)}")


@contextmanager
def _filling(folder: Path) -> Iterator[Path]:
    """Yield where to write the files of a folder: itself if it exists; else one beside it that takes its name when all is written."""
    if folder.exists():
        yield folder
        return
    place = folder.parent / f".ttc-{os.urandom(8).hex()}.tmp"
    try:
        place.mkdir()
        yield place
        place.rename(folder)
    except OSError as error:
        raise Error("E0103", f"cannot make folder {folder}: {error.strerror}") from None
    finally:
        shutil.rmtree(place, ignore_errors=True)

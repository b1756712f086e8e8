"""A model's file, mapped into memory: nothing of it is read before it is needed."""

from __future__ import annotations

import mmap
from pathlib import Path

from ttc.dialects.core.errors import Error


def map_file(path: Path, kind: str) -> mmap.mmap:
    """Map a file for reading.  kind: of what it should be, for messages: `a TFLite model`.  Raises E0102, E0201 if it is empty."""
    try:
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except ValueError:
        raise Error("E0201", f"not {kind}: the file is empty") from None
    except OSError as error:
        raise Error("E0102", f"cannot read '{path}': {error.strerror}") from error
